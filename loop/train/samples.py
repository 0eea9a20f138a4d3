"""From trajectories to samples: the conversation as it was acted on, and which tokens are learned.

Only a trajectory that is scored, passed and unbroken becomes a sample; the others are counted by
reason. Observations and prompts are in the context and never in the loss. Ids come from
`loop.policy.tokens` alone, so that what is trained on is what was acted on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from components.harness.policy import Message, turn_messages
from components.records.frozen import content_hash
from components.records.trajectory import ScoredTrajectory, ScoreStatus, StopReason, Trajectory
from loop.policy.tokens import ChatTokens
from loop.train.mistakes import is_mistake
from loop.train.packing import Sample

Scored = tuple[Trajectory, ScoredTrajectory]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSet:
    """What is trained on, and what was left out."""

    samples: tuple[Sample, ...]
    left_out: Mapping[str, int]
    """Reason -> trajectories."""
    num_masked_turns: int
    """Turns of the samples that carry no loss."""

    @property
    def content(self) -> str:
        """Hash of ids and masks."""
        rows = [[item.key, list(item.ids), list(item.is_trained)] for item in self.samples]
        return content_hash(rows)

    def counts(self) -> dict[str, int]:
        """Return what there is, for a report."""
        return {
            "samples": len(self.samples),
            "tokens": sum(len(item.ids) for item in self.samples),
            "trained_tokens": sum(sum(item.is_trained) for item in self.samples),
            "masked_turns": self.num_masked_turns,
            **{f"left_out.{reason}": count for reason, count in sorted(self.left_out.items())},
        }


def samples_of(
    items: Iterable[Scored],
    tokens: ChatTokens,
    *,
    max_tokens: int,
    masks_mistakes: bool,
    slips: Mapping[str, Collection[int]] | None = None,
) -> SampleSet:
    """Return the samples of what is valid, sorted by rollout.

    Args:
        items: trajectories with their scores.
        tokens: of the model that learns.
        max_tokens: longest sample; a longer one is left out whole.
        masks_mistakes: leave turns that failed, or could not be read, and `slips` out of the loss,
            so that the recovery is learned and not the mistake.
        slips: rollout -> turns that are known to be slips.
    """
    samples: list[Sample] = []
    left_out: Counter[str] = Counter()
    num_masked = 0
    for trajectory, scored in sorted(items, key=lambda item: item[0].rollout_id):
        reason = invalid_reason(trajectory, scored)
        masked: set[int] = set()
        if not reason and masks_mistakes:
            masked = {turn.index for turn in trajectory.turns if is_mistake(turn)}
            masked |= set((slips or {}).get(trajectory.rollout_id, ()))
        sample = None if reason else _sample_of(trajectory, tokens, masked)
        if sample is None:
            left_out[reason or "nothing_to_learn"] += 1
        elif len(sample.ids) > max_tokens:
            left_out["too_long"] += 1
        else:
            samples.append(sample)
            num_masked += len(masked)
    return SampleSet(
        samples=tuple(samples), left_out=dict(sorted(left_out.items())), num_masked_turns=num_masked
    )


def invalid_reason(trajectory: Trajectory, scored: ScoredTrajectory) -> str:
    """Return why a trajectory may not be learned from, or an empty text."""
    assert trajectory.rollout_id == scored.rollout_id
    if trajectory.failure is not None or trajectory.stop_reason is StopReason.FAILURE:
        return "failure"
    if scored.status is not ScoreStatus.SCORED:
        return "unscored"
    return "" if scored.passed else "not_passed"


def _sample_of(trajectory: Trajectory, tokens: ChatTokens, masked: set[int]) -> Sample | None:
    """Return a trajectory as a sample; None when no token of it is to be learned."""
    messages = [
        Message(role="system", content=trajectory.system_text),
        Message(role="user", content=trajectory.user_text),
    ]
    num_system = len(tokens.encode(messages[:1], reply_next=False).ids)
    spans: list[tuple[int, int]] = []
    for turn in trajectory.turns:
        said, *answers = turn_messages(turn)
        start = len(tokens.encode(messages, reply_next=False).ids)
        messages.append(said)
        if turn.index in masked:
            spans.append((start, len(tokens.encode(messages, reply_next=False).ids)))
        messages += answers
    whole = tokens.encode(messages, reply_next=False)
    is_trained = list(whole.is_reply)
    for start, end in spans:
        is_trained[start:end] = [False] * (end - start)
    if not any(is_trained):
        return None
    length = len(is_trained) - is_trained[::-1].index(True)
    return Sample(
        key=trajectory.rollout_id,
        ids=whole.ids[:length],
        is_trained=tuple(is_trained[:length]),
        num_system=num_system,
    )
