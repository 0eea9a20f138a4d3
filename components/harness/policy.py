"""The seam between harness and policy: what a policy is asked and answers, and a rollout's plan.

A policy sees messages and nothing else: it can reach neither the world nor the session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from components.harness.tools import ShownTool
from components.records.frozen import FrozenDict
from components.records.trajectory import Trajectory, Turn

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of the conversation, as the policy sees it."""

    role: Role
    """`tool` carries one observation; an endpoint without that role gets it as `user`."""
    content: str
    token_ids: tuple[int, ...] | None = None
    """`assistant` only: the ids that the policy sampled for it; None when it gave none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRequest:
    """Everything that a policy is given for one turn."""

    messages: tuple[Message, ...]
    tools: tuple[ShownTool, ...]
    """Tools that the system message shows, `finish` and `read_more` included."""
    seed: int
    """Seed of the rollout; with `turn_index` it fixes the sampling of this turn."""
    turn_index: int
    max_turn_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReply:
    """What a policy produced in one turn."""

    text: str
    """Raw text, reasoning included."""
    token_ids: tuple[int, ...] | None = None
    """Sampled token ids; None when the policy gives none."""
    logprobs: tuple[float, ...] | None = None
    """Log probability of each sampled token; None when the policy gives none."""


class Policy(Protocol):
    """Acts. One object may serve several rollouts at once, so `act` keeps nothing between calls."""

    @property
    def version(self) -> str:
        """What exactly acted; recorded with every turn."""

    @property
    def simulated(self) -> bool:
        """True for a script, False for a model."""

    async def act(self, request: PolicyRequest) -> PolicyReply:
        """Return the next turn. An exception ends this rollout as a provider failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutPlan:
    """Which rollout this is."""

    rollout_id: str
    group_index: int
    seed: int
    component_hashes: FrozenDict[str, str]
    """`component_versions(system)`, computed once a round and not once a rollout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixPolicy:
    """Says recorded texts again, then hands over: continues a trajectory from one of its turns."""

    texts: tuple[str, ...]
    """Raw texts of the first turns."""
    then: Policy
    """Acts from turn `len(texts)` on."""

    @property
    def version(self) -> str:
        """The version of the policy that continues."""
        return f"{self.then.version}:after-{len(self.texts)}"

    @property
    def simulated(self) -> bool:
        """As the policy that continues."""
        return self.then.simulated

    async def act(self, request: PolicyRequest) -> PolicyReply:
        """Return the recorded text of this turn, or what the other policy says."""
        if request.turn_index < len(self.texts):
            return PolicyReply(text=self.texts[request.turn_index])
        return await self.then.act(request)


def turn_messages(turn: Turn) -> tuple[Message, ...]:
    """Return what one turn adds to the conversation."""
    answers = [Message(role="tool", content=item.shown) for item in turn.observations]
    feedback = [Message(role="user", content=turn.feedback)] if turn.feedback else []
    feedback += [Message(role="user", content=turn.user)] if turn.user else []
    said = Message(role="assistant", content=turn.raw_text, token_ids=turn.token_ids)
    return (said, *answers, *feedback)


def trajectory_messages(trajectory: Trajectory, num_turns: int) -> tuple[Message, ...]:
    """Return the conversation as it stood after the first `num_turns` recorded turns."""
    start = (
        Message(role="system", content=trajectory.system_text),
        Message(role="user", content=trajectory.user_text),
    )
    return start + tuple(
        message for turn in trajectory.turns[:num_turns] for message in turn_messages(turn)
    )
