"""Where rows are: the parent that a tool names must be there, where the service can make one.

Owns which column names a row of the table that the parent is kept in, and the filters that no
write can set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from components.environment.compiler.inputs import Input, Tool, item_inputs
from components.environment.compiler.table import KeyKind, Table
from components.environment.names import snake
from components.environment.reading.records import Role
from components.records.blueprint import FieldType, Operation

_MAKES = frozenset({Operation.CREATE, Operation.APPEND})
_READS = frozenset({Operation.LIST, Operation.SEARCH})
_NAMED = frozenset({KeyKind.GIVEN, KeyKind.NATURAL})


def settle_places(tools: Iterable[Tool], tables: dict[str, Table]) -> None:
    """Say which tables tools make rows of, and link what is called by the key of one such table
    (`path` of a workbook, `sheet`) to it, where tools use it for the place of their rows.
    """
    everyone = sorted(tools, key=lambda tool: tool.name)
    for tool in everyone:
        table = tables.get(tool.reading.entity or "")
        if table is not None and tool.reading.operation in _MAKES:
            table.is_made = True
    _settle_asked(everyone, tables)
    owners = _owners(everyone, tables)
    for noun, table in sorted(tables.items()):
        votes = _places(noun, everyone)
        for name, column in sorted(table.columns.items()):
            word = snake(name)
            found = owners.get(word, set()) - {noun}
            if len(found) != 1 or noun in owners.get(word, set()) or name in table.links:
                continue
            (owner,) = found
            is_key = name == table.names[0]
            is_place = votes[word] > 0 and (not is_key or word == owner)
            if column.body.type is FieldType.STRING and is_place:
                table.links[name] = owner


def _settle_asked(tools: list[Tool], tables: dict[str, Table]) -> None:
    """Say which texts reads must be told and no write sets."""
    for tool in tools:
        table = tables.get(tool.reading.entity or "")
        if table is None or tool.reading.operation not in _READS or not table.is_made:
            continue
        for item in tool.data:
            column = table.columns.get(table.find(item.word) or "")
            if column is None or item.is_list or not item.is_always_given:
                continue
            is_text = column.body.type is FieldType.STRING and column.body.nullable
            column.is_asked = is_text and column.source.startswith("filtered by")


def _owners(tools: list[Tool], tables: dict[str, Table]) -> dict[str, set[str]]:
    """Return, by word, the tables whose makers are given a row's name by it."""
    owners: dict[str, set[str]] = {}
    for tool in tools:
        table = tables.get(tool.reading.entity or "")
        if table is None or tool.reading.operation is not Operation.CREATE:
            continue
        if table.kind not in _NAMED or table.columns[table.names[0]].body.type is not (
            FieldType.STRING
        ):
            continue
        names = [item.word for item in tool.data if _names(item, table)]
        batch = tool.first(Role.BATCH)
        names += [
            param.word
            for param in (item_inputs(batch).values() if batch is not None else ())
            if table.find(param.word) == table.names[0]
        ]
        if len(names) == 1:
            owners.setdefault(names[0].removeprefix("new_"), set()).add(table.noun)
    return owners


def _names(item: Input, table: Table) -> bool:
    is_own = item.role is not Role.PARENT and not item.is_list
    return is_own and table.find(item.word) == table.names[0]


def _places(noun: str, tools: list[Tool]) -> Counter[str]:
    """Return how often tools on a noun take each word for the place of its rows."""
    return Counter(
        item.word
        for tool in tools
        if tool.reading.entity == noun
        for item in tool.of(Role.PARENT)
        if item.is_always_given
    )
