"""Objects that hold the fields of a row: `data`, `properties`, `changes`, `<noun>_data`.

Owns that what such an object names reaches the columns of the row, where its schema does not say
what it holds. What no column means is kept in a column of the object's own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from components.environment.compiler.inputs import (
    Input,
    Tool,
    holds_fields,
    is_payload,
    item_inputs,
    words_of,
)
from components.environment.compiler.table import Column, Table, Tables
from components.environment.names import snake
from components.environment.params import Param
from components.environment.reading.records import Role
from components.records.blueprint import Check, FieldType, Operation, ToolBlueprint
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict

_MANY = 3
"""Columns with which a table says enough without what callers make up."""
_UNTYPED = (FieldType.JSON,)


def settle_rests(tools: Iterable[Tool], tables: Tables) -> None:
    """Rows of the seed hold nothing in the column of an object that only brings new values."""
    for tool in tools:
        table = tables.get(tool.reading.entity or "")
        item = None if table is None else _free(tool)
        column = None if table is None or item is None else table.columns.get(item.param.name)
        if table is None or item is None or column is None or item.word == table.noun:
            continue
        is_own = item.word in words_of("own_payloads") or not column.body.nullable
        if not is_own and len(list(_columns(tool, item, table))) >= _MANY:
            column.is_rest = True


def with_fields(tool: Tool, tables: Tables) -> Tool:
    """Return a tool with an input for each column that its object of fields may name."""
    table = tables.get(tool.reading.entity or "")
    if table is None:
        return tool
    batch = tool.first(Role.BATCH)
    if batch is not None:
        return _with_element_fields(tool, batch, table)
    item = _free(tool)
    columns = [] if item is None else list(_columns(tool, item, table))
    if item is None or not columns:
        return tool
    whole = replace(item, parts=tuple(column.name for column in columns))
    parts = [
        Input(param=_param(column), role=Role.VALUE, path=(*item.path, column.name))
        for column in columns
    ]
    others = [whole if other is item else other for other in tool.inputs]
    return replace(tool, inputs=(*others, *parts))


def _with_element_fields(tool: Tool, batch: Input, table: Table) -> Tool:
    """The same for the elements of a list, of which each may hold such an object."""
    items = item_inputs(batch)
    taken = {table.find(param.word) for param in (*items.values(), *(i.param for i in tool.data))}
    found = {
        f"{name}.{column.name}": _param(column)
        for name, param in items.items()
        if "." not in name and is_payload(param) and not param.properties
        for column in _fillable(table)
        if column.name not in taken
    }
    whole = replace(batch, of_elements=FrozenDict(found))
    inputs = tuple(whole if item is batch else item for item in tool.inputs)
    return replace(tool, inputs=inputs) if found else tool


def _free(tool: Tool) -> Input | None:
    """Return the input of a write that holds fields which its schema does not name, or None."""
    found = [
        item
        for item in tool.inputs
        if item.role in (Role.VALUE, Role.CHANGES)
        and holds_fields(item.param, tool.reading)
        and not item.param.properties
    ]
    return found[0] if len(found) == 1 else None


def _columns(tool: Tool, item: Input, table: Table) -> Iterator[Column]:
    """Yield the columns that an object may name: those that no other input of its tool gives."""
    taken = {table.find(other.word) for other in tool.inputs}
    is_new = tool.reading.operation is not Operation.UPDATE
    for column in _fillable(table):
        is_name = column.name in table.names and not is_new
        if column.name not in taken and not is_name and column.name != item.param.name:
            yield column


def _fillable(table: Table) -> Iterator[Column]:
    """Yield the columns that a caller may give a value."""
    for name, column in sorted(table.columns.items()):
        if name != table.key and not column.body.generated and not column.is_rest:
            yield column


def _param(column: Column) -> Param:
    kind = column.body.type
    is_text = kind in (FieldType.STRING, FieldType.TIMESTAMP)
    told = "string" if is_text else "" if kind in _UNTYPED else kind.value
    return Param(
        name=column.name,
        word=snake(column.name),
        type=told,
        schema=FrozenDict(),
        document=FrozenDict(),
        is_required=False,
    )


def _fits(value: str, name: str, table: Table) -> Any:
    kind = table.columns[name].body.type
    return kind in _UNTYPED or {"@or": [{"@is_null": value}, {"@is": [value, kind.value]}]}


def fitting(blueprint: ToolBlueprint, tool: Tool, tables: Tables) -> ToolBlueprint:
    """Return a write that refuses values which the columns that its object names cannot hold."""
    table = tables.get(blueprint.entity or "")
    whole = next((item for item in tool.inputs if item.parts or item.of_elements), None)
    if table is None or whole is None or not blueprint.effects:
        return blueprint
    holds: Any
    if whole.parts:
        holds = {"@and": [_fits(f"{whole.ref}.{name}", name, table) for name in whole.parts]}
    else:
        fits = [
            _fits(f"$element.{path}", path.rpartition(".")[2], table) for path in whole.of_elements
        ]
        holds = {"@is_null": {"@find": [whole.ref, {"@not": {"@and": fits}}]}}
    check = Check(
        holds=holds,
        code=ErrorCode.INVALID_ARGUMENTS,
        message=f"{whole.param.name} holds a value of another type than its field",
    )
    return blueprint.model_copy(
        update={"checks": FrozenDict({"fields_fit": check, **blueprint.checks})}
    )
