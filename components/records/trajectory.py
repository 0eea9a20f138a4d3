"""What happened in one rollout: raw text, parsed calls, whole observations, how it ended."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from components.records.base import Record
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict, JsonObject


class StopReason(StrEnum):
    """How an episode ended."""

    FINISHED = "finished"
    """The policy called `finish`."""
    MAX_TURNS = "max_turns"
    MAX_USER_TURNS = "max_user_turns"
    """The policy wrote to the user more often than the harness allows."""
    INVALID_TURNS = "invalid_turns"
    """Too many turns in a row held no usable call."""
    CONTEXT_FULL = "context_full"
    GAVE_UP = "gave_up"
    """The policy ended its work without `finish`."""
    FAILURE = "failure"
    """A boundary broke; `failure` says which."""


class Failure(Record):
    """A boundary that broke: data, never reward 0."""

    boundary: str
    message: str


class ParsedCall(Record):
    """One call as the parser read it."""

    call_id: str
    name: str
    """Tool that the written name means (`helpdesk__get_ticket`).

    The raw text has it as it was written.
    """
    arguments: JsonObject
    parser: str


class Observation(Record):
    """The answer to one call: whole, and as it was shown."""

    call_id: str
    call: CallRecord | None
    """The executed call; None for `finish`, `read_more` and calls that the harness refused."""
    shown: str
    """Text that the policy saw."""
    truncated: bool = False
    """True when `shown` is one page of a longer answer."""


class Turn(Record):
    """One policy message with its calls and their observations: the atomic unit of credit."""

    index: int = Field(ge=0)
    raw_text: str
    """Exactly what the policy produced."""
    token_ids: tuple[int, ...] | None = None
    """Sampled token ids; None when the policy gives none."""
    logprobs: tuple[float, ...] | None = None
    policy_version: str
    calls: tuple[ParsedCall, ...] = ()
    observations: tuple[Observation, ...] = ()
    problem: str = ""
    """Why a call, or any at all, could not be read from the text.

    Those that could were executed.
    """
    feedback: str = ""
    """Text shown to the policy because of `problem`."""
    user: str = ""
    """What the user of a multi-turn task answered; empty when the turn was no message to them."""

    @model_serializer(mode="wrap")
    def _plainly(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A turn that no user answered is written without that key."""
        body: dict[str, Any] = handler(self)
        return body if self.user else {key: body[key] for key in body if key != "user"}


class Trajectory(Record):
    """The record of one rollout."""

    schema_version: int = Field(default=1, ge=1, le=1)
    rollout_id: str
    task_id: str
    group_index: int = Field(ge=0)
    """Which of the task's G siblings."""
    seed: int
    simulated: bool
    """True when the policy is scripted: a simulation, not a model."""
    component_hashes: FrozenDict[str, str]
    """environment, task, harness, evaluator -> version it ran with."""
    system_text: str
    user_text: str
    turns: tuple[Turn, ...]
    stop_reason: StopReason
    failure: Failure | None = None
    answer: JsonObject | None = None
    """The `finish` call's answer; None when it was never called."""
    initial_state: str
    final_state: str


class ScoreStatus(StrEnum):
    """Whether a verdict exists at all. `unscored` is not zero."""

    SCORED = "scored"
    UNSCORED = "unscored"


class CriterionScore(Record):
    """One criterion's result."""

    status: ScoreStatus
    value: float | None
    """1.0 met, 0.0 not met, None when unscored."""
    detail: str = ""


class ScoredTrajectory(Record):
    """A trajectory's result, criterion by criterion."""

    schema_version: int = Field(default=1, ge=1, le=1)
    rollout_id: str
    task_id: str
    status: ScoreStatus
    criteria: FrozenDict[str, CriterionScore]
    passed: bool | None
    """None when unscored."""
    reward: float | None
    """Completion-focused reward within the group; None when unscored."""
    reason: str = ""
    """Why it is unscored."""
