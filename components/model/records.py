"""What a model is asked, what came of it, and what that cost. Data only."""

from __future__ import annotations

from pydantic import Field

from components.records.base import Record


class Message(Record):
    """One message of a request."""

    role: str
    content: str


class Request(Record):
    """What the model is asked, apart from how long it may answer."""

    stage: str
    """What it is for; costs are counted by it."""
    model: str
    temperature: float
    seed: int
    messages: tuple[Message, ...]


class Tried(Record):
    """One HTTP request and what came of it."""

    status: int | None = None
    """HTTP status; None when no answer came."""
    text: str | None = None
    """The model's message; None when there is none."""
    is_whole: bool = True
    """False when the model was cut off at its limit."""
    prompt_tokens: int | None = None
    """As the endpoint counts them; None where it does not say."""
    answer_tokens: int | None = None
    problem: str = ""
    """Why there is no text; safe to show."""
    may_retry: bool = False
    wait_seconds: float | None = None
    """How long the endpoint asks to wait."""
    may_cost: bool = True
    """False when the endpoint surely generated nothing."""
    is_too_long: bool = False
    """True when the endpoint refused because prompt and answer do not fit the model's window."""


class AskedLine(Record):
    """A line of a recording: a request that is about to be made."""

    schema_version: int = Field(default=1, ge=1, le=1)
    key: str
    """Content hash of the request."""
    request: Request
    max_tokens: int


class TriedLine(Record):
    """A line of a recording: what came of the last request of this key."""

    schema_version: int = Field(default=1, ge=1, le=1)
    key: str
    tried: Tried


class Exchange(Record):
    """One HTTP request and what came of it."""

    request: Request
    max_tokens: int
    tried: Tried


class StageFigures(Record):
    """What one stage used and brought."""

    requests: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    """Wall-clock time, waits and test runs included; 0 for what was replayed is near."""
    versions: int = 0
    """Versions of what is written (code, a patch) that were tried."""
