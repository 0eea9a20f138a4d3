"""Which rows a tool's answer shows, and under which keys, as its blueprint says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.records.blueprint import Blueprint, ToolBlueprint
from components.records.frozen import FrozenDict


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRows:
    """A part of a tool's answer that shows one row or a list of rows."""

    path: tuple[str, ...]
    """Path in `data` of the row, or of the list."""
    table: str
    fields: FrozenDict[str, str]
    """Key in the answer -> field of the table."""
    is_list: bool


def shown_rows(tool: ToolBlueprint, blueprint: Blueprint) -> Iterator[ShownRows]:
    """Yield the rows that the tool's result shows."""
    rows: dict[str, tuple[str, bool]] = {}
    """Root name -> its table, and whether it is a list."""
    for name, lookup in tool.lookups.items():
        rows[f"${name}"] = (lookup.table, False)
    for name, effect in tool.effects.items():
        rows[f"${name}"] = (effect.table, effect.each is not None)
    if tool.query is not None:
        rows["$rows"] = (tool.query.table, True)
    yield from _shown_in(tool.result, (), rows, tool, blueprint)


def _shown_in(
    expression: Any,
    path: tuple[str, ...],
    rows: Mapping[str, tuple[str, bool]],
    tool: ToolBlueprint,
    blueprint: Blueprint,
) -> Iterator[ShownRows]:
    whole = _row_expression(expression, rows, tool, blueprint)
    if whole is not None:
        table, fields, is_list = whole
        yield ShownRows(path=path, table=table, fields=fields, is_list=is_list)
        return
    if not isinstance(expression, Mapping) or any(key[:1] == "@" for key in expression):
        return
    single: dict[str, dict[str, str]] = {}
    for key, part in sorted(expression.items()):
        root, _, field = part.partition(".") if isinstance(part, str) else ("", "", "")
        if field and root in rows and not rows[root][1]:
            if field in blueprint.entities[rows[root][0]].fields:
                single.setdefault(rows[root][0], {})[key] = field
        else:
            yield from _shown_in(part, (*path, key), rows, tool, blueprint)
    for table, fields_by_key in sorted(single.items()):
        yield ShownRows(path=path, table=table, fields=FrozenDict(fields_by_key), is_list=False)


def _row_expression(
    expression: Any,
    rows: Mapping[str, tuple[str, bool]],
    tool: ToolBlueprint,
    blueprint: Blueprint,
) -> tuple[str, FrozenDict[str, str], bool] | None:
    """Return (table, key -> field, is list) when the expression is a row or a list of rows."""
    if isinstance(expression, str) and expression in rows:
        table, is_list = rows[expression]
        names: Any = blueprint.entities[table].fields
        if expression == "$rows" and tool.query is not None and tool.query.fields is not None:
            names = tool.query.fields
        return table, FrozenDict({name: name for name in names}), is_list
    if not isinstance(expression, Mapping) or len(expression) != 1:
        return None
    operation, operand = next(iter(expression.items()))
    if operation in ("@row", "@rows") and isinstance(operand, Mapping):
        table = str(operand.get("table"))
        fields = blueprint.entities[table].fields
        return table, FrozenDict({name: name for name in fields}), operation == "@rows"
    if not isinstance(operand, (list, tuple)) or len(operand) != 2:
        return None
    inner = _row_expression(operand[0], rows, tool, blueprint)
    if inner is None:
        return None
    table, fields_shown, is_list = inner
    if operation == "@pick" and not is_list and isinstance(operand[1], (list, tuple)):
        return table, FrozenDict({n: n for n in operand[1] if n in fields_shown}), False
    if operation == "@each" and is_list:
        return table, _element_fields(operand[1], fields_shown), True
    return None


def _element_fields(body: Any, known: Mapping[str, str]) -> FrozenDict[str, str]:
    if isinstance(body, Mapping) and set(body) == {"@pick"}:
        return FrozenDict({name: name for name in body["@pick"][1] if name in known})
    if not isinstance(body, Mapping):
        return FrozenDict()
    named = {
        key: part.partition(".")[2]
        for key, part in body.items()
        if isinstance(part, str) and part.startswith("$element.")
    }
    return FrozenDict({key: field for key, field in named.items() if field in known})
