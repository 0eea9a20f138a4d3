"""A blueprint compiled: argument validators, entity models and one pure function a tool.

A tool is `(tables, now, arguments) -> Answer`: it asks for puts and deletes and never applies them.
The engine alone validates and applies (see engine.py).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs
from pydantic import BaseModel

from components.environment.entities import entity_model, new_id
from components.environment.expressions import (
    Compiled,
    ExpressionError,
    Scope,
    Vocabulary,
    compile_expression,
    elements_of,
)
from components.environment.query import compile_query
from components.environment.state import Table
from components.environment.values import settle
from components.errors import SynthesisError
from components.records.blueprint import (
    Blueprint,
    Check,
    Effect,
    EntityBlueprint,
    Lookup,
    ToolBlueprint,
)
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, JsonObject, thaw
from components.records.spec import ServiceSpec, ToolSpec


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


@dataclass(slots=True)
class Answer:
    """What a tool returns: the changes that it asks for, and the answer's data."""

    asked: AskedByRow
    data: Any


_RESERVED = frozenset({"args", "element", "item", "next_cursor", "now", "rows", "total"})
"""Names that the language itself binds: a lookup or effect of that name would be overwritten."""

ToolFunction = Callable[[Mapping[str, Table], str, Mapping[str, Any]], Answer]


@dataclass(frozen=True, slots=True)
class CompiledTool:
    """One tool, ready to run."""

    spec: ToolSpec
    blueprint: ToolBlueprint
    validator: Any
    """A compiled JSON Schema validator (`jsonschema_rs`)."""
    defaults: Mapping[str, Any]
    """Top-level schema defaults, filled in before the call."""
    run: ToolFunction


@dataclass(frozen=True, slots=True)
class CompiledService:
    """A service, ready to run; holds no state."""

    spec: ServiceSpec
    blueprint: Blueprint
    models: Mapping[str, type[BaseModel]]
    """Entity model by table."""
    keys: Mapping[str, str]
    """Key field by table."""
    tools: Mapping[str, CompiledTool]
    """Offered tools only: quarantined ones are not here."""


def compile_service(spec: ServiceSpec, blueprint: Blueprint) -> CompiledService:
    """Compile a blueprint against its spec.

    Raises:
        SynthesisError: an expression, table, field or schema is wrong; it names tool and place.
    """
    if spec.service != blueprint.service:
        raise SynthesisError(f"spec {spec.service!r} and blueprint {blueprint.service!r} differ")
    models = {
        table: entity_model(spec.service, table, entity)
        for table, entity in blueprint.entities.items()
    }
    tools = {}
    for name, tool in sorted(blueprint.tools.items()):
        if name in blueprint.quarantined:
            continue
        if name not in spec.tools:
            raise SynthesisError(f"{spec.service}.{name}: not in the spec")
        tools[name] = _compile_tool(spec.tools[name], tool, blueprint)
    keys = {table: entity.key for table, entity in blueprint.entities.items()}
    return CompiledService(spec, blueprint, models, keys, tools)


def table_vocabulary(
    blueprint: Blueprint, *, qualified: bool
) -> dict[str, tuple[str, frozenset[str]]]:
    """Return table name -> (key, fields), with the service's name in front when `qualified`."""
    start = f"{blueprint.service}." if qualified else ""
    return {
        start + table: (entity.key, frozenset(entity.fields))
        for table, entity in blueprint.entities.items()
    }


def _compile_tool(spec: ToolSpec, tool: ToolBlueprint, blueprint: Blueprint) -> CompiledTool:
    where = f"{blueprint.service}.{spec.name}"
    schema = thaw(spec.input_schema)
    try:
        # Offline: a `$ref` to an address must never make a request.
        validator = jsonschema_rs.validator_for(schema, offline=True)
        defaults = _defaults(schema)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise SynthesisError(f"{where}: its input schema cannot be compiled: {error}") from error
    try:
        run = _tool_function(tool, blueprint)
    except (ExpressionError, RecursionError) as error:
        raise SynthesisError(f"{where}: {error}") from error
    return CompiledTool(spec, tool, validator, defaults, run)


def _defaults(schema: Mapping[str, Any]) -> JsonObject:
    properties = schema.get("properties")
    found = {
        name: item["default"]
        for name, item in (properties.items() if isinstance(properties, Mapping) else ())
        if isinstance(item, Mapping) and "default" in item
    }
    settled: JsonObject = settle(found)
    return settled


def _tool_function(tool: ToolBlueprint, blueprint: Blueprint) -> ToolFunction:
    tables = table_vocabulary(blueprint, qualified=False)
    reserved = sorted(_RESERVED & {*tool.lookups, *tool.effects})
    if reserved:
        raise ExpressionError(f"no lookup or effect may be called {reserved[0]!r}")
    vocabulary = Vocabulary({"args", *tool.lookups}, tables)
    steps: list[Callable[[Scope], None]] = [
        _compile_lookup(name, lookup, blueprint, vocabulary)
        for name, lookup in sorted(tool.lookups.items())
    ]
    steps += [
        _compile_check(name, check, vocabulary) for name, check in sorted(tool.checks.items())
    ]
    effects = []
    for name, effect in sorted(tool.effects.items()):
        effects.append(_compile_effect(name, effect, tool, blueprint, vocabulary))
        vocabulary = vocabulary.with_names(name)
    query = None
    if tool.query is not None:
        entity_key = _entity_key(blueprint, tool.query.table, None)
        query = compile_query(tool.query, entity_key, vocabulary)
        vocabulary = vocabulary.with_names("rows", "total", "next_cursor")
    result = compile_expression(tool.result, vocabulary)

    def run(tables: Mapping[str, Table], now: str, arguments: Mapping[str, Any]) -> Answer:
        scope = Scope({"args": arguments}, tables, now)
        for step in steps:
            step(scope)
        asked: AskedByRow = {}
        for effect in effects:
            effect(scope, asked)
        if query is not None:
            page = query(scope)
            if isinstance(page, str):
                raise Refusal(ErrorCode.INVALID_ARGUMENTS, f"unknown {page}", field=page)
            scope.names.update(page)
        return Answer(asked, result(scope))

    return run


def _compile_lookup(
    name: str, lookup: Lookup, blueprint: Blueprint, vocabulary: Vocabulary
) -> Callable[[Scope], None]:
    table, key = lookup.table, _entity_key(blueprint, lookup.table, lookup.field)
    field = lookup.field or key
    if lookup.where:
        return _compile_selection(name, lookup, vocabulary)
    equals = compile_expression(lookup.equals, vocabulary)

    def look(scope: Scope) -> None:
        wanted, rows = equals(scope), scope.tables[table]
        row = rows.values_of(wanted) if field == key else rows.find(field, wanted)
        if row is None and not lookup.optional:
            message = f"no {table} with {field} {wanted!r}"
            raise Refusal(ErrorCode.NOT_FOUND, message, field=field)
        scope.names[name] = row

    return look


def _compile_selection(
    name: str, lookup: Lookup, vocabulary: Vocabulary
) -> Callable[[Scope], None]:
    """A lookup by several conditions; those that are null say nothing."""
    inner = vocabulary.with_names("item")
    conditions = [
        compile_expression(condition, inner) for _, condition in sorted(lookup.where.items())
    ]
    table = lookup.table

    def matches(scope: Scope, row: JsonObject) -> bool:
        scope.names["item"] = row
        verdicts = [found for part in conditions if (found := part(scope)) is not None]
        return bool(verdicts) and all(verdicts)

    def look(scope: Scope) -> None:
        row = next((row for row in scope.tables[table].in_order() if matches(scope, row)), None)
        scope.names.pop("item", None)
        if row is None and not lookup.optional:
            raise Refusal(ErrorCode.NOT_FOUND, f"no such {table}")
        scope.names[name] = row

    return look


def _compile_check(name: str, check: Check, vocabulary: Vocabulary) -> Callable[[Scope], None]:
    holds = compile_expression(check.holds, vocabulary)

    def hold(scope: Scope) -> None:
        if not holds(scope):
            raise Refusal(check.code, check.message, rule=name)

    return hold


def _entity_key(blueprint: Blueprint, table: str, field: str | None) -> str:
    entity = blueprint.entities.get(table)
    if entity is None:
        raise ExpressionError(
            f"unknown table {table!r}; known: {', '.join(sorted(blueprint.entities))}"
        )
    if field is not None and field not in entity.fields:
        raise ExpressionError(f"table {table!r} has no field {field!r}")
    return entity.key


CompiledEffect = Callable[[Scope, AskedByRow], None]


def _compile_effect(
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
    table, key, cause = effect.table, entity.key, f"effect:{name}"

    def make(scope: Scope, asked: AskedByRow) -> JsonObject:
        taken = _Taken(table, scope.tables[table].rows, asked)
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


def compile_new_row(
    entity: EntityBlueprint, fields: Mapping[str, Compiled], vocabulary: Vocabulary
) -> Callable[[Scope, str, Container[str]], JsonObject]:
    """Compile the making of a row: given fields, then defaults, then its key.

    A field that is given as null takes its default unless it is nullable.

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
        if entity.generated_key:
            return FrozenDict({key: new_id(table, entity.prefix, values, taken), **values})
        row_id = fields[key](scope)
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
