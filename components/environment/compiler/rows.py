"""How tools pick rows and show them: lookups, conditions, and the answer's shape.

Owns what reads and writes share. A condition on an argument that may be missing is null where it
is, which the engine ignores.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from components.environment.compiler.inputs import Input, Tool, item_inputs
from components.environment.compiler.links import parent_link
from components.environment.compiler.observed import observed_text, said_back
from components.environment.compiler.table import (
    CURRENT,
    ROW_KEY,
    Table,
    Tables,
    Unclear,
    add_param,
)
from components.environment.names import is_id_of, plural, singular, snake
from components.environment.params import (
    Param,
    is_storable,
    properties_of,
    singular_word,
)
from components.environment.reading.records import Role
from components.environment.seeds.sample_values import SchemaSampler
from components.records.blueprint import FieldType, FunctionalClass, Lookup, Operation
from components.records.frozen import FrozenDict, freeze
from components.records.spec import ToolSpec

_NUMBERS = (FieldType.INTEGER, FieldType.NUMBER)
_SUCCESS = frozenset({"success", "ok", "done", "deleted", "updated", "created", "removed"})
_TOTALS = frozenset({"total", "count", "total_count", "num_results", "total_results"})


def key_expression(table: Table, row: str) -> str:
    """Return the reference of what other tables link to a row by."""
    return f"{row}.{table.key if table.key != ROW_KEY else table.names[0]}"


def column_of(item: Input, table: Table) -> str | None:
    """Return the column that an identifier or a parent's identifier is compared with."""
    word = singular_word(item.param) if item.is_list else item.word
    found = table.find(word)
    if found is None and item.role is Role.IDENTIFIER and not table.columns.get(item.word):
        found = table.find(word.rpartition("_")[2]) if "_" in word else None
    return found


def fits(item: Input, kind: FieldType) -> bool:
    """True where values of an input can equal values of a column's type."""
    if kind in _NUMBERS:
        return item.kind in ("integer", "number")
    if kind is FieldType.BOOLEAN:
        return item.kind == "boolean"
    if item.kind == "" and item.role in (Role.IDENTIFIER, Role.PARENT):
        return kind is FieldType.STRING  # a name that may be sent as a number as well
    return item.kind == "string" and kind in (FieldType.STRING, FieldType.TIMESTAMP)


def if_given(item: Input, condition: Any) -> Any:
    """Return a condition that says nothing where the caller gave no value."""
    if item.is_always_given:
        return condition
    return {"@if": [{"@is_null": item.ref}, None, condition]}


def is_equal(item: Input, column: str) -> Any:
    """Return the condition that an input names a row by a column (one value, or one of a list)."""
    operation = "@in" if item.is_list else "@eq"
    return {operation: [f"$item.{column}", value_of(item)]}


def value_of(item: Input) -> Any:
    """Return the expression of an identifier's value, in the type of the column that it fits."""
    return item.ref if item.kind or item.is_list else {"@text": item.ref}


def named_by_elements(item: Input, table: Table) -> str | None:
    """Return the property by which each element of a list of objects names a row, or None."""
    if not item.is_list:
        return None
    return next(
        (
            name
            for name, param in sorted(item_inputs(item).items())
            if param.type == "string" and table.find(param.word) == table.names[0]
        ),
        None,
    )


@dataclass(slots=True, kw_only=True)
class Picked:
    """How a tool's identifiers pick rows of one table."""

    table: Table
    conditions: dict[str, Any] = field(default_factory=dict)
    """Over `$item`; those of optional arguments may be null."""
    inputs: list[Input] = field(default_factory=list)
    is_many: bool = False
    """A list of identifiers picks any number of rows."""
    may_be_the_first: bool = False
    """Where nothing names a row, the first one stands for the current one."""

    def lookup(self) -> Lookup:
        """Return the lookup of the one row.

        Raises:
            Unclear: no argument names a row of a table that holds several.
        """
        if not self.conditions:
            if self.table.is_single or self.may_be_the_first:
                return Lookup(
                    table=self.table.noun, where=FrozenDict({"the_one": is_the_one(self.table)})
                )
            raise Unclear(f"no argument says which {self.table.noun}")
        if len(self.conditions) == 1 and self.inputs[0].is_always_given:
            (item,) = self.inputs
            column = column_of(item, self.table)
            name = None if column == self.table.key else column
            return Lookup(table=self.table.noun, field=name, equals=value_of(item))
        return Lookup(table=self.table.noun, where=FrozenDict(self.conditions))

    @property
    def where(self) -> Any:
        """One expression over `$item` for all rows that are picked."""
        parts = [
            condition if item.is_always_given else {"@coalesce": [condition, True]}
            for item, condition in zip(self.inputs, self.conditions.values(), strict=True)
        ]
        return parts[0] if len(parts) == 1 else {"@and": parts}


def is_the_one(table: Table) -> Any:
    """Return the condition of the row that is meant where nothing names one: the current one where
    tools say which that is, otherwise the first.
    """
    if CURRENT not in table.columns:
        return True
    marked = {"@eq": [f"$item.{CURRENT}", True]}
    count = {"@count": {"table": table.noun, "where": marked}}
    return {"@or": [marked, {"@eq": [count, 0]}]}


def pick(table: Table, inputs: Iterable[Input]) -> Picked:
    """Return how inputs pick rows of a table; one that fits no column picks nothing."""
    picked = Picked(table=table)
    for item in inputs:
        own = named_by_elements(item, table)
        column = table.names[0] if own else column_of(item, table)
        if column is None or not (own or fits(item, table.columns[column].body.type)):
            continue
        label = f"by_{snake(column)}"
        if label in picked.conditions:
            continue
        condition = is_equal(item, column)
        if own:
            named = {"@each": [item.ref, f"$element.{own}"]}
            condition = {"@in": [f"$item.{column}", named]}
        picked.conditions[label] = if_given(item, condition)
        picked.inputs.append(item)
        picked.is_many |= item.is_list
    return picked


def own_identifiers(tool: Tool) -> tuple[Input, ...]:
    """Return the inputs that pick the row that a tool acts on."""
    return tool.of(Role.IDENTIFIER, Role.PARENT)


def shown_row(table: Table, row: str) -> Any:
    """Return the expression of a row as answers show it."""
    return row if table.key != ROW_KEY else {"@pick": [row, list(table.shown)]}


def shown_rows(table: Table, rows: Any) -> Any:
    """Return the expression of rows as answers show them."""
    return rows if table.key != ROW_KEY else {"@each": [rows, shown_row(table, "$element")]}


def with_children(table: Table, tables: Tables, row: str) -> Any:
    """Return the expression of a row together with the rows that were added to it."""
    children = [other for other in tables.values() if other.parent == table.noun]
    if not children:
        return shown_row(table, row)
    whole: dict[str, Any] = {name: f"{row}.{name}" for name in table.shown}
    for child in children:
        link = parent_link(child, table)
        name = plural(child.noun)
        if link is None or name in whole:
            continue
        where = {"@eq": [f"$item.{link}", key_expression(table, row)]}
        whole[name] = shown_rows(child, {"@rows": {"table": child.noun, "where": where}})
    return whole


@dataclass(slots=True, kw_only=True)
class Content:
    """What an answer can be made of."""

    table: Table
    plain: dict[str, Any]
    """The answer where no output schema says otherwise."""
    row: str = ""
    """Reference of the tool's one row; empty when it has none."""
    rows: Any = None
    """Expression of the tool's rows; null when it has none."""
    total: Any = None
    message: str = ""
    is_filtered: bool = False
    """`rows` are some of the table: of other tables, the rows that link to them are shown."""


def answer_of(tool: Tool, content: Content, tables: Tables) -> FrozenDict[str, Any]:
    """Return the result expression: in the shape of the output schema where there is one.

    One text that nothing explains is the answer as JSON. Whatever else a schema requires and
    nothing explains is a value drawn from it, the same for every call.
    """
    output = tool.spec.output_schema
    properties = properties_of(output, output) if output is not None else {}
    if not properties:
        return FrozenDict(content.plain)
    if len(properties) == 1 and (only := next(iter(properties.values()))).type == "string":
        text = observed_text(tool, content.table, content.row, content.rows)
        if text is not None:
            return FrozenDict({only.name: text})
    if (wrapped := wrapped_result(tool.spec)) is not None:
        value = _whole(wrapped, content)
        return FrozenDict({wrapped.name: content.plain if value is None else value})
    answer = {
        name: value
        for name, param in sorted(properties.items())
        if (value := _part(param, content, tables)) is not None
    }
    answer |= said_back(tool, properties)
    sampler = SchemaSampler(output or {}, random.Random(tool.name))
    for name, param in sorted(properties.items()):
        if name in answer or not param.is_required:
            continue
        is_whole = len(properties) == 1 and param.type == "string"
        drawn = {"@lit": freeze(sampler.value(param.schema))}
        answer[name] = {"@json": content.plain} if is_whole else drawn
    return FrozenDict(answer or content.plain)


def wrapped_result(spec: ToolSpec) -> Param | None:
    """Return the property of an output schema that holds the whole answer, or None.

    SDKs make such schemas of a function's return type: `{"result": ...}`.
    """
    output = spec.output_schema
    properties = properties_of(output, output) if output is not None else {}
    return properties.get("result") if set(properties) == {"result"} else None


def _whole(param: Param, content: Content) -> Any:
    """Return the whole answer in a wrapper's type; None where the type leaves it open."""
    table = content.table
    if param.type == "array":
        rows = [content.row] if content.rows is None and content.row else content.rows
        own = param.item_properties
        shape = _picked("$element", own, table) if own else shown_row(table, "$element")
        return None if rows is None else {"@each": [rows, shape]}
    if param.type == "object":
        return _picked(content.row, param.properties, table) if content.row else None
    if param.type == "boolean":
        return True
    if param.type in ("integer", "number"):
        return content.total if content.total is not None else 1
    if param.type == "string":
        return content.message or {"@json": content.plain}
    return None


def _part(param: Param, content: Content, tables: Tables) -> Any:
    word, table = param.word, content.table
    if param.type == "array" and param.item_properties:
        named = tables.get(singular(word))
        if content.rows is not None and (named is None or named is table):
            return {"@each": [content.rows, _picked("$element", param.item_properties, table)]}
        if named is not None:
            rows = {"@rows": {"table": named.noun, "where": _linked(named, content)}}
            return {"@each": [rows, _picked("$element", param.item_properties, named)]}
    if param.type == "object" and param.properties and content.row:
        return _picked(content.row, param.properties, table)
    if param.type == "boolean" and word in _SUCCESS:
        return True
    if param.type == "string" and word == "message" and content.message:
        return content.message
    if param.type in ("integer", "number") and word in _TOTALS and content.total is not None:
        return content.total
    name = table.find(word) if content.row else None
    return f"{content.row}.{name}" if name is not None else None


def _linked(other: Table, content: Content) -> Any:
    """Return the condition that a row of another table links to one of the rows that are shown."""
    links = [name for name, noun in sorted(other.links.items()) if noun == content.table.noun]
    if not content.is_filtered or not links:
        return True
    keys = {"@each": ["$rows", key_expression(content.table, "$element")]}
    return {"@or": [{"@in": [f"$item.{name}", keys]} for name in links]}


def _picked(row: str, properties: dict[str, Param], table: Table) -> Any:
    found: dict[str, Any] = {}
    for name, param in sorted(properties.items()):
        column = table.find(param.word)
        if column is not None:
            found[name] = f"{row}.{column}"
    return found or shown_row(table, row)


def told_by_output(tool: Tool, tools: Mapping[str, Tool]) -> Tool:
    """Return a read with the entity, and the operation, that its output schema shows.

    Lists of records that other tools make are what it is about, whatever its name calls them.
    """
    output, reading = tool.spec.output_schema, tool.reading
    if output is None or reading.functional is not FunctionalClass.READ:
        return tool
    made = {
        other.reading.entity
        for other in tools.values()
        if other.reading.operation in (Operation.CREATE, Operation.LINK)
    }
    shown = [
        singular(snake(name))
        for name, param in properties_of(output, output).items()
        if param.item_properties
    ]
    known = [noun for noun in shown if noun in made]
    if not known or reading.entity in made:
        return tool
    is_one = reading.operation is Operation.GET
    operation = Operation.LIST if is_one else reading.operation
    update = {"entity": known[0], "operation": operation}
    return replace(tool, reading=reading.model_copy(update=update))


def add_output_columns(tools: Iterable[Tool], tables: dict[str, Table]) -> None:
    """A read that lists an output schema says what its rows hold."""
    for tool in sorted(tools, key=lambda tool: tool.name):
        output, table = tool.spec.output_schema, tables.get(tool.reading.entity or "")
        is_read = tool.reading.functional is FunctionalClass.READ
        if output is None or table is None or not (is_read and tool.spec.lists_output):
            continue
        for name, param in properties_of(output, output).items():
            inner = param.item_properties if param.type == "array" else param.properties
            named = tables.get(singular(snake(name)), table)
            for field_name, part in inner.items():
                if is_storable(field_name) and part.type and named.find(part.word) is None:
                    add_param(named, field_name, part, f"shown by {tool.name}")


def refers_to(item: Input, noun: str) -> bool:
    """True where an input is called by a noun's id or by the noun itself."""
    word = singular_word(item.param) if item.is_list else item.word
    last = noun.rpartition("_")[2]
    return word in (noun, last) or (word not in ("id", "uuid", "gid") and is_id_of(word, noun))
