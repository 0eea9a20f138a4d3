"""A blueprint compiled: argument validators, entity models and one pure function a tool.

A tool is `(tables, now, arguments) -> Answer`: it asks for puts and deletes and never applies them. The engine
alone validates and applies (see engine.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
)
from components.environment.query import compile_query
from components.environment.state import Table
from components.errors import SynthesisError
from components.records.blueprint import Blueprint, Effect, ToolBlueprint
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, thaw
from components.records.spec import ServiceSpec, ToolSpec


class Refusal(Exception):
    """A tool's error answer."""

    def __init__(self, code: ErrorCode, message: str, **details: Any) -> None:
        """Args: code of the fixed set; message for the caller; details as JSON values."""
        super().__init__(message)
        self.code, self.message, self.details = code, message, details


@dataclass(frozen=True, slots=True)
class Asked:
    """One change that a tool asks for; `values` None deletes."""

    table: str
    row_id: str
    values: Mapping[str, Any] | None
    cause: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool returns: the changes that it asks for, and the answer's data."""

    asked: tuple[Asked, ...]
    data: Any


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
    tools: Mapping[str, CompiledTool]
    """Offered tools only: quarantined ones are not here."""


def compile_service(spec: ServiceSpec, blueprint: Blueprint) -> CompiledService:
    """Compile a blueprint against its spec.

    Raises:
        SynthesisError: an expression, table, field or schema is wrong; the message names tool and place.
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
    return CompiledService(spec, blueprint, models, tools)


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
        validator = jsonschema_rs.validator_for(schema)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise SynthesisError(f"{where}: its input schema cannot be compiled: {error}") from error
    properties = schema.get("properties") or {}
    defaults = {
        name: item["default"]
        for name, item in properties.items()
        if isinstance(item, dict) and "default" in item
    }
    try:
        run = _tool_function(tool, blueprint)
    except ExpressionError as error:
        raise SynthesisError(f"{where}: {error}") from error
    return CompiledTool(spec, tool, validator, FrozenDict(defaults), run)


def _tool_function(tool: ToolBlueprint, blueprint: Blueprint) -> ToolFunction:
    tables = table_vocabulary(blueprint, qualified=False)
    vocabulary = Vocabulary({"args", *tool.lookups}, tables)
    lookups = []
    for name, lookup in sorted(tool.lookups.items()):
        key = _entity_key(blueprint, lookup.table, lookup.field)
        row: Any = {"table": lookup.table, "field": lookup.field or key, "equals": lookup.equals}
        equals = compile_expression(lookup.equals, vocabulary)
        lookups.append(
            (
                name,
                lookup,
                compile_expression({"@row": row}, vocabulary),
                equals,
                lookup.field or key,
            )
        )
    checks = [
        (name, check, compile_expression(check.holds, vocabulary))
        for name, check in sorted(tool.checks.items())
    ]
    effects = []
    for name, effect in sorted(tool.effects.items()):
        effects.append(_compile_effect(name, effect, blueprint, vocabulary))
        vocabulary = vocabulary.with_names(name)
    query = None
    if tool.query is not None:
        entity_key = _entity_key(blueprint, tool.query.table, None)
        query = compile_query(tool.query, entity_key, vocabulary)
        vocabulary = vocabulary.with_names("rows", "total", "next_cursor")
    result = compile_expression(tool.result, vocabulary)

    def run(tables: Mapping[str, Table], now: str, arguments: Mapping[str, Any]) -> Answer:
        scope = Scope({"args": arguments}, tables, now)
        for name, lookup, find, equals, field in lookups:
            row = find(scope)
            if row is None and not lookup.optional:
                wanted = equals(scope)
                raise Refusal(
                    ErrorCode.NOT_FOUND, f"no {lookup.table} with {field} {wanted!r}", field=field
                )
            scope.names[name] = row
        for name, check, holds in checks:
            if not holds(scope):
                raise Refusal(check.code, check.message, rule=name)
        asked: dict[tuple[str, str], Asked] = {}
        for effect in effects:
            effect(scope, asked)
        if query is not None:
            page = query(scope)
            if page is None:
                raise Refusal(ErrorCode.INVALID_ARGUMENTS, "unknown cursor", field="cursor")
            scope.names.update(page)
        return Answer(tuple(asked.values()), result(scope))

    return run


def _entity_key(blueprint: Blueprint, table: str, field: str | None) -> str:
    entity = blueprint.entities.get(table)
    if entity is None:
        raise ExpressionError(f"unknown table {table!r}; known: {', '.join(blueprint.entities)}")
    if field is not None and field not in entity.fields:
        raise ExpressionError(f"table {table!r} has no field {field!r}")
    return entity.key


CompiledEffect = Callable[[Scope, dict[tuple[str, str], Asked]], None]


def _compile_effect(
    name: str, effect: Effect, blueprint: Blueprint, vocabulary: Vocabulary
) -> CompiledEffect:
    entity = blueprint.entities.get(effect.table)
    if entity is None:
        raise ExpressionError(f"effect {name!r}: unknown table {effect.table!r}")
    unknown = sorted(set(effect.fields) - set(entity.fields))
    if unknown:
        raise ExpressionError(f"effect {name!r}: {effect.table} has no field {unknown[0]!r}")
    if effect.target is not None and effect.target not in vocabulary.names:
        raise ExpressionError(f"effect {name!r}: unknown target {effect.target!r}")
    inner = vocabulary.with_names("item", "element")
    when = compile_expression(effect.when, vocabulary)
    fields = {
        field: compile_expression(value, inner) for field, value in sorted(effect.fields.items())
    }
    cause = f"effect:{name}"
    if effect.action == "create":
        return _create(name, effect, entity, when, fields, inner)
    select = _selection(effect, entity.key, inner)
    key = entity.key

    def change(scope: Scope, asked: dict[tuple[str, str], Asked]) -> None:
        if not when(scope):
            return
        for row in select(scope):
            row_id = row[key]
            if effect.action == "delete":
                asked[effect.table, row_id] = Asked(effect.table, row_id, None, cause)
                continue
            scope.names["item"] = row
            before = asked.get((effect.table, row_id))
            values = dict(row if before is None or before.values is None else before.values)
            for field, value in fields.items():
                values[field] = value(scope)
            is_new = before is not None and before.is_new
            asked[effect.table, row_id] = Asked(effect.table, row_id, values, cause, is_new)
            scope.names[name] = FrozenDict(values)

    return change


def _selection(effect: Effect, key: str, vocabulary: Vocabulary) -> Callable[[Scope], list[Any]]:
    if effect.target is not None:
        target = effect.target
        return lambda scope: [row] if (row := scope.names.get(target)) is not None else []
    rows = compile_expression({"@rows": {"table": effect.table, "where": effect.where}}, vocabulary)
    assert key  # rows of many are addressed by their key
    return lambda scope: list(rows(scope))


def _create(
    name: str,
    effect: Effect,
    entity: Any,
    when: Compiled,
    fields: Mapping[str, Compiled],
    vocabulary: Vocabulary,
) -> CompiledEffect:
    defaults = {
        field: compile_expression(blueprint.default, vocabulary)
        for field, blueprint in sorted(entity.fields.items())
        if field != entity.key
    }
    nullable = {field for field, blueprint in entity.fields.items() if blueprint.nullable}
    each = None if effect.each is None else compile_expression(effect.each, vocabulary)
    table, key, cause = effect.table, entity.key, f"effect:{name}"

    def build(scope: Scope, asked: dict[tuple[str, str], Asked]) -> FrozenDict[str, Any]:
        values: dict[str, Any] = {}
        for field, default in defaults.items():
            value = fields[field](scope) if field in fields else None
            if value is None and (field not in fields or field not in nullable):
                value = default(scope)
            values[field] = value
        taken = scope.tables[table].rows
        if entity.generated_key:
            pending = {row_id for name_, row_id in asked if name_ == table}
            row_id = new_id(table, entity.prefix, values, _Taken(taken, pending))
        else:
            row_id = fields[key](scope) if key in fields else None
            if not isinstance(row_id, str):
                raise ExpressionError(f"effect {name!r}: key {key!r} is {row_id!r}, not a text")
            if row_id in taken or (table, row_id) in asked:
                raise Refusal(
                    ErrorCode.CONFLICT, f"{table} with {key} {row_id!r} already exists", field=key
                )
        row = FrozenDict({key: row_id, **values})
        asked[table, row_id] = Asked(table, row_id, row, cause, is_new=True)
        return row

    def create(scope: Scope, asked: dict[tuple[str, str], Asked]) -> None:
        if not when(scope):
            return
        if each is None:
            scope.names[name] = build(scope, asked)
            return
        made = []
        for element in each(scope) or ():
            scope.names["element"] = element
            made.append(build(scope, asked))
        scope.names[name] = tuple(made)

    return create


class _Taken(Mapping[str, Any]):
    """Ids in the table and ids asked for in this call, as one mapping; nothing is copied."""

    def __init__(self, rows: Mapping[str, Any], pending: set[str]) -> None:
        self._rows, self._pending = rows, pending

    def __getitem__(self, key: str) -> Any:
        return self._rows[key]

    def __contains__(self, key: object) -> bool:
        return key in self._pending or key in self._rows

    def __iter__(self) -> Any:
        return iter({*self._rows, *self._pending})

    def __len__(self) -> int:
        return len(self._rows) + len(self._pending)
