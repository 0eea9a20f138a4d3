"""Writes that move a row or add to it: transitions and appended parts.

Owns the rules for them. Which state a verb stands for is data (`moves.json`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from components.environment.archetypes.records import Archetype
from components.environment.compiler.inputs import Input, Tool, element_value, item_inputs
from components.environment.compiler.links import parent_link
from components.environment.compiler.row_names import has_name, next_name
from components.environment.compiler.rows import (
    Content,
    Picked,
    fits,
    key_expression,
    own_identifiers,
    pick,
    refers_to,
    shown_row,
    shown_rows,
)
from components.environment.compiler.table import CURRENT, Column, KeyKind, Table, Tables, Unclear
from components.environment.compiler.upserts import told_of, upserted
from components.environment.compiler.writes import (
    born,
    change,
    create,
    element_column,
    finished,
    named_rows,
    new_value,
    stamps,
    stored,
)
from components.environment.names import article, singular, snake, tokens
from components.environment.reading.records import Role
from components.environment.reading.words import verb_of
from components.records.blueprint import (
    Check,
    Effect,
    FieldBlueprint,
    FieldType,
    Operation,
    ToolBlueprint,
)
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict

_MOVES = frozenset({Operation.UPDATE, Operation.TRANSITION})
_WEAK = ("mark", "set")
_SETS = ("set", "update", "change")


@cache
def _words() -> dict[str, Any]:
    text = Path(__file__).with_name("moves.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def state_words() -> frozenset[str]:
    """Return the words of names that say what becomes of a row."""
    return frozenset(_words()["states"])


TOGGLED = "toggled"
"""Stands for the other of two states."""


def _lifecycle(usual: Archetype, value: str) -> str:
    """Return the meaning of a status column, by the noun's usual lifecycle where there is one."""
    if usual.status_field is not None and value in usual.lifecycle:
        return usual.fields[usual.status_field].meaning
    return f"status:active|{value}"


def is_plain_move(tool: Tool) -> bool:
    """True for a tool that stores nothing and whose name says what becomes of its row."""
    parts = tokens(tool.name)
    is_said = "toggle" in parts[:-1] or bool(set(parts) & set(_words()["states"]))
    is_bare = all(item.role in (Role.IDENTIFIER, Role.PARENT) for item in tool.data)
    return tool.reading.operation in _MOVES and is_bare and is_said


def target_state(tool: Tool) -> tuple[str, Any]:
    """Return (field, value) that a transition's name stands for.

    Example:
        `archive_note` gives ("archived", True), `approve_request` ("status", "approved"); a name
        that holds no verb gives ("", None).
    """
    states = _words()["states"]
    parts = tokens(tool.name)
    if "restore" in parts and "trash" in tool.spec.description.lower():
        return states["untrash"][0], states["untrash"][1]
    if "toggle" in parts[:-1]:
        return "_".join(parts[parts.index("toggle") + 1 :]), TOGGLED
    told = [word for word in parts if word in states]
    if told:  # mark_task_complete completes
        name, value = states[next((word for word in told if word not in _WEAK), told[0])]
        return name, value
    verb = next((word for word in parts if verb_of(word)), "")
    if not verb:
        return "", None
    return "status", verb if verb.endswith("ed") else f"{verb.removesuffix('e')}ed"


def as_moves(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return the tools, with those that set or undo a state of the one row that they name read as
    that: who is unsubscribed is still there, and a channel that is joined relates to no other row.
    """
    return {name: _as_move(tool) for name, tool in tools.items()}


def _as_move(tool: Tool) -> Tool:
    parts = tokens(tool.name)
    undone = [word for word in parts if _words()["states"].get(word, ("", None))[1] is False]
    names_its_own = tool.reading.parent in (None, tool.reading.entity)
    is_undone = tool.reading.operation is Operation.DETACH and bool(undone)
    is_alone = tool.reading.operation is Operation.LINK and len(tool.data) == 1
    is_alone = is_alone and not tool.data[0].is_list and parts[0] in _words()["states"]
    if not names_its_own or not (is_undone or is_alone):
        return tool
    update = {"operation": Operation.TRANSITION, "parent": None}
    return replace(tool, reading=tool.reading.model_copy(update=update))


def _goes_both_ways(tool: Tool, name: str) -> bool:
    """True for a tool that says that it sets a flag or takes it away (`star or unstar`)."""
    text = tool.spec.description.lower()
    pairs = {word for word, (column, _) in _words()["states"].items() if column == name}
    both = any(
        f"{one} or {other}" in text or f"{one}/{other}" in text
        for one in pairs
        for other in pairs
        if one != other
    )
    return both and isinstance(_words()["states"][sorted(pairs)[0]][1], bool)


def _state_of(tool: Tool) -> Input | None:
    """Return the input that gives the new state: one in that role, or what the tool is called to
    set (`set_draft_status(path, draft_status)`).
    """
    verb, _, name = snake(tool.name).partition("_")
    called = [
        item
        for item in tool.of(Role.VALUE)
        if item.param.is_required and verb in _SETS and name == item.word
    ]
    return tool.first(Role.STATE) or next(iter(called), None)


def add_state_columns(tools: list[Tool], tables: dict[str, Table]) -> None:
    """Give each table that transitions move the column that they move."""
    for tool in sorted(tools, key=lambda tool: tool.name):
        table = tables.get(tool.reading.entity or "")
        is_move = tool.reading.operation is Operation.TRANSITION or is_plain_move(tool)
        if table is None or not is_move:
            continue
        if _state_of(tool) is not None:
            continue
        name, value = target_state(tool)
        if not name or table.find(name) is not None:
            continue
        is_flag = isinstance(value, bool) or value == TOGGLED
        kind = FieldType.BOOLEAN if is_flag else FieldType.STRING
        meaning = "flag.rare" if is_flag else _lifecycle(table.usual, value)
        table.columns[name] = Column(
            name=name,
            body=FieldBlueprint(type=kind, nullable=True, required=False),
            meaning=meaning,
            source=f"moved by {tool.name}",
        )


def compile_move(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    """Return the blueprint of a transition or an append, and what decided.

    Raises:
        Unclear: nothing says which row is meant, or what becomes of it.
    """
    match tool.reading.operation:
        case Operation.TRANSITION | Operation.UPDATE:
            return _transition(tool, table, tables)
        case _:
            return _append(tool, table, tables)


def _transition(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    picked = pick(table, own_identifiers(tool))
    names_none = not any(item.param.is_required for item in tool.inputs)
    is_alone = not tool.inputs and _says_its_own(tool, table)
    picked.may_be_the_first = names_none and (table.is_single or tool.says("one") or is_alone)
    fields = given(tool, table, tuple(picked.inputs))
    checks: dict[str, Check] = {}
    state = _state_of(tool)
    if state is not None and table.find(state.word) in fields:
        said = f"{table.find(state.word)!r} becomes what {state.param.name!r} gives"
    else:
        name, value = target_state(tool)
        if value is not None and _goes_both_ways(tool, name):
            value = TOGGLED
        column = table.find(name) if name else None
        if column is None and not name and fields:
            lookups, checks = named_rows(tool, table, tables, tuple(picked.inputs))
            said = f"{', '.join(sorted(fields))} of the {table.noun} are set"
            update = {"operation": Operation.UPDATE}
            tool = replace(tool, reading=tool.reading.model_copy(update=update))
            return change(tool, picked, fields, lookups, checks, tables), said
        if column is None or not _holds(table.columns[column].body, value):
            raise Unclear(f"nothing says which state {article(table.noun)} moves to")
        fields[column] = {"@not": f"$item.{column}"} if value == TOGGLED else value
        said = f"{column!r} becomes {value!r}"
        if not picked.is_many and value != TOGGLED and tool.inputs:
            checks["is_new_state"] = Check(
                holds={"@ne": [f"$found.{column}", value]},
                code=ErrorCode.PRECONDITION_FAILED,
                message=f"the {table.noun} has {column} {value!r} already",
            )
    lookups, more = named_rows(tool, table, tables, tuple(picked.inputs))
    moved = change(tool, picked, fields, lookups, {**checks, **more}, tables)
    return with_one_current(moved, table), said


def with_one_current(tool: ToolBlueprint, table: Table) -> ToolBlueprint:
    """Return a move by which a row becomes the current one, and no other is that any more."""
    effect = tool.effects.get("set")
    is_one = effect is not None and effect.target == "found"
    if effect is None or not is_one or effect.fields.get(CURRENT) is not True:
        return tool
    key = table.key
    is_other = {"@ne": [f"$item.{key}", f"$found.{key}"]}
    others = Effect(
        action="update",
        table=table.noun,
        where={"@and": [{"@eq": [f"$item.{CURRENT}", True]}, is_other]},
        fields=FrozenDict({CURRENT: False}),
    )
    return tool.model_copy(update={"effects": FrozenDict({**tool.effects, "others": others})})


def _says_its_own(tool: Tool, table: Table) -> bool:
    """True for `commit_transaction`: with nothing given, it is about the one that is under way."""
    return singular(tokens(tool.name)[-1]) == table.noun.rpartition("_")[2]


def _holds(body: FieldBlueprint, value: Any) -> bool:
    if isinstance(value, bool) or value == TOGGLED:
        return body.type is FieldType.BOOLEAN
    return body.type is FieldType.STRING and (body.enum is None or value in body.enum)


def given(tool: Tool, table: Table, skip: tuple[Input, ...]) -> dict[str, Any]:
    """Return column -> expression of the inputs that a change stores besides."""
    fields: dict[str, Any] = {}
    for item in tool.data:
        column = table.find(item.word)
        if item in skip or item.role in (Role.IDENTIFIER, Role.PARENT) or column is None:
            continue
        if column == table.key or column not in stored(tool, table, skip):
            continue
        fields[column] = new_value(item, table.columns[column])
    return fields


def parent_of(tool: Tool, table: Table, tables: Tables) -> Table | None:
    noun = tool.reading.parent
    return tables.get(noun) if noun and noun != table.noun else None


def _append(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    parent = parent_of(tool, table, tables)
    if parent is None:
        return _append_to_row(tool, table, tables)
    ids = [item for item in own_identifiers(tool) if not is_childs(item, table, parent)]
    picked = pick(parent, ids)
    column = list_of(parent, table)
    values = [item for item in tool.data if item not in picked.inputs]
    if column is not None and len(values) == 1:
        return _append_to_list(tool, picked, column, values[0], tables)
    link = parent_link(table, parent)
    if picked.is_many or link is None:
        raise Unclear(f"no argument says which {parent.noun}")
    skip = tuple(picked.inputs)
    fields = stored(tool, table)
    is_named = table.kind is not KeyKind.GENERATED or table.names[0] in stored(tool, table, skip)
    for name in (link, link if is_named else table.names[0]):
        fields.pop(name, None)
    lookups, checks = named_rows(tool, table, tables, skip)
    lookups = {name: item for name, item in lookups.items() if item.table != parent.noun}
    checks = {
        name: item for name, item in checks.items() if name.removesuffix("_exists") in lookups
    }
    lookups["parent"] = picked.lookup()
    batch = tool.first(Role.BATCH) or _list_of_texts(tool, table, skip)
    each: Any = None
    if batch is not None:
        column = element_column(batch, table)
        items = item_inputs(batch)
        if column is None and not items:
            raise Unclear(f"nothing says what each of {batch.param.name!r} holds")
        inner = {
            found: element_value(batch, name)
            for name, param in items.items()
            if (found := table.find(param.word)) is not None
        }
        fields.pop(batch.word, None)
        fields |= inner or {column or "": "$element"}
        each = batch.ref
    if not fields:
        raise Unclear(f"it takes nothing that {article(table.noun)} could hold")
    if table.kind is KeyKind.COUNTED:
        if each is not None:
            raise Unclear("it adds many rows with counted ids at once")
        counted = {"@each": [{"@rows": {"table": table.noun}}, f"$element.{table.names[0]}"]}
        fields[table.names[0]] = {"@add": [{"@coalesce": [{"@max": counted}, 0]}, 1]}
    if table.kind is KeyKind.GIVEN and table.key not in fields:
        raise Unclear(f"nothing gives the key {table.key!r} of a new {table.noun}")
    if each is None:
        checks |= has_name(tool, table)
    if table.kind is KeyKind.NATURAL:
        fields = {name: next_name(table, name) for name in table.names} | fields
    fields = {
        **born(tool, table),
        **stamps(table, is_new=True),
        **fields,
        link: key_expression(parent, "$parent"),
    }
    make = Effect(action="create", table=table.noun, each=each, fields=FrozenDict(fields))
    make = upserted(make, tool, table, tool.data)
    shown = {table.noun: shown_row(table, "$make")}
    content = Content(table=table, plain=shown, row="$make", message=f"{table.noun} added")
    if each is not None:
        content = Content(table=table, plain={table.noun: shown_rows(table, "$make")}, rows="$make")
    blueprint = finished(tool, table, lookups, checks, {"make": make}, content, tables)
    said = f"{article(table.noun)} is added to the {parent.noun}"
    return blueprint, said if make.on_conflict == "refuse" else f"{said}; {told_of(make)}"


def list_of(parent: Table, table: Table) -> str | None:
    """Return the column of a parent that lists things of a table (`tag` -> `tags`), or None."""
    for name, column in sorted(parent.columns.items()):
        if column.body.type is FieldType.ARRAY and singular(snake(name)) == table.noun:
            return name
    return None


def _append_to_list(
    tool: Tool, picked: Picked, column: str, item: Input, tables: Tables
) -> tuple[ToolBlueprint, str]:
    """What is added goes to a list that its parent holds; what is there already is not added."""
    own = f"$item.{column}"
    if item.is_list:
        raise Unclear(f"{item.param.name!r} adds several things to a list at once")
    added = {"@if": [{"@in": [item.ref, own]}, own, {"@append": [own, item.ref]}]}
    fields = {column: added}
    blueprint = change(tool, picked, fields, {}, {}, tables)
    return blueprint, f"{item.param.name!r} is added to {column!r} of the {picked.table.noun}"


def is_childs(item: Input, table: Table, parent: Table) -> bool:
    return refers_to(item, table.noun) and not refers_to(item, parent.noun)


def _list_of_texts(tool: Tool, table: Table, skip: tuple[Input, ...]) -> Input | None:
    """Return the one list whose elements are rows of the table themselves (`tags`), or None."""
    for item in tool.data:
        column = table.find(item.word)
        is_own = refers_to(item, table.noun)
        is_text = column is None or table.columns[column].body.type is FieldType.STRING
        if item not in skip and item.is_list and item.kind == "string" and is_own and is_text:
            return item
    return None


def _append_to_row(tool: Tool, table: Table, tables: Tables) -> tuple[ToolBlueprint, str]:
    """What is added to a row itself goes to the end of a list or a text that it holds."""
    picked = pick(table, own_identifiers(tool))
    batch = tool.first(Role.BATCH)
    if batch is not None and any(part.type == "array" for part in item_inputs(batch).values()):
        raise Unclear("it adds lists of things to many rows at once")
    if batch is not None or (not picked.conditions and not table.is_single):
        return create(tool, table, tables)
    fields: dict[str, Any] = {}
    for item in tool.data:
        column = table.find(item.word)
        if item in picked.inputs or column is None or column == table.key:
            continue
        kind, own = table.columns[column].body.type, f"$item.{column}"
        if kind is FieldType.ARRAY and not item.is_list:
            value: Any = {"@append": [own, item.ref]}
        elif kind is FieldType.STRING and item.kind == "string" and not item.is_list:
            is_text = (
                table.find(_words()["child_texts"][0]) == column
                or item.word in (_words()["child_texts"])
            )
            longer = {
                "@concat": [{"@if": [{"@is_null": own}, "", {"@concat": [own, "\n"]}]}, item.ref]
            }
            value = longer if is_text else item.ref
        elif item.is_list == (kind is FieldType.ARRAY) and (item.is_list or fits(item, kind)):
            value = item.ref
        else:
            continue
        if not item.is_always_given:
            value = {"@if": [{"@is_null": item.ref}, own, value]}
        fields[column] = value
    if not fields:
        raise Unclear(f"nothing that it takes can be added to {article(table.noun)}")
    said = f"{', '.join(sorted(fields))} of the {table.noun} grow"
    return change(tool, picked, fields, {}, {}, tables), said
