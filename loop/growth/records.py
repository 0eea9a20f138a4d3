"""What a round grew, and why, as it is recorded with the stage `grow`."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict


class Rule(StrEnum):
    """Why tasks are added."""

    COMPLEXITY = "complexity"
    BREADTH = "breadth"
    DIVERSITY = "diversity"


class Shape(Record):
    """How much a task takes, apart from what it is about."""

    k: int = Field(ge=1)
    """Services that it needs."""
    walk_length: int = Field(ge=1)
    """Calls of its solution, where a write for every row of a list counts once."""
    distractors: int = Field(ge=0)
    """Services that are only in the way."""
    is_said_at_once: bool = True
    """False: a simulated user says the request bit by bit."""


class ShapeFigures(Record):
    """What the policy made of the live tasks of one shape in the round before."""

    shape: Shape
    tasks: int
    """Tasks that were played."""
    solved: int
    """Tasks in which every rollout passed, and none of them wrongly."""
    low: float
    """Lower end of the 95 % Wilson interval of solved / tasks."""
    is_mastered: bool


class GrowthStep(Record):
    """One thing that was asked for, and what came of it."""

    rule: Rule
    subject: str
    """What is asked for: a shape in words, a service, `other than KIND`."""
    why: str
    """A sentence with the figures."""
    figures: FrozenDict[str, float] = FrozenDict()
    """The same figures by name."""
    wanted: int
    """Tasks that were to be added."""
    drafted: int
    rejected: FrozenDict[str, int] = FrozenDict()
    """Reason -> drafts; beside those of composing `other_services` and `same_kind`: it would have
    become a task, and not one that was asked for."""
    admitted: tuple[str, ...] = ()
    """Tasks that were added."""


class GrowthRound(Record):
    """All that a round grew."""

    schema_version: int = Field(default=1, ge=1, le=1)
    looked_at: int | None = None
    """Round whose second pass and live tasks were looked at; None: nothing was, see `note`."""
    note: str = ""
    """Why nothing grew, or what stood in the way."""
    shapes: tuple[ShapeFigures, ...] = ()
    """The easiest first; empty where outcomes tell nothing."""
    steps: tuple[GrowthStep, ...] = ()
    retired: FrozenDict[str, str] = FrozenDict()
    """Solved task that made room -> reason."""
    limits: FrozenDict[str, int] = FrozenDict()
    """Limit of the harness that was raised for longer tasks -> its value now."""
    services: tuple[str, ...] = ()
    """Services that came in, through their gates."""
    refused: FrozenDict[str, str] = FrozenDict()
    """Service or server that a changed configuration names -> why it did not come in."""


def shape_words(shape: Shape) -> str:
    """Return a shape in words: `2 services, 4 calls, 1 distractor, in a conversation`."""
    parts = [_many(shape.k, "service"), _many(shape.walk_length, "call")]
    parts += [_many(shape.distractors, "distractor")] if shape.distractors else []
    parts += [] if shape.is_said_at_once else ["in a conversation"]
    return ", ".join(parts)


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
