"""What a policy achieves on tasks that it was never trained on.

Owns the figures; the rollouts are a round's (`loop.rollouts`). A trajectory that is unscored is
counted, and is neither a success nor a failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, ScoreStatus, Trajectory
from components.task.gates import length_of
from loop.context import RoundContext
from loop.policy.config import LocalPolicyConfig
from loop.rollouts import Rolled, roll_out
from loop.summary import PassRate, pass_rate
from loop.train.gold import GoldDraft, with_tasks
from loop.train.mistakes import is_failed


class Evaluation(Record):
    """One policy on one set of held-out tasks."""

    schema_version: int = Field(default=1, ge=1, le=1)
    policy: str
    """Version of the policy."""
    tasks: int
    success: PassRate
    """All criteria met, with the 95 % Wilson interval."""
    criterion_rate: float | None
    """Share of the criteria met, over all scored rollouts; None without any."""
    turns: int
    readable_rate: float | None
    """Share of the turns in which every call could be read; None without turns."""
    calls: int
    valid_call_rate: float | None
    """Share of the calls that were answered without an error; None without calls."""
    stop_reasons: FrozenDict[str, int]
    by_kind: FrozenDict[str, PassRate]
    """Kind of held-out task -> success."""
    by_length: FrozenDict[str, PassRate]
    """Calls of the gold solution -> success."""


def evaluate(
    context: RoundContext, stage: str, system: System, drafts: Sequence[GoldDraft]
) -> Evaluation:
    """Roll the policy out on held-out tasks and return what it achieves.

    Args:
        context: the open run; its configuration names the policy.
        stage: name of the pass.
        system: services and harness.
        drafts: the held-out tasks.
    """
    full = with_tasks(system, {draft.task.task_id: draft for draft in drafts})
    return measure(roll_out(context, stage, full), drafts)


def measure(rolled: Rolled, drafts: Sequence[GoldDraft]) -> Evaluation:
    """Return the figures of one pass over held-out tasks."""
    kinds = {draft.task.task_id: draft.kind.value for draft in drafts}
    lengths = {draft.task.task_id: str(length_of(draft.task)) for draft in drafts}
    scored = list(rolled.scored.values())
    trajectories = list(rolled.trajectories.values())
    turns = [turn for item in trajectories for turn in item.turns]
    answers = [observation for turn in turns for observation in turn.observations]
    criteria = [
        score.value
        for item in scored
        if item.status is ScoreStatus.SCORED
        for score in item.criteria.values()
        if score.value is not None
    ]
    return Evaluation(
        policy=_version(trajectories),
        tasks=len(drafts),
        success=pass_rate([item.passed for item in scored]),
        criterion_rate=_share(sum(criteria), len(criteria)),
        turns=len(turns),
        readable_rate=_share(sum(not turn.problem for turn in turns), len(turns)),
        calls=len(answers),
        valid_call_rate=_share(sum(not is_failed(item) for item in answers), len(answers)),
        stop_reasons=FrozenDict(
            sorted(Counter(item.stop_reason.value for item in trajectories).items())
        ),
        by_kind=_by(kinds, scored),
        by_length=_by(lengths, scored),
    )


def adapted(context: RoundContext, adapter: Path | None) -> RoundContext:
    """Return the context with another adapter under its local policy."""
    policy = context.config.policy
    assert isinstance(policy, LocalPolicyConfig)
    changed = policy.model_copy(update={"adapter": None if adapter is None else str(adapter)})
    return replace(context, config=context.config.model_copy(update={"policy": changed}))


def outcome(evaluation: Evaluation) -> list[str]:
    """Return an evaluation in a few lines."""
    kinds = ", ".join(f"{kind} {_shown(rate)}" for kind, rate in evaluation.by_kind.items())
    stops = ", ".join(f"{reason} {count}" for reason, count in evaluation.stop_reasons.items())
    success = evaluation.success
    interval = "" if success.low is None else f" (95 %: {success.low:.0%} to {success.high:.0%})"
    return [
        f"held-out success: {_shown(success)}{interval}",
        f"by kind: {kinds}",
        f"criteria met: {_percent(evaluation.criterion_rate)}; calls without an error: "
        f"{_percent(evaluation.valid_call_rate)} of {evaluation.calls}; readable turns: "
        f"{_percent(evaluation.readable_rate)} of {evaluation.turns}",
        f"ended by: {stops}",
    ]


def _version(trajectories: Sequence[Trajectory]) -> str:
    return next((turn.policy_version for item in trajectories for turn in item.turns), "")


def _by(groups: Mapping[str, str], scored: Sequence[ScoredTrajectory]) -> FrozenDict[str, PassRate]:
    outcomes: dict[str, list[bool | None]] = {}
    for item in scored:
        outcomes.setdefault(groups[item.task_id], []).append(item.passed)
    return FrozenDict({name: pass_rate(outcomes[name]) for name in sorted(outcomes)})


def _share(part: float, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def _shown(rate: PassRate) -> str:
    return f"{rate.passed} of {rate.scored}"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{share:.0%}"
