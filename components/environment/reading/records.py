"""What a tool of a spec is taken for, before anything is built from it.

Owns the words of a reading: the tool's operation and class, the kind of record that it is about,
and what each parameter is for. A reading is inferred, so it says how sure it is and what decided.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.records.base import Record
from components.records.blueprint import FunctionalClass, Operation
from components.records.frozen import FrozenDict


class Role(StrEnum):
    """What a parameter is for."""

    IDENTIFIER = "identifier"
    """Picks the existing record that the tool acts on (one value, or a list of them)."""
    PARENT = "parent"
    """Picks the existing record under which the tool acts (the repository of an issue)."""
    REFERENCE = "reference"
    """Names another record; stored by a write, filtered by in a read."""
    QUERY = "query"
    """Free text that records are searched for."""
    LIMIT = "limit"
    """Largest number of records in the answer."""
    OFFSET = "offset"
    """Number of records to pass over."""
    PAGE = "page"
    """Number of a page."""
    CURSOR = "cursor"
    """Where the page before ended."""
    SORT_BY = "sort_by"
    """Field to sort by."""
    SORT_ORDER = "sort_order"
    """Direction of sorting."""
    FROM = "from"
    """Lower bound of a time or a number; in a read, of the records shown."""
    TO = "to"
    """Upper bound of a time or a number; in a read, of the records shown."""
    SELECT = "select"
    """Which fields of a record the answer shows, or what else it includes."""
    FORMAT = "format"
    """How the answer is written; changes nothing that it says."""
    AUTH = "auth"
    """Who asks: keys, tokens, accounts of the caller."""
    CONTROL = "control"
    """How the tool works: force, dry run, timeout, confirmation."""
    STATE = "state"
    """The state that a transition moves its record to."""
    CHANGES = "changes"
    """An object that holds the new values of an update, or a record as a whole."""
    BATCH = "batch"
    """A list of records to be written at once."""
    VALUE = "value"
    """A field's value: stored by a write, filtered by in a read, an input of a computation."""


class ToolReading(Record):
    """One tool as it was understood."""

    operation: Operation
    functional: FunctionalClass
    deterministic: bool
    """A typed state machine with seeded data, or a pure function, can do what it does."""
    entity: str | None
    """Kind of record that it is about, in singular snake_case; tools of one table say the same."""
    subject: str | None = None
    """Noun that its words are about, where no record is kept as well."""
    parent: str | None = None
    """append, detach, link: kind of record that it is added to, taken from or related to."""
    roles: FrozenDict[str, Role] = FrozenDict()
    """Parameter -> what it is for; every top-level parameter has one."""
    difficulty: int = Field(ge=1, le=5)
    """Of using it rightly: 1 trivial arguments, 3 an id to be found first, 5 a language."""
    confidence: float = Field(ge=0.0, le=1.0)
    """Of operation and determinism together."""
    why: tuple[str, ...] = ()
    """What decided, most important first, for `show`."""
