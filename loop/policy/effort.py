"""What came of a batch of rollouts, and what its generation took.

Tokens and seconds are recorded apart from everything that is hashed.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from components.records.base import Record
from components.records.trajectory import Trajectory

Rollout = Coroutine[Any, Any, Trajectory]
"""A rollout that waits to be played."""


class Effort(Record):
    """Tokens and seconds of one batch, or of several added up."""

    rollouts: int = Field(ge=0)
    sampled_tokens: int = Field(ge=0)
    """Tokens that the policy chose, of all rollouts."""
    decoded_tokens: int = Field(ge=0)
    """Tokens of replies that were fed, wrong guesses included; siblings that are alike count once.
    """
    guessed_tokens: int = Field(ge=0)
    """Of these, tokens that were fed on a guess."""
    accepted_tokens: int = Field(ge=0)
    """Of the guesses, those that were right."""
    prompt_tokens: int = Field(ge=0)
    """Tokens of all prompts, each context counted once where it was asked for."""
    prefilled_tokens: int = Field(ge=0)
    """Tokens of prompts that were fed; the others were there from an earlier turn or a sibling."""
    decode_seconds: float = Field(ge=0)
    """Seconds in the model and in drawing tokens, by share of the fed tokens."""
    prefill_seconds: float = Field(ge=0)
    """Seconds in the model for prompts, by share of the fed tokens."""
    seconds: float = Field(ge=0)
    """Seconds from a batch's begin to its end; batches side by side add up."""

    @property
    def model_share(self) -> float:
        """Share of the time that was spent in the model; 1 where nothing was done."""
        inside = self.decode_seconds + self.prefill_seconds
        return inside / self.seconds if self.seconds else 1.0


def added(efforts: Iterable[Effort]) -> Effort:
    """Return the sum of efforts."""
    total = dict.fromkeys(Effort.model_fields, 0.0)
    for effort in efforts:
        for name in total:
            total[name] += getattr(effort, name)
    return Effort.model_validate(total)


@dataclass(frozen=True, slots=True)
class Played:
    """What came of the rollouts of a batch, in their order."""

    trajectories: list[Trajectory]
    effort: Effort | None = None
    """None where the model is elsewhere, or there is none."""
