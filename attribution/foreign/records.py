"""A trace that was made elsewhere, in one form whatever it was written in. Data only.

A turn is one message of the agent, numbered from 0; a call carries its answer, where the trace has
one.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict, JsonObject, JsonValue


class Speaker(StrEnum):
    """Who wrote a message, or made a call."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"


class Outcome(StrEnum):
    """What the trace says of its own success."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


class ForeignAnswer(Record):
    """What a tool answered, as it was shown."""

    text: str
    data: JsonValue = None
    """The JSON that the text holds; None where it holds none."""
    is_error: bool | None = None
    """What the trace says; None: it does not say."""


class ForeignCall(Record):
    """One call as the trace has it."""

    call_id: str
    name: str
    arguments: JsonObject | None
    """None: what was written is no JSON object."""
    written: str = ""
    """What was written, where it is no JSON object."""
    by: Speaker = Speaker.AGENT
    answer: ForeignAnswer | None = None
    """None: the trace has none."""


class ForeignMessage(Record):
    """One message with its calls."""

    speaker: Speaker
    text: str
    calls: tuple[ForeignCall, ...] = ()
    stop: str = ""
    """Why the model stopped, in the words of whoever served it; empty: not said."""


class ForeignTool(Record):
    """A tool that was offered."""

    name: str
    description: str = ""
    parameters: JsonObject | None = None
    """JSON Schema of the arguments; None: not said."""
    output: JsonObject | None = None
    """JSON Schema of the answer; None: not said."""
    is_read: bool | None = None
    """Whether it changes nothing; None: not said, and its name has to do."""


class ForeignTrace(Record):
    """One episode."""

    schema_version: int = Field(default=1, ge=1, le=1)
    trace_id: str
    task_id: str
    source: str
    """File, and line or place in it."""
    messages: tuple[ForeignMessage, ...]
    tools: FrozenDict[str, ForeignTool] = FrozenDict()
    """By name; empty: the trace does not say what was offered."""
    outcome: Outcome = Outcome.UNKNOWN
    reward: float | None = None
    broken: str = ""
    """What broke around the agent (its endpoint, the program that ran it); empty: nothing."""
    ended: str = ""
    """Why the episode ended, in the words of the program that ran it; empty: not said."""
    unmet: tuple[str, ...] = ()
    """What the evaluator that judged the episode says was not met, where it says so."""
    scenario: str | None = None
    """What a simulated user was told; None: no user is known to be simulated."""
