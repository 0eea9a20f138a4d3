"""Answers of compiled tools: in the shape of their output schema, or in a plain one.

Owns the filling of output schemas. What a schema requires and nothing explains quarantines the
tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from components.environment.compiler.params import Param, properties_of
from components.environment.compiler.tables import HIDDEN_KEY, Table, Unclear
from components.environment.compiler.words import singular, snake
from components.records.blueprint import QuarantineReason
from components.records.frozen import FrozenDict
from components.records.spec import ToolSpec

_SUCCESS = frozenset({"success", "ok", "done", "deleted", "updated", "created", "removed"})
_TOTALS = frozenset({"total", "count", "total_count", "num_results"})


@dataclass(slots=True, kw_only=True)
class Content:
    """What an answer can be made of."""

    table: Table
    row: str = ""
    """Reference to the tool's one row (`$found`); empty when it has none."""
    rows: dict[str, Any] = field(default_factory=dict)
    """Noun -> expression over whole rows, for each table that the answer may hold."""
    total: Any = None
    message: str = ""
    plain: Mapping[str, Any] = field(default_factory=dict)
    """The answer where no output schema says otherwise."""


def shape_answer(
    tool: ToolSpec, content: Content, tables: Mapping[str, Table]
) -> FrozenDict[str, Any]:
    """Return the result expression of a tool.

    Raises:
        Unclear: the output schema asks for something that the tool does not know.
    """
    output = tool.output_schema
    properties = properties_of(output, output) if output is not None else {}
    if not properties:
        return FrozenDict(content.plain)
    answer: dict[str, Any] = {}
    for name, param in sorted(properties.items()):
        value = _part(param, content, tables)
        if value is not None:
            answer[name] = value
        elif param.is_required:
            raise Unclear(
                f"its output schema requires {name!r}, which nothing in the spec explains",
                QuarantineReason.UNSUPPORTED_SCHEMA,
            )
    if not answer:
        raise Unclear("its output schema names nothing known", QuarantineReason.UNSUPPORTED_SCHEMA)
    return FrozenDict(answer)


def table_of_property(param: Param, tables: Mapping[str, Table]) -> Table | None:
    """Return the table whose rows an array property of an output schema holds."""
    if param.type != "array":
        return None
    table = tables.get(singular(snake(param.name)))
    names = set(param.item_properties)
    return table if table is not None and names and names <= set(table.fields) else None


def _part(param: Param, content: Content, tables: Mapping[str, Table]) -> Any:
    word, own = snake(param.name), content.table
    if param.type == "array":
        table = table_of_property(param, tables)
        if table is None and own.noun in content.rows and _fits(param.item_properties, own):
            table = own
        if table is None or table.noun not in content.rows:
            return _own_field(param, content)
        picked = _pick("$element", param.item_properties, table)
        return {"@each": [content.rows[table.noun], picked]}
    if param.type == "object" and content.row and _fits(param.properties, own):
        return _pick(content.row, param.properties, own)
    if param.type == "boolean" and word in _SUCCESS:
        return True
    if param.type == "string" and word == "message" and content.message:
        return content.message
    if param.type in ("integer", "number") and word in _TOTALS:
        return content.total
    return _own_field(param, content)


def _own_field(param: Param, content: Content) -> Any:
    body = content.table.fields.get(param.name)
    if not content.row or body is None or (body.nullable and not param.is_nullable):
        return None
    return f"{content.row}.{param.name}"


def _fits(properties: Mapping[str, Param], table: Table) -> bool:
    required = {name for name, item in properties.items() if item.is_required}
    return (
        bool(properties)
        and required <= set(table.fields)
        and bool(set(properties) & set(table.fields))
    )


def _pick(row: str, properties: Mapping[str, Param], table: Table) -> Any:
    names: list[str] = []
    for name, item in sorted(properties.items()):
        body = table.fields.get(name)
        is_there = body is not None and name != HIDDEN_KEY
        if is_there and body is not None and (item.is_nullable or not body.nullable):
            names.append(name)
        elif item.is_required:
            raise Unclear(
                f"its output schema requires {name!r} of each {table.noun}, which may be missing",
                QuarantineReason.UNSUPPORTED_SCHEMA,
            )
    return {"@pick": [row, names]}
