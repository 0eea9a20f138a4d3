"""What a tool asks for: rows made, changed and removed, and the refusals that stop it.

Owns the effects of a blueprint compiled to functions that ask for changes. A row that a create
finds there already is refused, kept or replaced, as its effect says.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from components.environment.entities import new_id
from components.environment.expressions import (
    Compiled,
    ExpressionError,
    Scope,
    Vocabulary,
    compile_expression,
    elements_of,
    same,
)
from components.records.blueprint import Blueprint, Effect, EntityBlueprint, ToolBlueprint
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, JsonObject


class Refusal(Exception):
    """A tool's error answer."""

    def __init__(self, code: ErrorCode, message: str, **details: Any) -> None:
        """Args: code of the fixed set; message for the caller; details as JSON values."""
        super().__init__(message)
        self.code, self.message, self.details = code, message, details


@dataclass(slots=True)
class Asked:
    """One change that a tool asks for; `values` None deletes. Lives within one call."""

    table: str
    row_id: str
    values: Mapping[str, Any] | None
    cause: str
    is_new: bool = False


AskedByRow = dict[tuple[str, str], Asked]
"""One change a row, by table and id."""


CompiledEffect = Callable[[Scope, AskedByRow], None]


def compile_effect(
    name: str,
    effect: Effect,
    tool: ToolBlueprint,
    blueprint: Blueprint,
    vocabulary: Vocabulary,
) -> CompiledEffect:
    entity = blueprint.entities.get(effect.table)
    if entity is None:
        raise ExpressionError(f"effect {name!r}: unknown table {effect.table!r}")
    unknown = sorted(set(effect.fields) - set(entity.fields))
    if unknown:
        raise ExpressionError(f"effect {name!r}: {effect.table} has no field {unknown[0]!r}")
    when = compile_expression(effect.when, vocabulary)
    is_create = effect.action == "create"
    inner = vocabulary.with_names("element" if is_create else "item")
    if effect.on_conflict != "refuse":
        inner = inner.with_names("item")
    fields = {
        field: compile_expression(value, inner) for field, value in sorted(effect.fields.items())
    }
    if is_create:
        return _create(name, effect, entity, when, fields, inner)
    return _change(name, effect, entity, when, fields, _selection(name, effect, tool, vocabulary))


def _selection(
    name: str, effect: Effect, tool: ToolBlueprint, vocabulary: Vocabulary
) -> Callable[[Scope], Iterable[JsonObject]]:
    """Return which rows an update or delete is about, in the state before the call."""
    if effect.target is not None:
        target = effect.target
        if target not in tool.lookups or tool.lookups[target].table != effect.table:
            raise ExpressionError(f"effect {name!r}: {target!r} is no lookup in {effect.table!r}")
        return lambda scope: () if (row := scope.names[target]) is None else (row,)
    if effect.where is None:
        raise ExpressionError(f"effect {name!r} needs `target` or `where`")
    return compile_expression({"@rows": {"table": effect.table, "where": effect.where}}, vocabulary)


def _change(
    name: str,
    effect: Effect,
    entity: EntityBlueprint,
    when: Compiled,
    fields: Mapping[str, Compiled],
    select: Callable[[Scope], Iterable[JsonObject]],
) -> CompiledEffect:
    """Update or delete. Updates of one row add up; expressions see the row before the call."""
    table, key, cause = effect.table, entity.key, f"effect:{name}"
    is_one, is_delete = effect.target is not None, effect.action == "delete"

    def change(scope: Scope, asked: AskedByRow) -> None:
        if not when(scope):
            return
        after = []
        for row in select(scope):
            place = (table, row[key])
            if is_delete:
                asked[place] = Asked(table, row[key], None, cause)
                continue
            earlier = asked.get(place)
            if earlier is not None and earlier.values is None:
                raise ExpressionError(f"effect {name!r} updates {row[key]!r}, which is deleted")
            scope.names["item"] = row
            values = dict(row if earlier is None or earlier.values is None else earlier.values)
            for field, value in fields.items():
                values[field] = value(scope)
            frozen = FrozenDict(values)
            asked[place] = Asked(table, row[key], frozen, cause)
            after.append(frozen)
        if not is_delete:
            scope.names[name] = tuple(after) if not is_one else after[0] if after else None

    return change


def _create(
    name: str,
    effect: Effect,
    entity: EntityBlueprint,
    when: Compiled,
    fields: Mapping[str, Compiled],
    vocabulary: Vocabulary,
) -> CompiledEffect:
    build = compile_new_row(entity, fields, vocabulary)
    each = None if effect.each is None else compile_expression(effect.each, vocabulary)
    replaced = None if effect.on_conflict == "refuse" else _replaced(name, effect, entity, fields)
    decide = compile_expression(effect.on_conflict, vocabulary)
    table, key, cause = effect.table, entity.key, f"effect:{name}"

    def make(scope: Scope, asked: AskedByRow) -> JsonObject:
        taken = _Taken(table, scope.tables[table].rows, asked)
        if replaced is not None and (old := replaced(scope, asked, decide(scope))) is not None:
            return old
        row = build(scope, table, taken)
        row_id = row[key]
        if row_id in taken:
            message = f"{table} with {key} {row_id!r} already exists"
            raise Refusal(ErrorCode.CONFLICT, message, field=key)
        asked[table, row_id] = Asked(table, row_id, row, cause, is_new=True)
        return row

    def create(scope: Scope, asked: AskedByRow) -> None:
        if not when(scope):
            return
        if each is None:
            scope.names[name] = make(scope, asked)
            return
        made = []
        for element in elements_of("each", each(scope)):
            scope.names["element"] = element
            made.append(make(scope, asked))
        scope.names[name] = tuple(made)

    return create


def _replaced(
    name: str, effect: Effect, entity: EntityBlueprint, fields: Mapping[str, Compiled]
) -> Callable[[Scope, AskedByRow, str], JsonObject | None]:
    """Return what finds the row that a create names and puts its new values in its place; null
    where there is none.
    """
    table, key, cause = effect.table, entity.key, f"effect:{name}"
    names = effect.names or (key,)
    unknown = sorted(set(names) - set(fields))
    if unknown:
        raise ExpressionError(f"effect {name!r}: nothing gives {unknown[0]!r}, which names the row")
    others = {field: value for field, value in fields.items() if field != key}

    def replace(scope: Scope, asked: AskedByRow, choice: str) -> JsonObject | None:
        scope.names["item"] = None
        wanted = {field: fields[field](scope) for field in names}
        old = _row_named(wanted, table, key, scope, asked)
        if old is None:
            return None
        if choice == "refuse":
            called = " and ".join(f"{field} {value!r}" for field, value in wanted.items())
            message = f"{table} with {called} already exists"
            raise Refusal(ErrorCode.CONFLICT, message[:300], field=names[0])
        place = (table, old[key])
        scope.names["item"] = old
        if choice == "replace":
            given = {field: value(scope) for field, value in others.items()}
            kept = {
                field: old[field]
                for field, value in given.items()
                if value is None and not entity.fields[field].nullable
            }
            row: JsonObject = FrozenDict({**old, **given, **kept})
            is_new = place in asked and asked[place].is_new
            asked[place] = Asked(table, old[key], row, cause, is_new=is_new)
            old = row
        scope.names["item"] = None
        return old

    return replace


def _row_named(
    wanted: Mapping[str, Any], table: str, key: str, scope: Scope, asked: AskedByRow
) -> JsonObject | None:
    """Return the row with these values as this call leaves it so far, or None; null names none."""
    if None in wanted.values():
        return None
    for (place, _), item in asked.items():
        if place == table and item.values is not None and _holds(item.values, wanted):
            return FrozenDict(item.values)
    rows = scope.tables[table]
    if tuple(wanted) == (key,):
        found = rows.values_of(wanted[key])
    else:
        found = next((row for row in rows.in_order() if _holds(row, wanted)), None)
    return None if found is None or (table, found[key]) in asked else found


def _holds(row: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(same(row[field], value) for field, value in wanted.items())


def compile_new_row(
    entity: EntityBlueprint, fields: Mapping[str, Compiled], vocabulary: Vocabulary
) -> Callable[[Scope, str, Container[str]], JsonObject]:
    """Compile the making of a row: given fields, then defaults, then its key.

    A field that is given as null takes its default unless it is nullable. A key that the service
    makes is made only where none is given: null and the empty text are none.

    Returns:
        A function of scope, table name and ids taken; ExpressionError when the key is no text.
    """
    key = entity.key
    parts = []
    for field, blueprint in sorted(entity.fields.items()):
        if field != key:
            default = compile_expression(blueprint.default, vocabulary)
            parts.append((field, fields.get(field), blueprint.nullable, default))
    if not entity.generated_key and key not in fields:
        raise ExpressionError(f"a new row needs its key {key!r}")

    def build(scope: Scope, table: str, taken: Container[str]) -> JsonObject:
        values: dict[str, Any] = {}
        for field, given, is_nullable, default in parts:
            if given is None:
                values[field] = default(scope)
                continue
            value = given(scope)
            values[field] = default(scope) if value is None and not is_nullable else value
        row_id = fields[key](scope) if key in fields else None
        if entity.generated_key and row_id in (None, ""):
            return FrozenDict({key: new_id(table, entity.prefix, values, taken), **values})
        if not isinstance(row_id, str):
            raise ExpressionError(f"key {key!r} is {row_id!r}, not a text"[:200])
        return FrozenDict({key: row_id, **values})

    return build


class _Taken:
    """Ids in the table and ids asked for in this call; nothing is copied."""

    __slots__ = ("_asked", "_rows", "_table")

    def __init__(self, table: str, rows: Container[str], asked: AskedByRow) -> None:
        self._table, self._rows, self._asked = table, rows, asked

    def __contains__(self, row_id: object) -> bool:
        return row_id in self._rows or (self._table, row_id) in self._asked
