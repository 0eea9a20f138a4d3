"""Writes that make what is missing and change what is there: `create or update`, `overwrite`.

Owns what says so: words of name and description (`words.json`), a flag that the caller sets, or the
hint that a second call has no further effect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from components.environment.compiler.inputs import Input, Tool, words_of
from components.environment.compiler.table import KeyKind, Table
from components.environment.names import snake, tokens
from components.environment.reading.records import Role
from components.records.blueprint import Effect, FieldType, Operation

_MOST_TEXT = 600
"""Characters of a description in which a phrase decides."""
_MAKES = frozenset({Operation.CREATE, Operation.APPEND})


@cache
def _phrases(kind: str) -> tuple[re.Pattern[str], ...]:
    text = Path(__file__).with_name("words.json").read_text(encoding="utf-8")
    return tuple(re.compile(phrase) for phrase in json.loads(text)[kind])


def _says(tool: Tool, kind: str) -> bool:
    description = " ".join(tool.spec.description.lower().split())[:_MOST_TEXT]
    text = f"{' '.join(tokens(tool.name))}. {description}"
    return any(phrase.search(text) for phrase in _phrases(kind))


def as_makers(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return the tools, with those that change a row or make it as makers of rows."""
    return {name: _as_maker(tool) for name, tool in tools.items()}


def _as_maker(tool: Tool) -> Tool:
    is_change = tool.reading.operation is Operation.UPDATE
    names = [item for item in tool.of(Role.IDENTIFIER) if item.is_always_given]
    is_named = bool(names) and all(item.kind == "string" for item in names)
    is_one = is_change and is_named and tool.first(Role.BATCH) is None
    if not is_one or not (_says(tool, "upserts") or _flag(tool) is not None):
        return tool
    return replace(tool, reading=tool.reading.model_copy(update={"operation": Operation.CREATE}))


def _flag(tool: Tool) -> Input | None:
    """Return the input by which a caller allows that a row that is there is replaced, or None."""
    flags = (item for item in tool.inputs if item.word in words_of("overwrite_flags"))
    return next((item for item in flags if item.kind == "boolean"), None)


def conflict_of(tool: Tool) -> Any:
    """Return what becomes of a row that is there already, as `Effect.on_conflict` has it."""
    hints = tool.spec.annotations
    said = "refuse"
    if tool.reading.operation in _MAKES:
        is_again = hints.get("idempotentHint") is True
        if _says(tool, "keeps"):
            said = "keep"
        elif _says(tool, "upserts") or _says(tool, "replaces"):
            said = "replace"
        elif is_again:
            said = "replace" if hints.get("destructiveHint") is True else "keep"
    flag = _flag(tool)
    if flag is None or said != "refuse":
        return said
    return {"@if": [{"@eq": [flag.ref, True]}, "replace", "refuse"]}


def upserted(effect: Effect, tool: Tool, table: Table, optional: Iterable[Input] = ()) -> Effect:
    """Return a create as one that knows what becomes of a row that is there already.

    Args:
        effect: it makes rows of the table.
        tool: whose effect it is.
        table: where the rows are.
        optional: inputs that leave alone what the row holds where the caller gives none.
    """
    names = _naming(effect, table)
    conflict = _seen_again(tool, table, names) or conflict_of(tool)
    if conflict == "refuse" or not names:
        return effect
    fields = dict(effect.fields)
    for name, column in table.columns.items():
        if name in fields and column.meaning == "time.created" and fields[name] == "$now":
            fields[name] = {"@coalesce": [f"$item.{name}", "$now"]}
    for item in optional:
        place = table.find(item.word) or ""
        if place in fields and place not in names and not item.is_always_given:
            value = fields[place]
            rest = value["@coalesce"][1:] if isinstance(value, Mapping) else []
            fields[place] = {"@coalesce": [item.ref, f"$item.{place}", *rest]}
    return effect.model_copy(
        update={"on_conflict": conflict, "names": names, "fields": type(effect.fields)(fields)}
    )


def _seen_again(tool: Tool, table: Table, names: tuple[str, ...]) -> str:
    """Return what the real tool was seen to do to a row of these names; empty: it was not seen."""
    again = {} if tool.spec.observed is None else tool.spec.observed.again
    return next((did for name, did in again.items() if table.find(snake(name)) in names), "")


def told_of(effect: Effect) -> str:
    """Return, in words, what becomes of a row that is there already."""
    named = " and ".join(effect.names)
    done = {"keep": "is kept", "replace": "is replaced"}
    if isinstance(effect.on_conflict, str):
        return f"one of that {named} that is there {done[effect.on_conflict]}"
    return f"one of that {named} that is there is replaced where the caller says so"


def _naming(effect: Effect, table: Table) -> tuple[str, ...]:
    """Return the columns that say which row a create means; none where the service makes them."""
    if table.kind is KeyKind.COUNTED:
        return ()
    if table.kind is not KeyKind.NATURAL:
        return (table.key,) if table.key in effect.fields else ()
    given = tuple(name for name in table.names if _is_given(effect.fields.get(name)))
    is_text = table.columns[table.names[0]].body.type is not FieldType.JSON
    return given if table.names[0] in given and is_text else ()


def _is_given(value: Any) -> bool:
    """True for a value that comes from the caller, False for a name that the service counts up."""
    return isinstance(value, str) and value.startswith(("$args.", "$element."))
