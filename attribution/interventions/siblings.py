"""Rollouts of the same task that passed, held beside one that failed: how far both went alike.

Turns are alike where the same calls were read and the same was shown, so both stood in the same
state. What a sibling passed from was not lost there, whatever a run without slips makes of it. This
is evidence of the policy alone: it accuses no component.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from attribution.interventions.runs import Arm, first_difference, replay, texts_of
from components.records.trajectory import Trajectory

MOST_SIBLINGS = 2
"""Passed siblings that are looked at beside a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sibling:
    """A rollout that passed after the same first turns."""

    rollout_id: str
    shared: int
    """Turns in which both did the same and were shown the same."""


def nearest_siblings(
    trajectory: Trajectory, passed: Iterable[Trajectory], most: int = MOST_SIBLINGS
) -> tuple[Trajectory, ...]:
    """Return the passed siblings that went the same way longest, the longest first.

    Args:
        trajectory: the rollout that failed.
        passed: rollouts of the same task that were scored as successes.
        most: how many are wanted.
    """
    alike = [
        (-shared, other.rollout_id, other)
        for other in passed
        if other.task_id == trajectory.task_id
        and other.rollout_id != trajectory.rollout_id
        and (shared := _shared(trajectory, other)) >= 0
    ]
    return tuple(other for *_key, other in sorted(alike, key=lambda item: item[:2])[:most])


def nearest_sibling(
    arm: Arm, trajectory: Trajectory, passed: Iterable[Trajectory]
) -> Sibling | None:
    """Return the sibling that went the same way longest and passes again; None where none does.

    Args:
        arm: the system in which it must pass when it is replayed, so that a false pass counts for
            nothing.
        trajectory: the rollout that failed.
        passed: rollouts of the same task that were scored as successes.
    """
    for other in nearest_siblings(trajectory, passed):
        if replay(arm, texts_of(other), other.seed).passed is True:
            return Sibling(rollout_id=other.rollout_id, shared=_shared(trajectory, other))
    return None


def _shared(one: Trajectory, other: Trajectory) -> int:
    """Return how many turns are alike; -1 where already the first messages differ."""
    differs = first_difference(one, other)
    return len(one.turns) if differs is None else differs
