"""A composed multi-turn task played once by the oracle: the real harness, with the user simulated.

Owns nothing but the last gate of such a task. It plays in the seed harness, so that a defect of the
system's own harness refuses no task.
"""

from __future__ import annotations

from attribution.interventions.runs import Arm, play_on
from components.environment.world import build_world
from components.harness.defaults import default_harness
from components.records.frozen import FrozenDict
from components.records.harness import Limits
from components.records.rubric import Rubric
from components.records.system import System
from components.records.task import RejectedDraft, Task
from components.records.trajectory import StopReason
from components.task.compose import ComposedPair, ComposedTask
from components.task.reasons import Reason

_LIMITS = Limits(max_turns=200, max_user_turns=100, max_context_chars=10_000_000)


def rehearsed(
    system: System, draft: ComposedTask | ComposedPair | RejectedDraft
) -> ComposedTask | ComposedPair | RejectedDraft:
    """Return the draft as it is, or refused where gold does not pass in a conversation.

    Args:
        system: services and evaluator settings; it need not have the task.
        draft: what composing made.
    """
    if not isinstance(draft, ComposedTask):
        return draft  # the requests of a pair are said at once
    problem = rehearsal_problem(system, draft.task, draft.rubric)
    if not problem:
        return draft
    draft_id = f"draft_{draft.task.seed}"
    return RejectedDraft(draft_id=draft_id, reason=Reason.USER.value, detail=problem)


def rehearsal_problem(system: System, task: Task, rubric: Rubric) -> str:
    """Return how the oracle fails in a conversation; empty where it passes, or nobody answers.

    Args:
        system: services and evaluator settings.
        task: a request said at once is not played.
        rubric: its criteria.
    """
    if task.user is None:
        return ""
    rubrics = FrozenDict({task.task_id: rubric})
    evaluator = system.evaluator.model_copy(update={"rubrics": rubrics})
    harness = default_harness().model_copy(update={"limits": _LIMITS})
    staged = system.model_copy(update={"evaluator": evaluator, "harness": harness})
    run = play_on(Arm(system=staged, task=task, world=build_world(system, task.world)), ())
    heard = [turn.user for turn in run.trajectory.turns if turn.user]
    num_moves, stop = len(task.user.moves), run.trajectory.stop_reason
    if run.passed and len(heard) == num_moves and stop is StopReason.FINISHED:
        return ""
    failure = run.trajectory.failure
    how = stop.value if failure is None else failure.message
    return f"the oracle heard {len(heard)} of {num_moves} messages: {how}"
