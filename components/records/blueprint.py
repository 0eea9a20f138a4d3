"""The declarative form of a service. Data only: one engine interprets it, a JSON Patch repairs it.

Everything that can be addressed is keyed by name. Expressions are JSON values of the language in
`components.environment.expressions`; they are checked when a blueprint is compiled.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.records.base import Record
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, JsonObject
from components.records.spec import Expr


class FieldType(StrEnum):
    """Type of an entity's field. `timestamp` is `YYYY-MM-DDTHH:MM:SSZ`.

    `object` and `array` are free JSON; `json` is any value at all.
    """

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    ARRAY = "array"
    OBJECT = "object"
    JSON = "json"


class FunctionalClass(StrEnum):
    """What a tool does to state: reads it, writes it, or computes without it."""

    READ = "read"
    WRITE = "write"
    PROCESS = "process"


class Operation(StrEnum):
    """What a tool does, from a closed list."""

    CREATE = "create"
    GET = "get"
    LIST = "list"
    SEARCH = "search"
    UPDATE = "update"
    DELETE = "delete"
    TRANSITION = "transition"
    APPEND = "append"
    DETACH = "detach"
    LINK = "link"
    COMPUTE = "compute"
    EXTERNAL = "external"


class QuarantineReason(StrEnum):
    """Why a tool is not offered to the policy."""

    EXTERNAL = "external"
    UNCLEAR = "unclear"
    UNSUPPORTED_SCHEMA = "unsupported_schema"
    FAILED_SELF_TEST = "failed_self_test"
    FAILED_ADVERSARIAL = "failed_adversarial"
    FAILED_DOCUMENTATION = "failed_documentation"
    FAILED_STATE_LAW = "failed_state_law"


class FieldBlueprint(Record):
    """One field of an entity."""

    type: FieldType
    nullable: bool = False
    default: Expr = None
    """Literal used when a create sets no value; only for nullable or defaulted fields."""
    required: bool = True
    """False: a create may leave it out, and `default` is used."""
    enum: tuple[str, ...] | None = None
    link: str | None = None
    """`service.table` whose key this field holds, or `service.table.field`.

    None when it is no reference.
    """
    generated: bool = False
    """True for values the service makes itself (times, counters): never compared as given."""
    free_text: bool = False
    """True for prose: constrained only by the facts that it must hold."""


class EntityBlueprint(Record):
    """A table: rows of one kind, by key."""

    key: str = "id"
    """Field that holds the row's id."""
    prefix: str = "row"
    """Prefix of generated ids (`tkt` gives `tkt_7f3a91`); empty: they consist of digits."""
    generated_key: bool = True
    """False when the caller always gives the key itself (a path, an e-mail address); True: it is
    made where none is given.
    """
    title_field: str | None = None
    """Field that a person would call the row by (subject, name)."""
    fields: FrozenDict[str, FieldBlueprint]


class Lookup(Record):
    """A row that the tool needs; when it is missing the answer is `not_found`."""

    table: str
    field: str | None = None
    """Field to match; None means the table's key."""
    equals: Expr = None
    """Value of that field. Not read where `where` is given."""
    where: FrozenDict[str, Expr] = FrozenDict()
    """Named conditions over `$item`: the first row by key for which all hold. A condition that is
    null is ignored; where all are null, no row is found.
    """
    optional: bool = False
    """True: a missing row binds null instead of answering `not_found`."""


class Check(Record):
    """A domain rule that must hold before anything changes."""

    holds: Expr
    code: ErrorCode = ErrorCode.PRECONDITION_FAILED
    message: str


class Effect(Record):
    """One change that the tool asks for. All effects see the state before the call."""

    action: str = Field(pattern="^(create|update|delete)$")
    table: str
    target: str | None = None
    """update and delete: name of the lookup that gives the row. None with `where`.

    Every matching row.
    """
    where: Expr = None
    """update and delete of many: expression over `$item` that selects rows."""
    each: Expr = None
    """create only: a list; one row per element, bound as `$element`."""
    on_conflict: Expr = "refuse"
    """create only: what becomes of a row that is there already.

    An expression that gives `refuse` (the answer is `conflict`), `keep` (the row stays as it is) or
    `replace` (it takes the values of `fields`, in which `$item` is that row, null where it is new).
    """
    names: tuple[str, ...] = ()
    """create only: fields that together say which row is there already; none: the table's key."""
    when: Expr = True
    """The effect happens only when this holds."""
    fields: FrozenDict[str, Expr] = FrozenDict()
    """New values; `$item` is the row being updated.

    Fields not named keep their value (or default).
    """


class Query(Record):
    """A selection of rows for list and search tools; binds `$rows`, `$total`, `$next_cursor`."""

    table: str
    where: FrozenDict[str, Expr] = FrozenDict()
    """Named filters over `$item`; all must hold. A filter that is null is ignored."""
    sort_by: str | None = None
    """Field to sort by (ties by key); None sorts by key."""
    descending: bool = False
    sort_with: Expr = None
    """Gives the name of the field to sort by; null or another name leaves it to `sort_by`."""
    descending_with: Expr = None
    """Gives whether the order is turned round; null leaves it to `descending`."""
    limit: Expr = None
    """Largest number of rows in the answer; null: all."""
    offset: Expr = None
    """Number of rows to pass over before the first that is shown; null: none."""
    cursor: Expr = None
    """Key of the last row of the page before; null: from the start."""
    fields: tuple[str, ...] | None = None
    """Fields shown of each row; None shows all."""


class ToolBlueprint(Record):
    """How one tool works. Order: lookups, checks, effects, query, result."""

    operation: Operation
    functional: FunctionalClass
    entity: str | None = None
    """Main table."""
    difficulty: int = Field(default=2, ge=1, le=5)
    simulated: bool = False
    """True where the answer depends on a world that is not kept here and is drawn instead: it says
    so, changes no state, and no task is built on it.
    """
    lookups: FrozenDict[str, Lookup] = FrozenDict()
    checks: FrozenDict[str, Check] = FrozenDict()
    effects: FrozenDict[str, Effect] = FrozenDict()
    query: Query | None = None
    result: Expr = FrozenDict()
    """The answer's `data`.

    May name lookups (`$ticket`), effects (`$created` row after), `$rows`, `$args`.
    """


class Quarantine(Record):
    """Why a tool of the spec is not offered."""

    reason: QuarantineReason
    detail: str


class Blueprint(Record):
    """A service in declarative form."""

    schema_version: int = Field(default=1, ge=1, le=1)
    service: str
    entities: FrozenDict[str, EntityBlueprint]
    tools: FrozenDict[str, ToolBlueprint]
    quarantined: FrozenDict[str, Quarantine] = FrozenDict()
    inferred: bool = False
    """True when a compiler guessed it from names and schemas; shown as `inferred` in reports."""


Rows = FrozenDict[str, JsonObject]
"""Rows of one table by id, as JSON."""


class SeedData(Record):
    """The initial rows of a service, by table and id."""

    schema_version: int = Field(default=1, ge=1, le=1)
    service: str
    tables: FrozenDict[str, Rows]
