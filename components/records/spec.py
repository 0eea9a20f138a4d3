"""A server's tools as MCP's `tools/list` gives them, and the rules that its documentation writes
down.

Nobody owns a spec: no patch and no fault may touch it. Services, harness and gates read tool names
and parameter schemas from here and keep no copy. `rules`, `effects` and `returns` are sentences
with a checkable form; where `complete` is false, their silence is no evidence.
"""

from __future__ import annotations

from pydantic import Field

from components.records.base import Record
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, JsonObject, JsonValue

Expr = JsonValue
"""An expression of `components.environment.expressions`.

A JSON value, checked when it is compiled.
"""


class RowRef(Record):
    """Names one row: the row of `table` whose `field` equals the value of `equals`."""

    table: str
    """Table of the tool's own service."""
    field: str | None = None
    """Field to compare; None means the table's key."""
    equals: Expr
    """Expression over `$args` that gives the value."""


class WrittenRule(Record):
    """One precondition from the documentation, with the error that answers a breach."""

    text: str
    """The sentence as a reader of the documentation finds it."""
    rows: FrozenDict[str, RowRef] = FrozenDict()
    """Rows that the condition speaks of, by name; a missing row is answered with `not_found`."""
    requires: Expr = True
    """Must be true over `$args`, `$now` and the named rows before the call."""
    code: ErrorCode = ErrorCode.PRECONDITION_FAILED
    """Error code of the answer when the condition does not hold."""


class WrittenEffect(Record):
    """One effect from the documentation: what the tool itself changes when it succeeds."""

    text: str
    """The sentence as a reader of the documentation finds it."""
    action: str
    """`create`, `update` or `delete`."""
    table: str
    """Table of the tool's own service."""
    row: RowRef | None = None
    """Which row is updated or deleted; None for a create."""
    when: Expr = True
    """The effect happens only when this holds (an optional argument was given, say)."""
    fields: FrozenDict[str, Expr] = FrozenDict()
    """Values after the call, over `$args`, `$now`, `$row` (the named row before the call)."""


class WrittenReturn(Record):
    """What the documentation says of an answer: which rows it holds, under which key."""

    text: str
    """The sentence as a reader of the documentation finds it."""
    key: str
    """Key of the answer's `data` that holds the row or rows."""
    table: str
    """Table of the tool's own service."""
    row: RowRef | None = None
    """One row (state after the call), or None when `where` selects many."""
    where: FrozenDict[str, Expr] = FrozenDict()
    """Named filters over `$item`, `$args`, `$now`; all of them must hold."""
    limited: bool = False
    """True when the answer may hold fewer rows than the filters select (paging)."""


class Observed(Record):
    """What recorded calls of the real server show of a tool, beyond what its listing says."""

    num_calls: int = Field(ge=0)
    """Recorded calls that it answered with success; 0: all is learned from the server's other
    tools.
    """
    has_schema: bool = False
    """True where the tool's output schema was observed, not listed: a likeness, no promise."""
    says: Expr = None
    """The text that it acknowledges a write with, over `$args`; null: none that is always said."""
    text_of: str = ""
    """The field whose value is its whole text (`content`); empty: none."""
    hides: tuple[str, ...] = ()
    """Fields that were written before and that none of its answers showed."""
    echoes: FrozenDict[str, str] = FrozenDict()
    """Property of its answers -> argument that it always equals."""
    examples: FrozenDict[str, tuple[JsonValue, ...]] = FrozenDict()
    """Argument -> values that it took."""
    again: FrozenDict[str, str] = FrozenDict()
    """Argument -> what a second call with the same value did to the row: `keep`, `replace` or
    `refuse`.
    """


class ToolSpec(Record):
    """One tool as MCP lists it, plus what its documentation writes about it."""

    name: str
    description: str = ""
    input_schema: JsonObject = FrozenDict({"type": "object"})
    """JSON Schema of the arguments."""
    output_schema: JsonObject | None = None
    """JSON Schema of the structured answer; None where the server gives none (nearly always) and
    nothing was observed.
    """
    observed: Observed | None = None
    """What recordings show; None: there are none of this tool."""
    annotations: JsonObject = FrozenDict()
    """MCP's hints (`readOnlyHint`, ...); untrusted."""
    rules: FrozenDict[str, WrittenRule] = FrozenDict()
    effects: FrozenDict[str, WrittenEffect] = FrozenDict()
    returns: FrozenDict[str, WrittenReturn] = FrozenDict()
    complete: bool = False
    """True when rules and effects say everything, so that silence means `nothing else`."""

    @property
    def lists_output(self) -> bool:
        """True where the listing itself says what the tool answers."""
        is_observed = self.observed is not None and self.observed.has_schema
        return self.output_schema is not None and not is_observed


class ServiceSpec(Record):
    """A server's tools, by name, with where they came from."""

    schema_version: int = Field(default=1, ge=1, le=1)
    service: str
    """Name of the service, `[a-z][a-z0-9_]*`."""
    title: str = ""
    domain: str = "general"
    """Domain for `task.domains` (support, people, communication, ...)."""
    description: str = ""
    source: str = "builtin"
    """Where the spec came from: `builtin`, `stdio:<server>`, `http:<server>`, `file:<name>`."""
    tools: FrozenDict[str, ToolSpec]
