"""Cells of sheets: places that are there without having been made.

Owns which tools are about cells, and what each does to them. A sheet's row holds its cells; a tool
needs the sheet alone, and what lies beyond what was written is empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from components.environment.compiler.inputs import Input, Tool, words_of
from components.environment.compiler.rows import Content, Picked, answer_of, pick
from components.environment.compiler.table import Column, KeyKind, Table, Tables
from components.environment.names import singular, snake, tokens
from components.environment.params import properties_of
from components.environment.reading.records import Role
from components.records.blueprint import (
    Check,
    Effect,
    FieldBlueprint,
    FieldType,
    FunctionalClass,
    Operation,
    ToolBlueprint,
)
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, JsonObject, freeze

CELLS, MARKS = "cells", "cell_marks"
_CELLS = "$found.cells"


@cache
def _data() -> Mapping[str, Any]:
    text = Path(__file__).with_name("cells.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deed:
    """What a tool does to cells."""

    call: tuple[str, Mapping[str, Any]] | None
    """Function of the library that gives the sheet's new cells, and what it needs besides them;
    None: the cells keep their values, and are marked."""
    told: Mapping[str, Any]
    """What the answer says of it besides the sheet."""


def settle_cells(tools: Iterable[Tool], tables: dict[str, Table]) -> None:
    """Give the sheets of a service their cells, where tools are about cells."""
    sheet = _sheet(tables)
    if sheet is None or not any(_is_about_cells(tool, sheet) for tool in tools):
        return
    for name in [name for name in sheet.columns if snake(name) in words_of("addresses")]:
        if name not in (
            *sheet.names,
            *sheet.links,
        ):  # it says which cells, and is none of a sheet's
            del sheet.columns[name]
    for column in (column for table in tables.values() for column in table.columns.values()):
        if snake(column.name) in words_of("corners") and column.body.type is FieldType.STRING:
            column.meaning = "choice:" + "|".join(_data()["corners"])
    for name in (CELLS, MARKS):
        body = FieldBlueprint(type=FieldType.ARRAY, default=(), required=False)
        sheet.columns[name] = Column(name=name, body=body, source="cells of a sheet")


def _sheet(tables: Tables) -> Table | None:
    """Return the table of sheets whose rows are named by what callers give, or None."""
    found = [
        table
        for noun, table in sorted(tables.items())
        if noun.rpartition("_")[2] in words_of("sheets")
        and table.kind in (KeyKind.GIVEN, KeyKind.NATURAL)
    ]
    return found[0] if len(found) == 1 else None


def _is_about_cells(tool: Tool, sheet: Table) -> bool:
    spoken = {singular(word) for word in tokens(tool.name)}
    is_named = any(_names_sheet(item, sheet) for item in tool.data)
    return is_named and not words_of("cell_nouns").isdisjoint(spoken)


def _names_sheet(item: Input, sheet: Table) -> bool:
    is_text = item.kind == "string" and not item.is_list
    column = sheet.find(item.word)
    is_name = column in sheet.names or column in sheet.links
    return is_text and is_name and not item.called.startswith("new_")


def compile_cells(tool: Tool, tables: Tables) -> tuple[ToolBlueprint, str] | None:
    """Return the blueprint of a tool that reads or changes cells, and what decided; None for every
    other tool.
    """
    sheet = _sheet(tables)
    if sheet is None or CELLS not in sheet.columns or not _is_about_cells(tool, sheet):
        return None
    picked = pick(sheet, [item for item in tool.data if _names_sheet(item, sheet)])
    if not any(sheet.find(item.word) in sheet.names for item in picked.inputs):
        return None
    if tool.reading.functional is FunctionalClass.READ:
        return _read(tool, picked, tables)
    deed = _deed(tool)
    return None if deed is None else _write(tool, deed, picked, tables)


def _address(tool: Tool) -> Input | None:
    """Return the input that says which cells are meant."""
    found = [
        item
        for item in tool.inputs
        if item.kind == "string" and not item.is_list and item.word in words_of("addresses")
    ]
    return next((item for item in found if item.is_always_given), found[0] if found else None)


def _read(tool: Tool, picked: Picked, tables: Tables) -> tuple[ToolBlueprint, str] | None:
    address = _address(tool)
    if address is None or tool.reading.operation not in (Operation.GET, Operation.LIST):
        return None
    asked = {"grid": _CELLS, "address": address.ref}
    plain = {
        "range": {"@call": ["cells_used", asked]},
        "values": {"@call": ["cells_read", asked]},
    }
    blueprint = ToolBlueprint(
        operation=tool.reading.operation,
        functional=FunctionalClass.READ,
        entity=picked.table.noun,
        difficulty=tool.reading.difficulty,
        lookups=FrozenDict({"found": picked.lookup()}),
        checks=FrozenDict({"address": _check(plain["range"])}),
        result=_in_shape(tool, plain, picked.table, tables),
    )
    return blueprint, f"{address.param.name!r} says which cells of the {picked.table.noun}"


def _in_shape(tool: Tool, plain: Mapping[str, Any], sheet: Table, tables: Tables) -> Any:
    """Return what a read answers, in the shape of its output schema."""
    output = tool.spec.output_schema
    properties = properties_of(output, output) if output is not None else {}
    answer: dict[str, Any] = {}
    for name, param in properties.items():
        if param.type == "array":
            answer.setdefault(name, plain["values"])
        elif param.type == "string" and param.word in words_of("addresses"):
            answer[name] = plain["range"]
    required = {name for name, param in properties.items() if param.is_required}
    if answer and required <= set(answer):
        return FrozenDict({name: answer[name] for name in answer if name in required} or answer)
    return answer_of(tool, Content(table=sheet, plain=dict(plain)), tables)


def _check(call: Any) -> Check:
    function, needed = call["@call"]
    return Check(
        holds={"@can_call": [function, needed]},
        code=ErrorCode.INVALID_ARGUMENTS,
        message="these are no cells of a sheet",
    )


def _write(
    tool: Tool, deed: _Deed, picked: Picked, tables: Tables
) -> tuple[ToolBlueprint, str] | None:
    sheet = picked.table
    is_every = not all(item.is_always_given for item in picked.inputs)
    cells = "$item.cells" if is_every else _CELLS
    checks = {}
    fields: dict[str, Any] = {}
    if deed.call is None:
        marks = {item.param.name: item.ref for item in tool.data if item not in picked.inputs}
        fields[MARKS] = {"@append": ["$item.cell_marks", {"tool": tool.name, **marks}]}
    else:
        function, needed = deed.call
        fields[CELLS] = {"@call": [function, {"grid": cells, **needed}]}
        checks["cells"] = _check({"@call": [function, {"grid": _CELLS, **needed}]})
    if isinstance(told := deed.told.get("range"), Mapping):
        checks["address"] = _check(told)
    effect = Effect(
        action="update",
        table=sheet.noun,
        target=None if is_every else "found",
        where=picked.where if is_every else None,
        fields=FrozenDict(fields),
    )
    own = f"$found.{sheet.names[0]}"
    plain = {sheet.noun.rpartition("_")[2]: own, **deed.told}
    content = Content(table=sheet, plain=plain, row="$found", message="the cells are changed")
    blueprint = ToolBlueprint(
        operation=Operation.UPDATE,
        functional=FunctionalClass.WRITE,
        entity=sheet.noun,
        difficulty=tool.reading.difficulty,
        lookups=FrozenDict({"found": picked.lookup()}),
        checks=FrozenDict(checks),
        effects=FrozenDict({"set": effect}),
        result=answer_of(tool, content, tables),
    )
    how = "marked" if deed.call is None else "changed"
    return blueprint, f"cells of the {sheet.noun} are {how}"


def _deed(tool: Tool) -> _Deed | None:
    """Return what a write does to cells, by the verb of its name and what it is given."""
    spoken = set(tokens(tool.name))
    address = _address(tool)
    by_word = {item.word: item for item in tool.inputs}
    lines = _lines(spoken, by_word)
    if lines is not None:
        return lines
    if "replace" in spoken:
        return _replacement(by_word)
    if address is None or not address.is_always_given:
        return None
    at = {"address": address.ref}
    told = {"range": {"@call": ["cells_used", at]}}
    if "sort" in spoken:
        return _sorting(by_word, at, told)
    if spoken & words_of("clears"):
        return _Deed(call=("cells_clear", at), told=told)
    if spoken & words_of("marks"):
        return _Deed(call=None, told=told)
    goal = _first({word: item for word, item in by_word.items() if item is not address}, "corners")
    if spoken & words_of("copies") and goal is not None:
        return _Deed(call=("cells_copy", {**at, "at": goal.ref}), told=told)
    values = _first(by_word, "cell_values")
    if values is not None and spoken & words_of("puts"):
        needed = {**at, "values": values.ref}
        return _Deed(
            call=("cells_write", needed), told={"range": {"@call": ["cells_written", needed]}}
        )
    return None


def _lines(spoken: set[str], by_word: Mapping[str, Input]) -> _Deed | None:
    """Return the deed of a tool that inserts or deletes whole rows or columns."""
    start, count = _first(by_word, "line_starts"), _first(by_word, "line_counts")
    axes = {word for word in map(singular, spoken) if word in ("row", "column")}
    if start is None or not start.is_always_given or not axes:
        return None
    axis: Any = by_word["axis"].ref if "axis" in by_word else next(iter(sorted(axes)))
    if len(axes) > 1 and "axis" not in by_word:
        return None
    needed = {"axis": axis, "start": start.ref, **({"count": count.ref} if count else {})}
    function = "cells_with_lines" if "insert" in spoken or "add" in spoken else ""
    function = "cells_without_lines" if spoken & words_of("clears") else function
    told = {"range": {"@call": ["cells_lines", needed]}}
    return _Deed(call=(function, needed), told=told) if function else None


def _replacement(by_word: Mapping[str, Input]) -> _Deed | None:
    old, new = _first(by_word, "sought"), _first(by_word, "replacements")
    if old is None or new is None:
        return None
    needed = {"query": old.ref, "replacement": new.ref}
    needed |= {name: by_word[name].ref for name in ("exact", "case_sensitive") if name in by_word}
    counted = {"grid": _CELLS, **needed}
    told = {"replaced": {"@call": ["cells_count", counted]}}
    return _Deed(call=("cells_replace", needed), told=told)


def _sorting(
    by_word: Mapping[str, Input], at: Mapping[str, Any], told: Mapping[str, Any]
) -> _Deed | None:
    keys = next((item for item in by_word.values() if item.role is Role.SORT_BY), None)
    keys = keys or _first(by_word, "sort_keys")
    if keys is None:
        return None
    order = _first(by_word, "sort_orders")
    needed = {**at, "keys": keys.ref, **({"order": order.ref} if order else {})}
    needed |= {"has_header": by_word["has_header"].ref} if "has_header" in by_word else {}
    return _Deed(call=("cells_sort", needed), told=told)


def _first(by_word: Mapping[str, Input], kind: str) -> Input | None:
    return next((by_word[word] for word in by_word if word in words_of(kind)), None)


def filled(tables: Tables, found: dict[str, dict[str, JsonObject]]) -> None:
    """Put something into the cells of a seed's sheets."""
    for noun, table in sorted(tables.items()):
        if CELLS not in table.columns or noun not in found:
            continue
        grids = _data()["grids"]
        for index, (row_id, row) in enumerate(list(found[noun].items())):
            cells = freeze(grids[index % len(grids)])
            found[noun][row_id] = FrozenDict({**row, CELLS: cells, MARKS: ()})
