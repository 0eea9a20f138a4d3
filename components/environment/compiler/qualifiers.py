"""Words of a list's name that say which of its rows are shown, or in which order.

Owns `latest`, `popular` and the like, and states such as `open` or `archived`. A word that no
column can hold changes nothing; the words are in `qualifiers.json`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from components.environment.archetypes.meanings import parse_meaning
from components.environment.compiler.bounds import is_time
from components.environment.compiler.inputs import Tool
from components.environment.compiler.table import Column, Table
from components.environment.names import snake, tokens
from components.records.blueprint import FieldType

_NUMBERS = (FieldType.INTEGER, FieldType.NUMBER)
_STATES = ("status", "state", "visibility", "availability", "phase")
_TIMES = ("created", "published", "posted", "date", "timestamp", "time", "start", "updated")


@cache
def _words(kind: str) -> tuple[str, ...]:
    text = Path(__file__).with_name("qualifiers.json").read_text(encoding="utf-8")
    return tuple(json.loads(text)[kind].split())


def state_of_name(tool: Tool, table: Table) -> tuple[str, Any] | None:
    """Return the column and the value that rows must have by the tool's name, or None.

    Example:
        `list_open_issues` gives ("status", "open"), `get_archived_chats` ("archived", True).
    """
    noun = set(table.noun.split("_"))
    spoken = [part for part in tokens(tool.name)[1:] if part in _words("states")]
    asked = {table.find(item.word) for item in tool.data}
    for word in spoken:
        if word in noun:
            continue
        for name, column in sorted(table.columns.items()):
            if name in asked:
                continue
            parts = set(tokens(name)) - {"is", "has"}
            if column.body.type is FieldType.BOOLEAN and parts == {word}:
                return name, True
            if column.body.type is FieldType.BOOLEAN and parts in ({word[2:]}, {word[3:]}):
                return (name, False) if word.startswith(("un", "dis")) else (name, True)
            if snake(name) in _STATES and word in _options(column):
                return name, word
    return None


def _options(column: Column) -> tuple[str, ...]:
    """Return the texts that a column is limited to."""
    if column.body.type is not FieldType.STRING:
        return ()
    listed = column.body.enum or column.schema.get("enum")
    if listed:
        return tuple(str(item) for item in listed)
    return parse_meaning(column.meaning).options if column.meaning else ()


def order_of_name(tool: Tool, table: Table) -> tuple[str, bool] | None:
    """Return the column that a tool's name orders its rows by, and whether it falls, or None."""
    parts = tokens(tool.name)
    for kind, falls in (("newest", True), ("oldest", False)):
        if not set(_words(kind)).isdisjoint(parts):
            column = _time_column(table)
            return None if column is None else (column, falls)
    for kind, falls in (("best", True), ("least", False)):
        if not set(_words(kind)).isdisjoint(parts):
            column = _score_column(tool, table)
            return None if column is None else (column, falls)
    return None


def _time_column(table: Table) -> str | None:
    times = [name for name, column in sorted(table.columns.items()) if is_time(column)]
    for word in _TIMES:
        found = next((name for name in times if word in tokens(name)), None)
        if found is not None:
            return found
    return None


def _score_column(tool: Tool, table: Table) -> str | None:
    kinds = {
        name: snake(name)
        for name, column in sorted(table.columns.items())
        if column.body.type in _NUMBERS and name not in (*table.names, *table.links)
    }
    if "price" not in tokens(tool.name):
        kinds = {name: word for name, word in kinds.items() if word != "price"}
    for score in _words("scores"):
        found = next((name for name, word in kinds.items() if word == score), None)
        if found is not None:
            return found
    return None
