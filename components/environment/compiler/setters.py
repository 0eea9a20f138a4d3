"""Setters that would write into each other's columns, and changes that count.

Owns that `set_fill_color(r, g, b)` and `set_stroke_color(r, g, b)` set different things, and that
to increase is to add.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from components.environment.compiler.inputs import Input, Tool, words_of
from components.environment.compiler.rows import own_identifiers, pick
from components.environment.compiler.table import Table, Tables
from components.environment.compiler.writes import change
from components.environment.names import singular, tokens
from components.environment.reading.records import Role
from components.records.blueprint import FieldType, Operation, ToolBlueprint

_NUMBERS = (FieldType.INTEGER, FieldType.NUMBER)


def with_own_words(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return the tools, with the inputs of setters that only their names tell apart called by what
    each sets.
    """
    groups: dict[tuple[str, tuple[str, ...]], dict[str, tuple[str, ...]]] = defaultdict(dict)
    for name, tool in tools.items():
        thing, inputs = _thing(tool), _values(tool)
        if thing and inputs:
            words = tuple(sorted(item.word for item in inputs if item.param.is_required))
            groups[tool.reading.entity or "", words][name] = thing
    found = dict(tools)
    for (_, words), group in groups.items():
        if words and len(set(group.values())) > 1:
            for name, thing in group.items():
                found[name] = _called(tools[name], "_".join(thing))
    return found


def _thing(tool: Tool) -> tuple[str, ...]:
    """Return what a setter sets by its name, without the noun of the record (`fill_color`)."""
    verb, *rest = tokens(tool.name) or ("",)
    if tool.reading.operation is not Operation.UPDATE or verb not in words_of("sets"):
        return ()
    noun = {singular(part) for part in (tool.reading.entity or "").split("_")}
    return tuple(part for part in rest if singular(part) not in noun)


def _values(tool: Tool) -> list[Input]:
    """Return what a setter takes that its name does not speak of."""
    spoken = {singular(part) for part in tokens(tool.name)}
    values = [item for item in tool.of(Role.VALUE) if not item.called]
    if any(spoken & {singular(part) for part in item.word.split("_")} for item in values):
        return []
    return values


def _called(tool: Tool, thing: str) -> Tool:
    values = _values(tool)
    inputs = tuple(
        replace(item, called=f"{thing}_{item.word}") if item in values else item
        for item in tool.inputs
    )
    return replace(tool, inputs=inputs)


def compile_count(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str] | None:
    """Return the blueprint of a tool that adds to a number of its row or takes from it, or None."""
    verb, *rest = tokens(tool.name) or ("",)
    sign = "@add" if verb in words_of("more") else "@sub" if verb in words_of("less") else ""
    if not sign or tool.reading.operation not in (Operation.UPDATE, Operation.TRANSITION):
        return None
    picked = pick(table, own_identifiers(tool))
    others = [item for item in tool.data if item not in picked.inputs]
    amounts = [item for item in others if item.kind in ("integer", "number") and not item.is_list]
    numeric = [
        name
        for name, column in sorted(table.columns.items())
        if column.body.type in _NUMBERS and name not in (*table.names, *table.links)
    ]
    spoken = [name for name in numeric if set(tokens(name)) & {*rest}]
    usual = [name for name in numeric if not words_of("counts").isdisjoint(tokens(name))]
    columns = spoken or usual
    if not columns or len(amounts) > 1 or len(others) > len(amounts) or picked.is_many:
        return None
    if not picked.conditions and not table.is_single:
        return None
    own: Any = {"@coalesce": [f"$item.{columns[0]}", 0]}
    step: Any = {"@coalesce": [amounts[0].ref, 1]} if amounts else 1
    fields = {columns[0]: {sign: [own, step]}}
    said = f"{columns[0]!r} {'grows' if sign == '@add' else 'falls'} by what is given, or by one"
    return change(tool, picked, fields, {}, {}, tables), said
