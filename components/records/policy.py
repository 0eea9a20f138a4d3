"""Policy rules: what must not be done although the tools would let it.

A rule is a sentence and its checkable form. It looks at one field of one row: the row that an
argument of a tool names, or one that this row links to. Rules stand in the world contract, which
nobody owns.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict, JsonValue


class RuleFamily(StrEnum):
    """What a rule is about."""

    LIMIT = "limit"
    """An amount or a count."""
    OWNERSHIP = "ownership"
    """Only rows of the person who asks."""
    WINDOW = "window"
    """Only within days before or after the world's clock."""
    CONFIRMATION = "confirmation"
    """Only once something was confirmed, as a row says, or after another call."""


class Relation(StrEnum):
    """How a value is compared with a rule's limit."""

    IS = "is"
    IS_NOT = "is_not"
    ONE_OF = "one_of"
    """The limit is a list."""
    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    SINCE = "since"
    """The time is the limit or later."""
    UNTIL = "until"
    """The time is the limit or earlier."""


class InsteadArgument(Record):
    """An argument of the call that a rule names."""

    of: str = ""
    """Argument of the call that the rule is about, whose value is taken."""
    value: JsonValue = None
    """With an empty `of`: a constant, which the rule's sentence says."""


class Instead(Record):
    """A call that a rule names beside the one that it is about; of the same service."""

    tool: str
    arguments: FrozenDict[str, InsteadArgument]


class PolicyRule(Record):
    """One rule of one tool."""

    text: str
    """The rule as a sentence: the policy is told it."""
    family: RuleFamily
    service: str
    tool: str
    names: str
    """Argument, at the top of the call, whose value names the row that is looked at."""
    table: str
    """Table of that row, in the rule's service."""
    links: tuple[str, ...] = ()
    """Fields that lead from that row to the one that is looked at, each a link. Where one holds
    nothing, the rule does not apply."""
    field: str
    """The field that is compared. A row in which it is null is not allowed."""
    relation: Relation
    value: JsonValue = None
    """The limit. `since`, `until`: days from the world's clock, negative before it. `one_of`
    without a value: what the person who asks is called by."""
    only: FrozenDict[str, tuple[JsonValue, ...]] = FrozenDict()
    """Argument -> values with which alone the rule applies."""
    instead: Instead | None = None
    """The call that is allowed in the place of the forbidden one; None: nothing is."""
    first: Instead | None = None
    """The call with which the forbidden one is allowed, when it was made before it; None: it is
    not. A rule has `instead`, or `first`, or neither."""
    generated: bool = Field(default=False)
    """True: made from a compiled service's entities, by a template."""
