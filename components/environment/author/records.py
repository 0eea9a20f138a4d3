"""What an author is asked, what it answers, and what comes of it. Data only."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.model.records import StageFigures
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
