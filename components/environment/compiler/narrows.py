"""Arguments of reads that narrow rows otherwise than by one value of one column.

Owns lists of objects that each name a row (`inputs: [{id}]`), lists of written conditions
(`filters: [{field, operator, value}]`), words that mean no filter at all (`severity: all`), and
conditions in a language of their own, which nothing here can read.
"""

from __future__ import annotations

from typing import Any

from components.environment.compiler.asks import words_asked
from components.environment.compiler.inputs import Input, Tool, item_inputs
from components.environment.compiler.rows import named_by_elements
from components.environment.compiler.table import Table, Unclear
from components.environment.conditions import FIELDS, GROUPS, OPERATORS, VALUES
from components.environment.params import Param
from components.records.blueprint import QuarantineReason


def by_elements(item: Input, table: Table) -> Any:
    """Return the condition that a list of objects names rows or writes conditions of them, or None
    where it does neither.
    """
    parts = item_inputs(item) if item.is_list else {}
    if _writes_conditions(parts):
        return {"@meets": ["$item", item.ref]}
    own = named_by_elements(item, table)
    if own is None:
        return None
    return {"@in": [f"$item.{table.names[0]}", {"@each": [item.ref, f"$element.{own}"]}]}


def _writes_conditions(parts: dict[str, Param]) -> bool:
    words = {param.word for param in parts.values()}
    if words & set(FIELDS) and words & {*OPERATORS, *VALUES}:
        return True
    inner = [param for param in parts.values() if param.word in GROUPS and param.type == "array"]
    return any(_writes_conditions(param.item_properties) for param in inner)


def refuse_languages(tool: Tool) -> None:
    """Refuse a read that must be told its condition in a language of its own.

    Raises:
        Unclear: nothing here reads that language, and all rows would be a wrong answer.
    """
    for item in tool.inputs:
        is_told = item.is_always_given and item.kind == "string"
        if is_told and item.word in words_asked("languages"):
            detail = f"{item.param.name!r} is a condition in a language of its own"
            raise Unclear(detail, QuarantineReason.EXTERNAL)


def unless_all(item: Input, condition: Any) -> Any:
    """Return a condition that says nothing where the caller asks for all (`severity: all`)."""
    if item.kind != "string" or item.is_list:
        return condition
    every = sorted(words_asked("means_all"))
    said = {str(value).lower() for value in (*(item.param.enum or ()), item.param.default)}
    if not said & set(every):
        return condition
    return {"@if": [{"@in": [{"@lower": item.ref}, every]}, True, condition]}
