"""Faults that are there before tasks are composed: gold, rubric and certificate inherit them.

No clean outcome is turned by such a fault, so none can be restored. What is counted is who meets
it: the service's gates, before it takes part; the composing of tasks, which comes to other drafts;
or the verdicts on rollouts, by what the documentation promises. A fault that nothing inherits and
that no draft meets is inert.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any

from attribution.change import applicable, bind
from attribution.faults.catalog import all_kinds
from attribution.faults.kinds import Clean, FaultKind, When
from attribution.interventions.gold import replay_gold
from attribution.interventions.runs import world_of
from components.environment.gates.run import admit_service
from components.errors import SelvageError
from components.records.base import Record, to_json
from components.records.patch import Patch
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, Trajectory
from components.task.compose import ComposedTask, compose_task
from components.task.config import TaskConfig
from loop.bench_attribution.playing import play_group
from loop.composing import with_tasks
from loop.compute.jobs import Job, Work

MOST_TRIED = 8
"""Candidates of a kind that are tried before it is left with the live ones found so far."""
_DRAFTS, _TASKS, _OTHERS = 24, 3, 3
"""Drafts made on a faulty service, tasks that are judged, services beside it."""


class Inherited(Record):
    """One fault that was there before its tasks."""

    kind: str
    fault: Patch
    gates: bool
    """The gates of the service refuse what is faulty."""
    drafts_changed: int
    """Drafts of the same seeds that came to another end than on the clean services."""
    inheriting: int
    """Composed tasks whose certified run differs in the clean world."""
    system: System | None
    """Faulty, with tasks that inherited the fault; None where the gates met it, or none did."""
    trajectories: tuple[Trajectory, ...] = ()
    scored: tuple[ScoredTrajectory, ...] = ()

    def is_live(self) -> bool:
        """Return whether anything met the fault."""
        return self.gates or self.drafts_changed > 0 or self.inheriting > 0


class Bare(Record):
    """What all kinds share."""

    system: System
    """Services, no tasks."""
    group_size: int
    per_kind: int
    seed: int


class WantedBefore(Record):
    """One kind."""

    kind: str


class FoundBefore(Record):
    """What became of a kind."""

    kind: str
    instances: tuple[Inherited, ...]
    inert: int


def kinds_before() -> list[FaultKind]:
    """Return the kinds that are planted before composition."""
    return [kind for kind in all_kinds() if kind.when is When.BEFORE]


def inherited_kind(bare: Bare, kind: FaultKind) -> FoundBefore:
    """Return live instances of one kind."""
    clean = Clean(system=bare.system, rng=random.Random(f"{bare.seed}:{kind.key}"))
    found: list[Inherited] = []
    inert = 0
    for change, faulty in islice(applicable(bare.system, kind.places(clean)), MOST_TRIED):
        instance = _inherited(bare, kind.key, bind(bare.system, change), faulty)
        if instance.is_live():
            found.append(instance)
        else:
            inert += 1
        if len(found) == bare.per_kind:
            break
    return FoundBefore(kind=kind.key, instances=tuple(found), inert=inert)


def _inherited(bare: Bare, kind: str, fault: Patch, faulty: System) -> Inherited:
    if _gates_meet(bare.system, faulty, fault):
        return Inherited(
            kind=kind, fault=fault, gates=True, drafts_changed=0, inheriting=0, system=None
        )
    settings = _settings(bare, fault)
    changed, tasks = 0, []
    for number in range(_DRAFTS):
        there = compose_task(faulty, settings, bare.seed + number)
        here = compose_task(bare.system, settings, bare.seed + number)
        changed += _end(here) != _end(there)
        if isinstance(there, ComposedTask) and _differs_in(bare.system, there):
            tasks.append(there)
        if len(tasks) == _TASKS:
            break
    system = with_tasks(faulty, tasks) if tasks else None
    played = [
        item
        for name in sorted(system.tasks if system else ())
        for item in play_group(system or faulty, name, range(bare.group_size), bare.seed)
    ]
    return Inherited(
        kind=kind,
        fault=fault,
        gates=False,
        drafts_changed=changed,
        inheriting=len(tasks),
        system=system,
        trajectories=tuple(trajectory for trajectory, _scored in played),
        scored=tuple(scored for _trajectory, scored in played),
    )


def _gates_meet(clean: System, faulty: System, fault: Patch) -> bool:
    family, _, service = fault.artifact.partition("/")
    if family not in ("blueprint", "seed"):
        return False

    def refused(system: System) -> set[str]:
        environment = system.environment
        admission = admit_service(
            system.reference.specs[service],
            environment.blueprints[service],
            environment.seeds[service],
        )
        out = set(admission.blueprint.quarantined)
        return out if admission.admitted else {*out, ""}

    return bool(refused(faulty) - refused(clean))


def _settings(bare: Bare, fault: Patch) -> TaskConfig:
    family, _, service = fault.artifact.partition("/")
    names = sorted(bare.system.environment.blueprints)
    chosen = [service] if family in ("blueprint", "seed") else []
    rng = random.Random(f"{bare.seed}:{fault.patch_id}")
    others = rng.sample([name for name in names if name not in chosen], _OTHERS)
    domains = tuple(sorted([*chosen, *others])) if chosen else ()
    return TaskConfig(
        count=None, k=2, walk_length=4, distractors=0, domains=domains, max_drafts_per_task=20
    )


def _end(draft: object) -> object:
    return draft.task.task_id if isinstance(draft, ComposedTask) else None


def _differs_in(clean: System, made: ComposedTask) -> bool:
    try:
        world = world_of(clean, made.task.world)
        return replay_gold(world, made.certificate).differs_at is not None
    except SelvageError:
        return True


@asynccontextmanager
async def _open(bare: Bare) -> AsyncIterator[Callable[[WantedBefore], Work]]:
    kinds = {kind.key: kind for kind in kinds_before()}

    async def work(wanted: WantedBefore) -> dict[str, Any]:
        return to_json(inherited_kind(bare, kinds[wanted.kind]))

    yield work


PLANT_BEFORE = Job(name="plant_before", shared=Bare, unit=WantedBefore, open=_open)
