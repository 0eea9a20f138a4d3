"""What an author is asked, what it answers, and what comes of it. Data only."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.records.base import Record
from components.records.blueprint import SeedData
from components.records.code import CodeService
from components.records.frozen import FrozenDict, JsonValue


class Stage(StrEnum):
    """What a request is for; costs are counted by it."""

    ADVERSARIAL = "adversarial"
    EXPLORE = "explore"
    WRITE = "write"
    REVISE = "revise"
    SIMPLIFY = "simplify"


class Message(Record):
    """One message of a request."""

    role: str
    content: str


class Request(Record):
    """What the model is asked, apart from how long it may answer."""

    stage: Stage
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
    """Versions of the code that were tried."""


class Stopped(StrEnum):
    """What ended an author's work before it was done."""

    BUDGET = "budget"
    WINDOW = "window"
    """A prompt, with the answer that it allows, is longer than the model can read."""
    ENDPOINT = "endpoint"


class Step(Record):
    """One call of a written test and what it must bring."""

    tool: str
    arguments: FrozenDict[str, JsonValue] = FrozenDict()
    """A text `$name` stands for a value that an earlier step kept."""
    expect: str = "ok"
    """`ok`, `error`, or the code of the error."""
    holds: FrozenDict[str, JsonValue] = FrozenDict()
    """JSON pointer into the answer's data -> value that stands there."""
    keep: FrozenDict[str, str] = FrozenDict()
    """Name -> JSON pointer into the answer's data."""


class WrittenTest(Record):
    """A test as a model writes it: calls on a fresh service, one after the other."""

    name: str = Field(max_length=200)
    steps: tuple[Step, ...] = Field(min_length=1, max_length=12)


class Tally(Record):
    """How a service did in all tests."""

    working: tuple[str, ...] = ()
    """Tools that passed every gate; simulated ones do not count."""
    gate_calls: int = 0
    gate_failures: int = 0
    own_passed: int = 0
    """Of the tests that came with the code."""
    own_total: int = 0
    adversarial_passed: int = 0
    adversarial_total: int = 0
    problems: tuple[str, ...] = ()
    """What failed, a line each, the gates' first."""


class Version(Record):
    """One attempt and how it did."""

    stage: Stage
    problem: str = ""
    """Why nothing could be tested; empty when it was."""
    tally: Tally = Tally()
    lines: int = 0
    is_best: bool = False
    """True when it was the best so far."""


class Authored(Record):
    """What an author's work came to: code that is better than the blueprint, or the blueprint."""

    schema_version: int = Field(default=1, ge=1, le=1)
    service: str
    code: CodeService | None
    """None: the blueprint stays."""
    seed: SeedData
    """Rows for the code, or the blueprint's own."""
    reason: str
    """Why the one or the other, in one line."""
    stopped: Stopped | None = None
    """None: the work was done."""
    blueprint: Tally
    """How the blueprint did in the same tests."""
    versions: tuple[Version, ...] = ()
    stages: FrozenDict[str, StageFigures] = FrozenDict()
    """By stage."""
