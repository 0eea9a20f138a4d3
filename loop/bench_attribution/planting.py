"""Instances of each kind of fault: planted, rolled out, and kept where outcomes show them.

A kind's candidates are tried in its order until enough of them are live. A candidate that changes
no outcome of the rollouts that it was tried on is inert, and is counted as that.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any

from attribution.accept import affected_tasks
from attribution.change import applicable, bind
from attribution.faults.catalog import all_kinds
from attribution.faults.kinds import Clean, FaultKind, plant
from attribution.interventions.runs import arm_of, oracle_run
from attribution.records import Party
from components.errors import SelvageError
from components.records.base import Record, to_json
from components.records.patch import Component, Patch
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, Trajectory
from loop.bench_attribution.labels import label_of
from loop.bench_attribution.playing import Played, play_group, play_single_slips, score_alone
from loop.compute.jobs import Job, Work

MOST_TRIED = 16
"""Candidates of a kind that are tried before it is left with the live ones found so far."""
_MOST_LOOKED_AT = 16
"""Tasks in which a single slip is looked for that the fault of a rubric lets pass."""
_VARIANTS = 5
"""Rollouts for each step and way to err, of those that are looked through for false passes."""
MOST_RUBRICS = 64
"""The same of a kind of the evaluator, whose faults meet one task each."""
_MOST_INSTANCES = 3
"""Times as many instances as wanted, at most, for the sake of their rollouts."""
_MET, _OTHERS = 3, 1
"""Tasks of an instance on which the fault shows without slips, and further ones."""


class Rollout(Record):
    """One scored rollout on a faulty system, with its label."""

    trajectory: Trajectory
    scored: ScoredTrajectory
    parties: tuple[Party, ...]
    """Who is truly at fault, sorted; empty for a success that is one."""
    is_false_pass: bool = False
    has_label: bool = True
    """False: nobody can tell, and it is not counted."""


class Instance(Record):
    """One fault, or two, planted in the clean system."""

    kind: str
    """`component.name`; two joined by ` + `; empty where nothing was planted."""
    faults: tuple[Patch, ...]
    tasks: tuple[str, ...]
    """The tasks that it is judged on."""
    rollouts: tuple[Rollout, ...]

    def is_live(self) -> bool:
        """Return whether a fault shows in an outcome."""
        owners = {fault.component.value for fault in self.faults}
        return any(party.value in owners for item in self.rollouts for party in item.parties)


class Ground(Record):
    """What all kinds share."""

    system: System
    """Clean, with certified tasks."""
    group_size: int
    per_kind: int
    """Live instances that are wanted of a kind."""
    seed: int
    live: int = 0
    """Rollouts that are wanted of a kind, decided by its faults; more instances where it takes
    them.
    """


class Wanted(Record):
    """One kind of fault, or a fault that somebody wrote."""

    kind: str
    fault: Patch | None = None
    """None: places of the built-in kind are drawn."""


class Planted(Record):
    """What became of a kind."""

    kind: str
    instances: tuple[Instance, ...]
    inert: int
    """Candidates that changed no outcome."""


def planted_kind(ground: Ground, kind: FaultKind) -> Planted:
    """Return live instances of one kind."""
    clean = Clean(system=ground.system, rng=random.Random(f"{ground.seed}:{kind.key}"))
    most = MOST_TRIED if kind.component is not Component.EVALUATOR else MOST_RUBRICS
    changes = islice(applicable(ground.system, kind.places(clean)), most)
    patches = (bind(ground.system, change) for change, _system in changes)
    return _live(ground, kind.key, patches)


def _live(ground: Ground, kind: str, patches: Iterable[Patch]) -> Planted:
    found: list[Instance] = []
    inert = 0
    for patch in patches:
        instance = planted(ground, kind, (patch,))
        if instance is not None and instance.is_live():
            found.append(instance)
        else:
            inert += 1
        if _is_enough(ground, found):
            break
    return Planted(kind=kind, instances=tuple(found), inert=inert)


def _is_enough(ground: Ground, found: Sequence[Instance]) -> bool:
    if len(found) < ground.per_kind:
        return False
    live = sum(_num_live(item.rollouts, item.faults) for item in found)
    return live >= ground.live or len(found) == _MOST_INSTANCES * ground.per_kind


def planted(ground: Ground, kind: str, faults: Sequence[Patch]) -> Instance | None:
    """Return one instance with its labelled rollouts; None where no task can be rolled out."""
    try:
        faulty = plant(ground.system, faults)
    except SelvageError:
        return None
    names = _concerned(ground, faulty, faults)
    rollouts: list[Rollout] = []
    kept = []
    for name in names:
        try:
            played = play_group(faulty, name, range(ground.group_size), ground.seed)
        except SelvageError:
            continue
        kept.append(name)
        rollouts += labelled(ground.system, faulty, faults, played, ground.seed)
    if not kept:
        return None
    rollouts += islice(
        _further(ground, faulty, faults, kept),
        max(0, -(-ground.live // ground.per_kind) - _num_live(rollouts, faults)),
    )
    return Instance(kind=kind, faults=tuple(faults), tasks=tuple(kept), rollouts=tuple(rollouts))


def _num_live(rollouts: Iterable[Rollout], faults: Sequence[Patch]) -> int:
    owners = {fault.component.value for fault in faults}
    return sum(any(party.value in owners for party in item.parties) for item in rollouts)


def _further(
    ground: Ground, faulty: System, faults: Sequence[Patch], names: Sequence[str]
) -> Iterator[Rollout]:
    """Yield labelled rollouts that err once and that the fault of an evaluator lets pass."""
    for name in names:
        for played in _single_slips(ground, faulty, faults, name):
            yield from labelled(ground.system, faulty, faults, [played], ground.seed)


def _single_slips(
    ground: Ground, faulty: System, faults: Sequence[Patch], name: str
) -> Iterator[Played]:
    """Yield the rollouts of a task that err once and that the fault of an evaluator lets pass.

    A rubric that asks too little shows in those alone that err in just that way; and a rubric plays
    no part in how a rollout goes, so that looking for them costs little.
    """
    if any(fault.component is not Component.EVALUATOR for fault in faults):
        return
    touched = {
        step.path.split("/")[2].replace("~1", "/").replace("~0", "~")
        for fault in faults
        for step in fault.operations
        if step.path.startswith("/criteria/")
    }
    for trajectory in play_single_slips(ground.system, name, _VARIANTS, ground.seed):
        here = score_alone(ground.system, trajectory)
        missed = {key for key, item in here.criteria.items() if item.value != 1.0}
        if here.passed is not False or (touched and not missed <= touched):
            continue
        there = score_alone(faulty, trajectory)
        if there.passed:
            yield trajectory, there


def labelled(
    clean: System, faulty: System, faults: Sequence[Patch], played: Sequence[Played], seed: int
) -> list[Rollout]:
    """Return rollouts with their labels."""
    party = Party(faults[0].component.value) if faults else None
    found = []
    for trajectory, scored in played:
        label = label_of(
            arm_of(clean, trajectory.task_id),
            arm_of(faulty, trajectory.task_id),
            party,
            trajectory,
            scored,
            seed,
        )
        found.append(
            Rollout(
                trajectory=trajectory,
                scored=scored,
                parties=tuple(sorted(label.parties)) if label else (),
                is_false_pass=bool(label and label.is_false_pass),
                has_label=label is not None,
            )
        )
    return found


def _concerned(ground: Ground, faulty: System, faults: Sequence[Patch]) -> list[str]:
    """Return the tasks of an instance: those on which a run without slips ends otherwise first,
    then those on which a single slip does.
    """
    clean = ground.system
    shared = [set(affected_tasks(clean, fault)) for fault in faults]
    names = sorted(set.intersection(*shared)) if shared else []
    met = [name for name in names if _ends_otherwise(clean, faulty, name)][:_MET]
    if not met and len(names) > _MET + _OTHERS:
        looked_at = names[:_MOST_LOOKED_AT]
        turned = (name for name in looked_at if any(_single_slips(ground, faulty, faults, name)))
        met = list(islice(turned, _MET))
    others = [name for name in names if name not in met]
    return [*met, *others[: _MET + _OTHERS - len(met)]]


def _ends_otherwise(clean: System, faulty: System, name: str) -> bool:
    try:
        there = oracle_run(arm_of(faulty, name))
    except SelvageError:
        return False
    here = oracle_run(arm_of(clean, name))
    return (here.passed, here.final.digest) != (there.passed, there.final.digest)


@asynccontextmanager
async def _open(ground: Ground) -> AsyncIterator[Callable[[Wanted], Work]]:
    kinds = {kind.key: kind for kind in all_kinds()}

    async def work(wanted: Wanted) -> dict[str, Any]:
        if wanted.fault is not None:
            return to_json(_live(ground, wanted.kind, (wanted.fault,)))
        return to_json(planted_kind(ground, kinds[wanted.kind]))

    yield work


PLANT = Job(name="plant", shared=Ground, unit=Wanted, open=_open)
