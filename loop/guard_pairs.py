"""Pairs of outcomes for the guard: two passes of a round, or the first passes of two rounds.

A pair is lost only where the first outcome was rightly a success: what an audit calls a false pass,
or would, counts in no pair, so that a repair of the evaluator is not held against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attribution.attribute import attribute_trajectory
from attribution.guard import Pair
from attribution.records import Attribution
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, Trajectory
from loop.blame import STAGE as ATTRIBUTE
from loop.context import RoundContext
from loop.decided import Decided, decisions_of
from loop.grow import reviewed_in
from loop.guard_records import Rollback, guard_of
from loop.ledger import load_system
from loop.ledger_records import SystemVersion
from loop.reviews import Review
from loop.rollouts import Rolled
from loop.units import UnitLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Outcomes in pairs, and the rollouts that were left out of them."""

    pairs: tuple[Pair, ...]
    void: tuple[str, ...]
    """They passed before, and should not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The round before as the guard needs it."""

    system: System
    """That its first pass ran on."""
    left: System
    """As it left it."""
    rolled: Rolled
    attributions: Mapping[str, Attribution]
    decisions: tuple[Decided, ...]
    rollbacks: tuple[Rollback, ...]
    reviewed: tuple[Review, ...]
    """Patches that were accepted since."""


def paired(
    system: System, before: Rolled, attributions: Mapping[str, Attribution], after: Rolled
) -> Pairs:
    """Return the outcomes of the rollouts that both passes have scored.

    Args:
        system: that the first pass ran on.
        before: the first pass.
        attributions: verdicts of it; a lost success without one is judged here.
        after: the second pass.
    """
    pairs, void = [], []
    for key, old in before.scored.items():
        new = after.scored.get(key)
        if new is None or old.passed is None or new.passed is None:
            continue
        if old.passed and not new.passed:
            found = attributions.get(key) or attribute_trajectory(
                system, before.trajectories[key], old
            )
            if found.verdict.is_false_pass:
                void.append(key)
                continue
        task_id = before.trajectories[key].task_id
        pairs.append(Pair(task_id=task_id, was=old.passed, now=new.passed))
    return Pairs(pairs=tuple(pairs), void=tuple(void))


def round_before(context: RoundContext, now: Rolled) -> Past | None:
    """Return the round before; None where there is none that can be compared: the policy, or how
    it samples, is another.
    """
    folder, number = context.folder, context.number - 1
    changes = folder.manifest.config_changes
    if number < 1 or any(change.key.partition(".")[0] == "policy" for change in changes):
        return None
    with UnitLog(folder.earlier_path(number) / "units.sqlite", read_only=True) as units:
        trajectories = units.records("rollout", Trajectory)
        groups = units.record_lists("rollout.score", ScoredTrajectory).values()
        scored = {item.rollout_id: item for group in groups for item in group}
        rolled = Rolled(trajectories, {key: scored[key] for key in sorted(scored)})
        attributions = units.records(ATTRIBUTE, Attribution)
        decisions = decisions_of(units)
    if _players(rolled) != _players(now):
        return None
    guarded = guard_of(folder, number)
    left = folder.manifest.system
    assert left is not None, "the round before has left a system"
    return Past(
        system=context.load(folder.earlier_result(number, "grow")["system"]),
        left=load_system(folder.store, SystemVersion.model_validate(folder.store.get(left))),
        rolled=rolled,
        attributions=attributions,
        decisions=decisions,
        rollbacks=() if guarded is None else guarded.rollbacks,
        reviewed=reviewed_in(folder.stage_result("grow")),
    )


def _players(rolled: Rolled) -> set[str]:
    return {turn.policy_version for item in rolled.trajectories.values() for turn in item.turns}
