"""What a model that authors tasks is asked for, stage by stage. Data, read from its answers."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict, JsonValue

MAX_INSTRUCTION = 4_000
"""Characters of a request."""
MAX_PER_ANSWER = 12
"""Calls of one answer that are made."""


class Stage(StrEnum):
    """What a request to the model is for, and where a draft was given up."""

    WALK = "walk"
    """Drawing the services and the anchor; no model is asked."""
    EXPLORE = "explore"
    DESIGN = "design"
    REVISE = "revise"
    """A further design, after the last one was refused."""
    PROBE = "probe"
    SUBMIT = "submit"
    """The gates; no model is asked."""


class AskedCall(Record):
    """One call that the model wants to be made."""

    service: str
    tool: str
    arguments: FrozenDict[str, JsonValue] = FrozenDict()


class Explored(Record):
    """An answer of the stage explore: calls, or notes that end it."""

    calls: tuple[AskedCall, ...] = ()
    notes: str = ""


class Effect(Record):
    """A write that the request asks for."""

    words: str = Field(min_length=1)
    """The words of the request that ask for it, exactly."""
    service: str
    tool: str
    arguments: FrozenDict[str, JsonValue] = FrozenDict()
    """Arguments that the solution's call must have: all but texts whose wording is free, and ids of
    rows that are made on the way."""
    holds: tuple[str, ...] = ()
    """Values that a freely worded text of the call must hold."""


class Counted(Record):
    """How an answer is computed from the rows of one list."""

    operation: Literal["count", "sum"]
    where: FrozenDict[str, JsonValue] = FrozenDict()
    field: str = ""
    """What is summed."""


class Wanted(Record):
    """One field of the answer that the request asks for."""

    words: str = Field(min_length=1)
    """The words of the request that ask for it, exactly."""
    description: str = Field(min_length=1, max_length=200)
    value: JsonValue = None
    """What it comes to."""
    rule: Counted | None = None
    """None: the value stands in an answer of a tool as it is."""


class Picked(Record):
    """Words by which the request says which row of a longer list is meant."""

    words: str = Field(min_length=1)
    by: str
    """Field of the rows that is compared."""
    most: bool


class Design(Record):
    """An answer of the stage design."""

    instruction: str = Field(min_length=1, max_length=MAX_INSTRUCTION)
    effects: tuple[Effect, ...] = Field(min_length=1)
    answer: FrozenDict[str, Wanted] = FrozenDict()
    picks: tuple[Picked, ...] = ()
    state: tuple[JsonValue, ...] = ()
    """JSON Patch of the state at the start: `/service/table/id` and further."""


class Probed(Record):
    """An answer of the stage probe: calls, the end of the work, or that it cannot be done."""

    calls: tuple[AskedCall, ...] = ()
    finish: FrozenDict[str, JsonValue] | None = None
    """The answer's fields; empty where none is asked for."""
    give_up: str = ""
