"""A composed multi-turn task played once by the oracle: the real harness, with the user simulated.

Owns nothing but this last gate of a draft. It plays in the seed harness, so that a defect of the
system's own harness refuses no task.
"""

from __future__ import annotations

from attribution.interventions.runs import Arm, play_on
from components.environment.world import build_world
from components.harness.defaults import default_harness
from components.records.frozen import FrozenDict
from components.records.harness import Limits
from components.records.system import System
from components.records.task import RejectedDraft
from components.records.trajectory import StopReason
from components.task.compose import ComposedTask
from components.task.reasons import Reason

_LIMITS = Limits(max_turns=200, max_user_turns=100, max_context_chars=10_000_000)


def rehearsed(system: System, draft: ComposedTask | RejectedDraft) -> ComposedTask | RejectedDraft:
    """Return the draft as it is, or refused where gold does not pass in a conversation.

    Args:
        system: services and evaluator settings; it need not have the task.
        draft: what composing made; a request said at once is not played.
    """
    if isinstance(draft, RejectedDraft) or draft.task.user is None:
        return draft
    rubrics = FrozenDict({draft.task.task_id: draft.rubric})
    evaluator = system.evaluator.model_copy(update={"rubrics": rubrics})
    harness = default_harness().model_copy(update={"limits": _LIMITS})
    staged = system.model_copy(update={"evaluator": evaluator, "harness": harness})
    world = build_world(system, draft.task.world)
    run = play_on(Arm(system=staged, task=draft.task, world=world), ())
    heard = [turn.user for turn in run.trajectory.turns if turn.user]
    is_whole = len(heard) == len(draft.task.user.moves)
    if run.passed and is_whole and run.trajectory.stop_reason is StopReason.FINISHED:
        return draft
    failure = run.trajectory.failure
    how = run.trajectory.stop_reason.value if failure is None else failure.message
    return RejectedDraft(
        draft_id=f"draft_{draft.task.seed}",
        reason=Reason.USER.value,
        detail=f"the oracle heard {len(heard)} of {len(draft.task.user.moves)} messages: {how}",
    )
