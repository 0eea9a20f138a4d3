"""A blueprint compiled: argument validators, entity models and one pure function a tool.

A tool is `(tables, now, arguments) -> Answer`: it asks for puts and deletes and never applies them.
The engine alone validates and applies (see engine.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs
from pydantic import BaseModel

from components.environment.effects import AskedByRow, Refusal, compile_effect
from components.environment.entities import entity_model
from components.environment.expressions import (
    ExpressionError,
    Scope,
    Vocabulary,
    compile_expression,
)
from components.environment.query import compile_query
from components.environment.state import Table
from components.environment.values import settle
from components.errors import SynthesisError
from components.records.blueprint import (
    Blueprint,
    Check,
    Lookup,
    ToolBlueprint,
)
from components.records.calls import ErrorCode
from components.records.frozen import JsonObject, thaw
from components.records.spec import ServiceSpec, ToolSpec


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
        effects.append(compile_effect(name, effect, tool, blueprint, vocabulary))
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
