"""Score trajectories: replay each to its final state, decide its rubric there, reward it among its
siblings.

Invariant: what cannot be decided is unscored, with its reason. Nothing that goes wrong with one
criterion or one trajectory becomes a 0, and nothing of it reaches a sibling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.environment.engine import execute
from components.environment.state import WorldState, state_hash
from components.environment.world import World, build_world
from components.errors import BoundaryError, VerifierError, boundary
from components.evaluator.criteria import Scoring
from components.evaluator.reward import completion_rewards
from components.records.frozen import FrozenDict, JsonObject
from components.records.rubric import EvaluatorSettings, Rubric
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import (
    CriterionScore,
    ScoredTrajectory,
    ScoreStatus,
    StopReason,
    Trajectory,
)

NOT_REPLAYED = "the recorded calls do not replay"
"""Reason of an unscored trajectory whose calls lead to other states than the recorded ones."""


def score_criteria(
    rubric: Rubric,
    settings: EvaluatorSettings,
    initial: WorldState,
    final: WorldState,
    answer: JsonObject | None,
) -> FrozenDict[str, CriterionScore]:
    """Return the result of every criterion, by name.

    Args:
        rubric: the task's criteria.
        settings: rules of equality.
        initial: state at the start of the episode.
        final: state at its end.
        answer: the `finish` call's answer; None when it was never called.
    """
    scoring = Scoring(rubric.criteria, settings.equivalence, initial, final, answer)
    return FrozenDict({name: _score(scoring, name) for name in sorted(rubric.criteria)})


def is_pass(
    scores: Mapping[str, CriterionScore], rubric: Rubric, settings: EvaluatorSettings
) -> bool | None:
    """Return whether enough of the rubric is met; None when a part of it is unscored."""
    met = total = 0.0
    for name, criterion in rubric.criteria.items():
        score = scores.get(name)
        if score is None or score.value is None:
            return None
        met += criterion.weight * score.value
        total += criterion.weight
    return None if total == 0 else met >= settings.pass_threshold * total - 1e-12


def score_group(
    system: System, task: Task, trajectories: Sequence[Trajectory]
) -> tuple[ScoredTrajectory, ...]:
    """Return each sibling's result, in the order given; rewards are taken over the scored ones.

    Args:
        system: the system that the trajectories ran on; its environment replays them.
        task: their task; need not be among `system.tasks`.
        trajectories: the siblings of one group.
    """
    rubric = system.evaluator.rubrics.get(task.task_id)
    if rubric is None:
        return tuple(_unscored(item, "the task has no rubric") for item in trajectories)
    try:
        with boundary(VerifierError, "build the world"):
            world = build_world(system, task.world)
    except BoundaryError as error:
        return tuple(_unscored(item, str(error)) for item in trajectories)
    scored = [
        _score_trajectory(world, rubric, system.evaluator.settings, trajectory)
        for trajectory in trajectories
    ]
    return _with_rewards(scored, rubric, system.evaluator.settings.completion_lambda)


def _score(scoring: Scoring, name: str) -> CriterionScore:
    try:
        with boundary(VerifierError, f"criterion {name}"):
            problem = scoring.problem(name)
    except BoundaryError as error:
        return CriterionScore(status=ScoreStatus.UNSCORED, value=None, detail=str(error))
    value = 0.0 if problem else 1.0
    return CriterionScore(status=ScoreStatus.SCORED, value=value, detail=problem)


def _score_trajectory(
    world: World, rubric: Rubric, settings: EvaluatorSettings, trajectory: Trajectory
) -> ScoredTrajectory:
    failure = trajectory.failure
    if failure is not None or trajectory.stop_reason is StopReason.FAILURE:
        what = f"{failure.boundary} failed: {failure.message}" if failure else "a boundary failed"
        return _unscored(trajectory, what)
    if trajectory.task_id != rubric.task_id:
        return _unscored(trajectory, f"it is a trajectory of task {trajectory.task_id}")
    try:
        with boundary(VerifierError, "score"):
            final = _replayed(world, trajectory)
            scores = score_criteria(rubric, settings, world.initial, final, trajectory.answer)
            passed = is_pass(scores, rubric, settings)
    except BoundaryError as error:
        return _unscored(trajectory, str(error))
    if passed is None:
        open_ones = [name for name, score in scores.items() if score.value is None]
        reason = f"undecided: {', '.join(open_ones)}" if open_ones else "the rubric is empty"
        return _unscored(trajectory, reason, scores)
    return ScoredTrajectory(
        rollout_id=trajectory.rollout_id,
        task_id=trajectory.task_id,
        status=ScoreStatus.SCORED,
        criteria=scores,
        passed=passed,
        reward=None,
    )


def _replayed(world: World, trajectory: Trajectory) -> WorldState:
    """Execute the recorded calls again and return the final state.

    Raises:
        VerifierError: a state on the way is not the recorded one. Only an empty hash is not
        compared.
    """
    state, found = world.initial, state_hash(world.initial)
    if trajectory.initial_state not in ("", found):
        raise VerifierError(f"{NOT_REPLAYED}: the initial state is another one")
    for turn in trajectory.turns:
        for observation in turn.observations:
            call = observation.call
            if call is None:
                continue
            outcome = execute(world, state, call.service, call.tool, call.arguments)
            if outcome.state is not state:
                state, found = outcome.state, state_hash(outcome.state)
            if call.state_after not in ("", found):
                raise VerifierError(
                    f"{NOT_REPLAYED}: turn {turn.index}: {call.service}.{call.tool} leads elsewhere"
                )
    if trajectory.final_state not in ("", found):
        raise VerifierError(f"{NOT_REPLAYED}: the final state is another one")
    return state


def _with_rewards(
    scored: Sequence[ScoredTrajectory], rubric: Rubric, lambda_: float
) -> tuple[ScoredTrajectory, ...]:
    members = [item for item in scored if item.status is ScoreStatus.SCORED]
    names = sorted(rubric.criteria)
    values = [[item.criteria[name].value or 0.0 for name in names] for item in members]
    weights = [rubric.criteria[name].weight for name in names]
    rewards = iter(completion_rewards(values, weights, lambda_))
    return tuple(
        item.model_copy(update={"reward": next(rewards)})
        if item.status is ScoreStatus.SCORED
        else item
        for item in scored
    )


def _unscored(
    trajectory: Trajectory, reason: str, scores: FrozenDict[str, CriterionScore] | None = None
) -> ScoredTrajectory:
    return ScoredTrajectory(
        rollout_id=trajectory.rollout_id,
        task_id=trajectory.task_id,
        status=ScoreStatus.UNSCORED,
        criteria=FrozenDict() if scores is None else scores,
        passed=None,
        reward=None,
        reason=reason,
    )
