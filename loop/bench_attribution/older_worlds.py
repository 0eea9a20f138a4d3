"""Certificates that record an older world: what stood in it, and how its tools answered, was
changed since, and they were not renewed.

The older world is the clean one with a known fault of the environment in it: whoever mended it
renewed tasks and rubrics, and forgot the certificates.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from attribution.accept import affected_tasks
from attribution.change import applicable, bind
from attribution.faults.catalog import all_kinds
from attribution.faults.kinds import Clean, When
from attribution.interventions.gold import same_outcome
from attribution.interventions.runs import world_of
from attribution.swap import body_of
from components.environment.world import World
from components.errors import SelvageError
from components.records.frozen import content_hash
from components.records.patch import Component
from components.records.system import System
from components.records.task import Certificate, Task
from components.task.gold import Gold, run_gold

_MOST_TASKS = 4
_PLACES = 6
"""Candidates of a kind of fault that are tried as what has changed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderWorld:
    """What certificates say that were recorded before something changed."""

    where: str
    """The artifact that has changed."""
    statement: str
    certificates: dict[str, Certificate]
    """Of the tasks whose certificate is another one."""


def _worlds(is_read: bool, families: tuple[str, ...]) -> Callable[..., Iterator[OlderWorld]]:
    """Yield older worlds.

    Args:
        is_read: True where the runs of gold differ, False where rows beside them alone do.
        families: artifacts that may have changed.
    """

    def found(system: System, rng: random.Random) -> Iterator[OlderWorld]:
        kinds = [
            kind
            for kind in all_kinds()
            if kind.component is Component.ENVIRONMENT and kind.when is When.AFTER
        ]
        rng.shuffle(kinds)
        places = [
            islice(applicable(system, kind.places(Clean(system=system, rng=rng))), _PLACES)
            for kind in kinds
        ]
        for _turn in range(_PLACES):
            for candidates in places:
                change, older = next(candidates, (None, None))
                if change is None or older is None:
                    continue
                if change.artifact.partition("/")[0] not in families:
                    continue
                names = affected_tasks(system, bind(system, change))
                certificates = {}
                for name in names:
                    made = _recorded(system, older, name, change.artifact, is_read)
                    if made is not None:
                        certificates[name] = made
                    if len(certificates) == _MOST_TASKS:
                        break
                if certificates:
                    yield OlderWorld(
                        where=change.artifact,
                        statement=change.reason,
                        certificates=certificates,
                    )

    return found


def _recorded(
    system: System, older: System, name: str, artifact: str, is_read: bool
) -> Certificate | None:
    """Return a certificate as it was recorded in the older world; None where gold could not be
    played there, or where nothing of the wanted sort differs.
    """
    task, now = system.tasks[name], system.reference.certificates[name]
    try:
        world = world_of(older, task.world)
        gold = run_gold(world, task)
    except SelvageError:
        return None
    if not isinstance(gold, Gold) or set(gold.records) != set(now.gold_run):
        return None
    differs = any(
        not same_outcome(gold.records[step], call) or gold.records[step].arguments != call.arguments
        for step, call in now.gold_run.items()
    )
    rows = _rows(system, task, world, now)
    if differs is not is_read or (not differs and rows == now.seed_rows):
        return None
    hashes = {**now.environment_hashes, artifact: content_hash(body_of(older, artifact))}
    return now.model_copy(
        update={
            "gold_run": gold.records,
            "gold_answer": gold.answer,
            "seed_rows": rows,
            "environment_hashes": type(now.environment_hashes)(hashes),
        }
    )


def _rows(system: System, task: Task, world: World, now: Certificate) -> object:
    """Return the hashes of the rows at the start of the older world."""
    here = world_of(system, task.world).initial
    found = dict(now.seed_rows)
    for service, tables in world.initial.services.items():
        for name, table in tables.items():
            other = here.services[service][name]
            for row_id in {*table.ids, *other.ids}:
                then, since = table.values_of(row_id), other.values_of(row_id)
                if then == since:
                    continue
                key = f"{service}/{name}/{row_id}"
                if then is None:
                    found.pop(key, None)
                else:
                    found[key] = content_hash(then)
    return type(now.seed_rows)(found)


OLDER_WORLDS: dict[str, Callable[[System, random.Random], Iterator[OlderWorld]]] = {
    "older_row_read": _worlds(True, ("seed",)),
    "older_row_beside": _worlds(False, ("seed",)),
    "older_service": _worlds(True, ("blueprint", "reactions")),
}
"""Kind of stale certificate -> the older worlds that it can record."""
