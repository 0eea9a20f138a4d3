"""One rollout played again with exactly one component taken from another version of the system.

Owns what is exchanged and what is compared. Texts that were recorded are said again; from there the
oracle goes on, in both arms alike: where only the arm with the exchange comes out otherwise, the
exchange is what made the difference. Nothing is derived anew: gold, rubric and reference stay those
of their own component.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from attribution.interventions.runs import Run, arm_of, first_difference, play_on, texts_of
from components.errors import SynthesisError
from components.records.patch import Component
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, Trajectory


class Decisive(StrEnum):
    """What made the outcome of a replay another one than was recorded, or kept it."""

    EXCHANGE = "exchange"
    """With it the run ends otherwise than without it, all else alike."""
    ORACLE = "oracle"
    """Both arms end alike, and otherwise than was recorded: who acts in the end is another."""
    NOTHING = "nothing"
    """Both arms end as was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """A rollout replayed in the system as it was, and with one component exchanged."""

    recorded: Trajectory
    said: int
    """How many recorded texts are said again; the oracle writes the turns after them."""
    same: Run
    """Nothing exchanged."""
    other: Run
    """One component exchanged."""
    differs_at: int | None
    """First turn that the exchange has read or answered otherwise; -1: the first messages already;
    None: no turn.
    """
    unlike_record_at: int | None
    """First said turn that comes out otherwise than recorded although nothing is exchanged; None:
    the record is reproduced.
    """


def with_component(system: System, component: Component, other: System) -> System:
    """Return the system with one component taken whole from another."""
    match component:
        case Component.ENVIRONMENT:
            return system.model_copy(update={"environment": other.environment})
        case Component.TASK:
            return system.model_copy(update={"tasks": other.tasks, "retired": other.retired})
        case Component.HARNESS:
            return system.model_copy(update={"harness": other.harness})
        case Component.EVALUATOR:
            return system.model_copy(update={"evaluator": other.evaluator})


def replay_exchanged(
    system: System, other: System, trajectory: Trajectory, said: int | None = None
) -> Exchanged:
    """Replay a rollout in two systems, and compare.

    Args:
        system: the system that the rollout ran on.
        other: the same with one component exchanged.
        trajectory: the rollout.
        said: how many of its texts are said again; None: all.

    Raises:
        SynthesisError: the task is not in one of the systems, or its world cannot be built there.
    """
    texts = texts_of(trajectory)
    count = len(texts) if said is None else said
    runs = []
    for tried in (system, other):
        if trajectory.task_id not in tried.tasks:
            raise SynthesisError(f"there is no task {trajectory.task_id}")
        arm = arm_of(tried, trajectory.task_id)
        runs.append(play_on(arm, texts[:count], trajectory.seed))
    same, exchanged = runs
    unlike = first_difference(_first_turns(trajectory, count), same.trajectory)
    return Exchanged(
        recorded=trajectory,
        said=count,
        same=same,
        other=exchanged,
        differs_at=_differs_at(same.trajectory, exchanged.trajectory),
        unlike_record_at=unlike,
    )


def decisive(exchanged: Exchanged, scored: ScoredTrajectory | None) -> Decisive:
    """Return what decided the outcome.

    Args:
        exchanged: the replay.
        scored: the recorded result; None where there is none.
    """
    if exchanged.other.passed != exchanged.same.passed:
        return Decisive.EXCHANGE
    before = None if scored is None else scored.passed
    return Decisive.NOTHING if exchanged.other.passed == before else Decisive.ORACLE


def turn_of_call(trajectory: Trajectory, call: int) -> int | None:
    """Return the turn that makes a call, numbered from 0 over all turns; the number of turns for
    the one after the last call, None for one that is not there.
    """
    number = 0
    for turn in trajectory.turns:
        number += len(turn.calls)
        if call < number:
            return turn.index
    return len(trajectory.turns) if call == number else None


def _first_turns(trajectory: Trajectory, count: int) -> Trajectory:
    return trajectory.model_copy(update={"turns": trajectory.turns[:count]})


def _differs_at(left: Trajectory, right: Trajectory) -> int | None:
    found = first_difference(left, right)
    if found is None and len(right.turns) > len(left.turns):
        return len(left.turns)
    return found
