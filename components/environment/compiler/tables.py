"""Tables of a compiled service: which there are, and what their rows hold.

Owns the inference of entities from readings. Every tool on a kind of record adds to one table: what
it writes, what it filters by, and how it names a row. Fields that no tool speaks of come from the
archetype of the noun, and are marked inferred by the service as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from components.environment.archetypes.context import in_context
from components.environment.compiler.asks import says_how
from components.environment.compiler.inputs import (
    Input,
    Tool,
    item_inputs,
    style_of,
    styled,
    words_of,
)
from components.environment.compiler.keys import settle_key
from components.environment.compiler.links import settle_links
from components.environment.compiler.table import (
    ON_PARENT,
    RENAMES,
    TYPES,
    Column,
    Table,
    add_input,
    add_param,
    subject,
)
from components.environment.names import is_id_of, singular
from components.environment.params import Param
from components.environment.reading.records import Role
from components.records.blueprint import (
    FieldBlueprint,
    FieldType,
    Operation,
)
from components.records.frozen import FrozenDict


def find_tables(tools: Iterable[Tool], spoken: frozenset[str] = frozenset()) -> dict[str, Table]:
    """Return the tables that tools speak of, with their keys, columns and links.

    Args:
        tools: of one service.
        spoken: words that the service uses; they say which sense a noun has.
    """
    everyone = sorted(tools, key=lambda tool: tool.name)
    tables: dict[str, Table] = {}
    for tool in everyone:
        for noun in (tool.reading.entity, tool.reading.parent):
            if noun:
                tables.setdefault(noun, Table(noun=noun, usual=in_context(noun, spoken)))
    for table in tables.values():
        settle_key(table, [tool for tool in everyone if subject(tool) == table.noun], everyone)
    for tool in everyone:
        noun, parent = tool.reading.entity, tool.reading.parent
        if noun and tool.reading.operation is Operation.APPEND and parent and parent != noun:
            tables[noun].parent = parent
    wrapping = {
        (tool.reading.entity, item.path[0])
        for tool in everyone
        for item in tool.inputs
        if len(item.path) > 1
    }
    for tool in sorted(everyone, key=_makers_first):
        if tool.reading.entity:
            own = [i for i in tool.data if (tool.reading.entity, i.param.name) not in wrapping]
            _add_columns(tool, own, tables)
    for tool in everyone:
        noun = tool.reading.entity
        if noun and tool.reading.operation is Operation.LINK and tool.first(Role.BATCH):
            tables[noun].relates = True
    for table in tables.values():
        _settle_required(table, [tool for tool in everyone if tool.reading.entity == table.noun])
    settle_links(tables)
    return tables


_MANY = frozenset({Operation.CREATE, Operation.LIST, Operation.SEARCH, Operation.DELETE})


def settings_of(tools: Iterable[Tool]) -> frozenset[str]:
    """Return the nouns of which there is one: tools set it, and none makes, lists or removes it."""
    by_noun: dict[str, list[Tool]] = {}
    for tool in tools:
        by_noun.setdefault(tool.reading.entity or "", []).append(tool)
    return frozenset(
        noun
        for noun, group in by_noun.items()
        if not any(tool.reading.operation in _MANY | ON_PARENT for tool in group)
        and any(_only_names(tool) for tool in group)
    )


def _only_names(tool: Tool) -> bool:
    data = [item for item in tool.data if item.role is not Role.PARENT]
    is_update = tool.reading.operation is Operation.UPDATE
    return is_update and bool(data) and all(item.role is Role.IDENTIFIER for item in data)


def _makers_first(tool: Tool) -> tuple[int, str]:
    order = {Operation.CREATE: 0, Operation.APPEND: 1, Operation.UPDATE: 2}
    return order.get(tool.reading.operation, 3), tool.name


def _add_columns(tool: Tool, inputs: list[Input], tables: dict[str, Table]) -> None:
    """Add the columns that a tool speaks of (`inputs`: without the objects that hold columns)."""
    table = tables[tool.reading.entity or ""]
    operation = tool.reading.operation
    is_write = operation not in (Operation.GET, Operation.LIST, Operation.SEARCH)
    batch = tool.first(Role.BATCH)
    if is_write and batch is not None:
        for name, param in item_inputs(batch).items():
            if table.find(param.word) is None:
                add_param(table, name.rpartition(".")[2], param, f"stored by {tool.name}")
        if (
            not item_inputs(batch)
            and batch.kind == "object"
            and not table.find(singular(batch.word))
        ):
            name = singular(batch.word)
            body = FieldBlueprint(type=FieldType.OBJECT, nullable=True, required=False)
            table.columns[name] = Column(name=name, body=body, source=f"stored by {tool.name}")
    if operation is Operation.GET:
        for item in tool.of(Role.VALUE, Role.REFERENCE, Role.PARENT):
            is_name = item.param.is_required and item.kind in ("string", "integer")
            is_name = is_name and not item.param.enum and not says_how(item.param)
            if is_name and table.find(item.word) is None:
                add_input(table, item.param.name, item, f"a part of what {tool.name} asks for")
        return
    if operation is Operation.DELETE:
        return
    for item in inputs:
        if item.role is Role.BATCH or (item.role in (Role.QUERY, Role.CHANGES) and not is_write):
            continue
        if item.role in (Role.FROM, Role.TO) and not is_write:
            continue
        if not is_write and item.word in words_of("elements") and item.param.item_properties:
            continue
        picks = item.role is Role.IDENTIFIER and operation is not Operation.CREATE
        if picks and (operation not in ON_PARENT or subject(tool) == table.noun):
            continue
        if picks and is_id_of(item.word, tool.reading.parent or ""):
            continue
        known = table.find(item.word)
        if known is None and not is_write and says_how(item.param):
            continue
        if known is None:
            told = "stored" if is_write else "filtered"
            name = _new_name(item, table)
            add_input(table, name, item, f"{told} by {tool.name}", is_write=is_write)
        elif is_write and known not in table.names:
            _widen(table.columns[known], item.param)


def _new_name(item: Input, table: Table) -> str:
    """Return what a column is called that an input is the first to speak of."""
    if item.called:
        return styled(item.called, style_of((item.param.name,)))
    start = next((start for start in RENAMES if item.word.startswith(start)), "")
    plain = item.word.removeprefix(start)
    is_free = bool(start) and plain not in ("", "id") and plain not in table.columns
    return styled(plain, style_of((item.param.name,))) if is_free else item.param.name


def _settle_required(table: Table, tools: list[Tool]) -> None:
    """A column that every maker of a row is always given, and none may clear, is never null."""
    makers = [
        _given(tool, table)
        for tool in tools
        if tool.reading.operation in (Operation.CREATE, Operation.APPEND)
    ]
    if not makers:
        return
    cleared = {
        table.find(item.word) for tool in tools for item in tool.data if item.param.is_nullable
    }
    for name in set.intersection(*makers) - cleared:
        column = table.columns[name]
        column.body = column.body.model_copy(update={"nullable": False, "required": True})


def _given(tool: Tool, table: Table) -> set[str]:
    """Return the columns that a maker always gives a value."""
    batch = tool.first(Role.BATCH)
    params = list(item_inputs(batch).values()) if batch is not None else []
    params += [item.param for item in tool.data if item.role is not Role.BATCH]
    found = {
        table.find(param.word)
        for param in params
        if param.is_required and not param.is_nullable and param.default_fits
    }
    return {name for name in found if name is not None and name in table.columns}


def _widen(column: Column, param: Param) -> None:
    """A column that tools write values of several types into holds any."""
    kind = TYPES.get(param.type, FieldType.JSON)
    if kind is not column.body.type and column.source.startswith("stored"):
        column.body = column.body.model_copy(update={"type": FieldType.JSON})
        column.schema = FrozenDict()
