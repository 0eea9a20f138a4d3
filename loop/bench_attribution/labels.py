"""Who is truly at fault for one rollout: the clean twin says so, and nothing else does.

The label of a rollout is a set. It holds the faulty component where the same policy with the same
slips passes in the clean twin, or where a run without slips can still be won in the clean twin from
the first difference on, and not in the faulty system. It holds the policy where a turn before the
first difference loses the trajectory in the clean twin, where the twin's own turn at that place
does (a script that knows another gold slips there in other words), and where the fault made no
difference. A success is a false pass only if the same texts fail in the clean twin.
"""

from __future__ import annotations

from dataclasses import dataclass

from attribution.interventions.runs import (
    Arm,
    Run,
    texts_of,
    turns_before_difference,
)
from attribution.records import Party
from components.records.trajectory import ScoredTrajectory, ScoreStatus, Trajectory
from loop.bench_attribution.playing import replayed, twin_run, wins


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What is known of one rollout."""

    parties: frozenset[Party]
    """Who is at fault; empty for a success that is one."""
    is_false_pass: bool = False
    point: int = 0
    """Turns that were written before anything of the fault could be met."""


def label_of(
    clean: Arm,
    faulty: Arm,
    party: Party | None,
    trajectory: Trajectory,
    scored: ScoredTrajectory,
    seed: int,
) -> Label | None:
    """Return a rollout's label; None where it cannot be told (its boundary broke by itself).

    Args:
        clean: the task in the clean system.
        faulty: the task in the system that the rollout ran on; the same as `clean` for clean runs.
        party: owner of the fault; None where nothing was planted.
        trajectory: the rollout.
        scored: its result in the faulty system.
        seed: of the policy's slips.
    """
    again = replayed(clean, trajectory)
    if scored.status is ScoreStatus.UNSCORED:
        is_fault = party is not None and again.passed is not None
        return Label(parties=frozenset({party})) if party and is_fault else None
    if scored.passed:
        is_false = party is not None and again.passed is False
        at_fault = frozenset({party}) if party and is_false else frozenset[Party]()
        return Label(parties=at_fault, is_false_pass=is_false)
    twin = twin_run(clean, trajectory, seed)
    point = _point(trajectory, again.trajectory, twin)
    texts = texts_of(trajectory)
    parties: set[Party] = set()
    is_winnable = wins(clean, texts[:point], trajectory.seed)
    if party is not None and (
        twin.passed is True or (is_winnable and not wins(faulty, texts[:point], trajectory.seed))
    ):
        parties.add(party)
    same_turn = texts_of(twin.trajectory)[: point + 1]
    loses_alike = twin.passed is False and not wins(clean, same_turn, trajectory.seed)
    if not is_winnable or loses_alike or not parties:
        parties.add(Party.POLICY)
    return Label(parties=frozenset(parties), point=point)


def _point(trajectory: Trajectory, again: Trajectory, twin: Run) -> int:
    """Return how many turns were written before the fault was met: in an answer, or in what the
    policy writes because of it (a script knows its task's gold).
    """
    texts = texts_of(trajectory)
    met = turns_before_difference(trajectory, again)
    for index, text in enumerate(texts_of(twin.trajectory)[:met]):
        if text != texts[index]:
            return index
    return met
