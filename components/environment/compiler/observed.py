"""What recordings add to compiled tools: texts that say what the real ones say, and columns.

Owns the use of `ToolSpec.observed`. Where it is missing, nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from components.environment.archetypes.field_meaning import meaning_of
from components.environment.compiler.inputs import Tool
from components.environment.compiler.table import Table, Tables, add_param
from components.environment.examples import MOST
from components.environment.names import singular, snake
from components.environment.params import Param, is_storable, properties_of
from components.records.blueprint import FieldType, FunctionalClass, Operation

_MAKES = frozenset({Operation.CREATE, Operation.APPEND, Operation.LINK})
_STAMPS = ("time.created", "time.updated")
_ABOUT_THE_CALL = frozenset(
    {"success", "ok", "status_code", "message", "result", "total", "count", "total_count",
     "next_cursor", "has_more", "error", "warning", "warnings"}
)  # fmt: skip
"""Words of properties that tell how a call went, not what a row holds."""


def observed_text(tool: Tool, table: Table, row: str, rows: Any) -> Any:
    """Return the expression of an answer that is one text, as the real one was seen to make it;
    None where nothing is known of that.

    Args:
        tool: with an output schema of one text.
        table: of the rows that it shows.
        row, rows: reference of its one row (empty: none), expression of its rows (null: none).
    """
    observed = tool.spec.observed
    if observed is None:
        return None
    if tool.reading.functional is FunctionalClass.WRITE:
        return observed.says
    own = table.find(snake(observed.text_of)) if observed.text_of and row else None
    if own is not None:
        return {"@text": f"{row}.{own}"}
    hidden = {table.find(snake(name)) for name in observed.hides}
    shown = [name for name in table.shown if name not in hidden]
    if len(shown) in (0, len(table.shown)):
        return None
    if row:
        return {"@json": {"@pick": [row, shown]}}
    return None if rows is None else {"@json": {"@each": [rows, {"@pick": ["$element", shown]}]}}


def said_back(tool: Tool, properties: Mapping[str, Param]) -> dict[str, Any]:
    """Return the properties of an answer that repeat an argument, with what they are."""
    observed = tool.spec.observed
    given = {item.param.name: item for item in tool.inputs if item.is_always_given}
    pairs = {} if observed is None else observed.echoes
    return {
        name: given[argument].ref
        for name, argument in sorted(pairs.items())
        if name in properties and argument in given
    }


def add_observed_columns(tools: Iterable[Tool], tables: dict[str, Table]) -> None:
    """Give tables the columns that observed answers show, and all columns the values that were
    seen in them.
    """
    for tool in sorted(tools, key=lambda tool: tool.name):
        observed, table = tool.spec.observed, tables.get(tool.reading.entity or "")
        if observed is None or table is None:
            continue
        for owner, param in _fields(tool, table, tables):
            column = owner.find(param.word)
            if column is not None:
                _add_examples(owner, column, param.schema.get("examples") or ())
                if observed.has_schema and tool.reading.operation in _MAKES:
                    _fill(owner, column, param)
            elif observed.has_schema and param.type and is_storable(param.name):
                _add_column(owner, param, f"observed of {tool.name}")
        for name, values in sorted(observed.examples.items()):
            column = table.find(snake(name))
            if column is not None:
                _add_examples(
                    table, column, (v for v in values if isinstance(v, (str, int, float)))
                )


def _fields(tool: Tool, table: Table, tables: Tables) -> Iterator[tuple[Table, Param]]:
    """Yield the properties of an output schema that rows hold, each with the table of its rows."""
    output = tool.spec.output_schema
    properties = {} if output is None else properties_of(output, output)
    for name, param in properties.items():
        inner = param.item_properties if param.type == "array" else param.properties
        owner = tables.get(singular(snake(name)), table)
        for part in inner.values():
            yield owner, part
    is_flat = not any(param.type in ("array", "object") for param in properties.values())
    if is_flat:
        for param in properties.values():
            if param.word not in _ABOUT_THE_CALL:
                yield table, param


def _add_column(table: Table, param: Param, source: str) -> None:
    """Add a column that the service fills itself: in a new row it holds what it was seen to hold,
    or the time.
    """
    known = set(table.columns)
    add_param(table, param.name, param, source)
    (name,) = set(table.columns) - known
    column = table.columns[name]
    meaning = meaning_of(param.word, param.type, param.schema)
    if meaning in _STAMPS and param.type == "string":
        column.meaning = meaning
        body = {"type": FieldType.TIMESTAMP, "generated": True}
        column.schema, column.examples = {}, ()
    else:
        usual = _usual(param)
        is_always = param.is_required and not param.is_nullable and usual is not None
        body = {"default": usual, "nullable": not is_always}
    column.body = column.body.model_copy(update=body)


def _fill(table: Table, name: str, param: Param) -> None:
    """Give a new row a value where the real server was always seen to have one."""
    column = table.columns[name]
    is_own = name not in table.names and name not in table.links
    is_always = param.is_required and not param.is_nullable
    if is_own and is_always and column.body.default is None and param.type == column.body.type:
        column.body = column.body.model_copy(update={"default": _usual(param)})


def _usual(param: Param) -> Any:
    if param.type == "array":
        return ()
    values = param.schema.get("examples") or ()
    return values[0] if values else (False if param.type == "boolean" else None)


def _add_examples(table: Table, name: str, values: Iterable[str | int | float]) -> None:
    column = table.columns[name]
    kinds: tuple[type, ...] = {
        FieldType.STRING: (str,),
        FieldType.INTEGER: (int,),
        FieldType.NUMBER: (int, float),
    }.get(column.body.type, ())
    fitting = [value for value in values if isinstance(value, kinds)]
    if "enum" not in column.schema:
        column.examples = tuple(dict.fromkeys((*fitting, *column.examples)))[:MOST]
