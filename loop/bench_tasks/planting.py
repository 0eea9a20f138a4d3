"""Faults of one kind planted in certified tasks, which are certified again: a unit of work.

A fault that changes neither the verdict on the solution, nor what it leaves in the rows that the
task has, nor its answer is harmless: it is counted, and no gate has to refuse it.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import immutables

from attribution.change import applicable
from attribution.faults.catalog import all_kinds
from attribution.faults.kinds import Clean, FaultKind, When
from attribution.interventions.runs import Run, arm_of, oracle_run
from components.environment.state import WorldState
from components.environment.world import World, build_world
from components.errors import SelvageError
from components.evaluator.strict import strict_difference
from components.records.base import Record, to_json
from components.records.frozen import FrozenDict
from components.records.patch import Component
from components.records.system import System
from components.task.certify import certify
from components.task.reasons import Rejection
from loop.bench_tasks.measuring import Ground
from loop.compute.jobs import Job, Work


class Wanted(Record):
    """One kind of fault."""

    kind: str
    """`component.name`."""
    places: int
    """Tasks that it is planted in, at most; one place in each."""
    seed: int


class Admitted(Record):
    """One faulty task that passed every gate."""

    task_id: str
    reason: str
    """What is wrong with it, in words."""
    is_harmless: bool


class Certified(Record):
    """What the gates made of one kind."""

    kind: str
    refused: FrozenDict[str, int]
    """Reason -> faulty tasks, those that are harmless among them."""
    refused_harmless: int
    admitted: tuple[Admitted, ...]


def kinds_of_tasks() -> list[str]:
    """Return the keys of the kinds of fault that are planted in certified tasks."""
    return [
        kind.key
        for kind in all_kinds()
        if kind.component is Component.TASK and kind.when is When.AFTER
    ]


def certify_faulty(system: System, kind: FaultKind, places: int, seed: int) -> Certified:
    """Plant one kind in several tasks, each by itself, and certify them again.

    Args:
        system: clean, with certified tasks.
        kind: of the task.
        places: how many tasks, at most.
        seed: every choice comes from it.
    """
    clean = Clean(system=system, rng=random.Random(f"{seed}:{kind.key}"))
    refused: dict[str, int] = {}
    admitted: list[Admitted] = []
    refused_harmless = 0
    done: set[str] = set()
    changes = (item for item in kind.places(clean) if item.artifact not in done)
    for change, faulty in applicable(system, changes):
        name = change.artifact.partition("/")[2]
        done.add(change.artifact)
        made = certify(faulty, faulty.tasks[name], faulty.evaluator.rubrics[name])
        is_harmless = not _shows(system, faulty, name)
        if isinstance(made, Rejection):
            refused[made.reason.value] = refused.get(made.reason.value, 0) + 1
            refused_harmless += is_harmless
        else:
            admitted.append(Admitted(task_id=name, reason=change.reason, is_harmless=is_harmless))
        if len(done) == places:
            break
    return Certified(
        kind=kind.key,
        refused=FrozenDict(sorted(refused.items())),
        refused_harmless=refused_harmless,
        admitted=tuple(admitted),
    )


def _shows(clean: System, faulty: System, name: str) -> bool:
    """Return whether the solution, played through the harness, ends otherwise than it should."""
    right = oracle_run(arm_of(clean, name))
    try:
        run = oracle_run(arm_of(faulty, name))
    except SelvageError:
        return True
    if run.passed is not right.passed or run.trajectory.answer != right.trajectory.answer:
        return True
    world = build_world(clean, clean.tasks[name].world)
    here = _within(world, run)
    return here is None or bool(strict_difference(world, right.final, here))


def _within(world: World, run: Run) -> WorldState | None:
    """Return the end of a run in the services of a world; None where it lacks one."""
    if not set(world.services) <= set(run.final.services):
        return None
    services = immutables.Map({name: run.final.services[name] for name in world.services})
    return WorldState(services, run.final.now)


@asynccontextmanager
async def _open(ground: Ground) -> AsyncIterator[Callable[[Wanted], Work]]:
    kinds = {kind.key: kind for kind in all_kinds()}

    async def work(wanted: Wanted) -> dict[str, Any]:
        made = certify_faulty(ground.system, kinds[wanted.kind], wanted.places, wanted.seed)
        body: dict[str, Any] = to_json(made)
        return body

    yield work


CERTIFY_FAULTY = Job(name="certify_faulty", shared=Ground, unit=Wanted, open=_open)
