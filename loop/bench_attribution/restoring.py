"""Whether the accepted patches brought the clean outcome back, and whether one did harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attribution.faults.kinds import plant
from attribution.interventions.runs import (
    Arm,
    SilentPolicy,
    arm_of,
    oracle_run,
    play,
    texts_of,
    turns_before_difference,
)
from attribution.records import Party
from components.errors import SelvageError
from components.records.system import System
from loop.bench_attribution.judging import Judged
from loop.bench_attribution.planting import Instance, Rollout
from loop.bench_attribution.playing import replayed, wins
from loop.decided import Decided, is_removal
from loop.mending import system_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What the patches of one case came to."""

    is_restored: bool
    """Every outcome that the fault had turned is the clean one again."""
    is_removal: bool
    """By taking something out of service."""
    places: frozenset[str]
    """Places of the accepted patches, where the outcome is restored and nothing was removed."""
    accepted: int
    lower_gold: int
    """Accepted patches after which gold passes fewer tasks than before."""
    raise_nothing: int
    """Accepted patches after which doing nothing passes more tasks than before."""


def restored(clean: System, instance: Instance, judged: Judged) -> Restored:
    """Return what the accepted patches of a case came to.

    Args:
        clean: the system without the fault.
        instance: the fault, with the rollouts that it was judged on.
        judged: verdicts and decisions.
    """
    faulty = plant(clean, instance.faults)
    accepted = [item for item in judged.decisions if item.acceptance.accepted]
    lower, more = _harm(faulty, accepted, instance.tasks)
    after = system_after(faulty, accepted)
    removes = any(is_removal(item.patch) for item in accepted)
    is_back = bool(accepted) and all(
        _is_back(clean, after, name, instance) for name in instance.tasks
    )
    is_gone = removes and all(
        name in after.retired or _is_back(clean, after, name, instance) for name in instance.tasks
    )
    places = {item.patch.place for item in accepted} if is_back and not removes else set()
    return Restored(
        is_restored=is_back or is_gone,
        is_removal=removes,
        places=frozenset(places),
        accepted=len(accepted),
        lower_gold=lower,
        raise_nothing=more,
    )


def _is_back(clean: System, after: System, name: str, instance: Instance) -> bool:
    try:
        here, there = arm_of(clean, name), arm_of(after, name)
    except SelvageError:
        return False
    if oracle_run(here).passed != oracle_run(there).passed or _silent(there):
        return False
    owners = {Party(fault.component.value) for fault in instance.faults}
    turned = [
        item
        for item in instance.rollouts
        if item.trajectory.task_id == name and item.has_label and owners & set(item.parties)
    ]
    return all(_decides_as_clean(here, there, item) for item in turned)


def _decides_as_clean(clean: Arm, after: Arm, item: Rollout) -> bool:
    """Whether a turned rollout is decided as the clean system would, or can be won again."""
    again = replayed(after, item.trajectory)
    if item.is_false_pass:
        return again.passed is False
    if item.scored.passed is None:
        return again.passed is not None
    texts = texts_of(item.trajectory)
    point = turns_before_difference(item.trajectory, again.trajectory)
    seed = item.trajectory.seed
    return wins(after, texts[:point], seed) or not wins(clean, texts[:point], seed)


def _silent(arm: Arm) -> bool:
    return play(arm, SilentPolicy()).passed is True


def _harm(faulty: System, accepted: Sequence[Decided], tasks: Sequence[str]) -> tuple[int, int]:
    lower = more = 0
    system = faulty
    gold, nothing = _passes(system, tasks)
    for item in accepted:
        system = system_after(system, [item])
        gold_after, nothing_after = _passes(system, tasks)
        if not is_removal(item.patch):
            lower += gold_after < gold
            more += nothing_after > nothing
        gold, nothing = gold_after, nothing_after
    return lower, more


def _passes(system: System, tasks: Sequence[str]) -> tuple[int, int]:
    gold = nothing = 0
    for name in tasks:
        try:
            arm = arm_of(system, name)
        except SelvageError:
            continue
        gold += oracle_run(arm).passed is True
        nothing += _silent(arm)
    return gold, nothing
