"""What a kind of record is taken to hold where its spec does not say.

Owns the words of an archetype. It is inferred knowledge of English nouns, never of one server: what
a spec says itself always wins.
"""

from __future__ import annotations

from enum import StrEnum

from components.records.base import Record
from components.records.blueprint import FieldType
from components.records.frozen import FrozenDict


class Found(StrEnum):
    """How a noun led to its archetype, most certain first."""

    DIRECT = "direct"
    """The noun has an archetype of its own."""
    ALIAS = "alias"
    """The noun is another word for one that has."""
    HEAD = "head"
    """A compound is taken for its head word (`sales_order` -> `order`)."""
    SUFFIX = "suffix"
    """One word ends with a known one (`minigame` -> `game`)."""
    FALLBACK = "fallback"
    """Nothing is known; the fields are those that most records have."""


class Shape(StrEnum):
    """What the rows of a table are."""

    RECORD = "record"
    """Things, each with a name or a key."""
    SERIES = "series"
    """Points of one measure over time."""
    STATISTICS = "statistics"
    """Counts and rates of a period."""
    SUMMARY = "summary"
    """A text or a state that sums up something else."""
    VALUE = "value"
    """One value: what asks for it is told that, and nothing about it."""


class FieldShape(Record):
    """One field that such a record usually has."""

    type: FieldType
    meaning: str
    """What its values mean, in the grammar of `meanings.parse_meaning` (`person.email`)."""
    nullable: bool = False
    enum: tuple[str, ...] | None = None


class Archetype(Record):
    """The usual form of a kind of record."""

    noun: str
    """Noun as asked for, singular snake_case."""
    name: str
    """Noun of the data files that it was resolved to."""
    found: Found
    why: str
    """One sentence for `show`."""
    shape: Shape = Shape.RECORD
    texts: str = "general"
    """Which bank of sentences its prose is drawn from."""
    title_field: str
    """Field that a person would call the row by."""
    key: str | None = None
    """Field that names a row by itself (a path, a symbol); None where only an id does."""
    fields: FrozenDict[str, FieldShape]
    """Usual fields, most telling first; an id is the caller's."""
    links: FrozenDict[str, str] = FrozenDict()
    """Field -> noun of the record that it points to.

    A field that is not in `fields` is worth having only where the service keeps that noun.
    """
    status_field: str | None = None
    lifecycle: tuple[str, ...] = ()
    """Values of the status field, first to last."""
    terminal: tuple[str, ...] = ()
    """Statuses that end the lifecycle."""
    sums: FrozenDict[str, str] = FrozenDict()
    """Numeric field -> `a + b`, `a - b` or `a * b` over other fields of the row."""
    order: tuple[tuple[str, ...], ...] = ()
    """Groups of numeric fields: none of one group is above any of the next."""
