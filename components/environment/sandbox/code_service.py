"""A code service made into what the engine runs: the same interface as a compiled blueprint.

Owns the passage between the engine and a worker: rows and arguments go in, asked changes and data
come out as JSON in the one form. The engine validates and applies them, so that state stays a value
and an error changes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from components.environment.effects import Asked, Refusal
from components.environment.entities import entity_model
from components.environment.names import is_id_of, snake
from components.environment.reading.read import read_spec
from components.environment.reading.records import Role, ToolReading
from components.environment.sandbox.workers import Workers, parsed
from components.environment.service import Answer, CompiledService, ToolFunction, compile_service
from components.environment.state import Table
from components.environment.values import settle, valid_text
from components.errors import SynthesisError
from components.records.blueprint import (
    Blueprint,
    EntityBlueprint,
    FieldType,
    FunctionalClass,
    Lookup,
    Operation,
    Quarantine,
    QuarantineReason,
    SeedData,
    ToolBlueprint,
)
from components.records.calls import ErrorCode
from components.records.code import CodeService
from components.records.frozen import FrozenDict, JsonObject, content_hash
from components.records.spec import ServiceSpec, ToolSpec

_FAULT = "the service broke its own rules; nothing was changed"
_NAMING = frozenset({Role.IDENTIFIER, Role.PARENT, Role.REFERENCE})
"""Parameters that name a row."""
_READS = frozenset({Operation.GET, Operation.LIST, Operation.SEARCH})


@dataclasses.dataclass(frozen=True, slots=True)
class Described:
    """A code service whose files load, and the seed that fits its tables."""

    code: CodeService
    seed: SeedData


def compile_code_service(spec: ServiceSpec, code: CodeService, workers: Workers) -> CompiledService:
    """Return a code service ready to run; no code is executed until a tool is called.

    Raises:
        SynthesisError: its shape does not fit the spec.
    """
    compiled = compile_service(spec, code.shape)
    name = content_hash(dict(code.sources))
    tools = {
        tool: found
        if found.blueprint.simulated
        else dataclasses.replace(found, run=_tool_function(tool, name, code, compiled, workers))
        for tool, found in compiled.tools.items()
    }
    return dataclasses.replace(compiled, tools=tools)


def describe_sources(
    spec: ServiceSpec,
    sources: Mapping[str, str],
    hints: Blueprint,
    seed: SeedData,
    workers: Workers,
) -> Described:
    """Load files once in the sandbox and return the service that they make.

    Args:
        spec: the tools that there must be.
        sources: Python files by name.
        hints: the compiler's blueprint: class, operation and lookups of the tools.
        seed: rows to start from; those that fit the code's tables are kept, its own are added.
        workers: where the files are loaded; the service keeps their walls and deadline.

    Raises:
        SynthesisError: they do not load, or declare something that cannot be used; it says where.
    """
    found = parsed(workers.describe(sources))
    if "fault" in found:
        raise SynthesisError(told_fault(found["fault"]))
    try:
        entities = {str(n): _entity(part) for n, part in sorted(dict(found["tables"]).items())}
        declared = {str(n): str(part) for n, part in dict(found["tools"]).items()}
        own = FrozenDict(settle(found["seed"]))
        tools, quarantined = _tools(spec, declared, hints, entities)
        shape = Blueprint(
            service=spec.service,
            entities=FrozenDict(entities),
            tools=FrozenDict(tools),
            quarantined=FrozenDict(quarantined),
        )
        code = CodeService(
            service=spec.service,
            sources=FrozenDict(sources),
            walls=workers.walls.value,
            deadline_seconds=workers.limits.deadline_seconds,
            shape=shape,
        )
        return Described(code, _fitting_seed(spec, shape, seed, own))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = _first_line(error)
        raise SynthesisError(f"what service.py declares cannot be used: {problem}") from error


def external_tools(blueprint: Blueprint) -> frozenset[str]:
    """Return the tools whose answers lie outside of any service; code may not pretend to them."""
    return frozenset(
        {n for n, q in blueprint.quarantined.items() if q.reason is QuarantineReason.EXTERNAL}
        | {n for n, tool in blueprint.tools.items() if tool.simulated}
    )


def told_fault(fault: Any) -> str:
    """Return a fault of code in one line, with the place in its files."""
    if not isinstance(fault, Mapping):
        return "it failed without saying how"
    places = fault.get("places")
    last = places[-1] if isinstance(places, list) and places else None
    place = last if isinstance(last, Mapping) else {"file": "service.py", "line": fault.get("line")}
    line = fault.get("line") or place.get("line")
    where = f"{place.get('file')} line {line}: " if isinstance(line, int) else ""
    text = f"{where}{fault.get('kind')}: {fault.get('problem')}"
    return valid_text(" ".join(text.split()))[:600]


def _tool_function(
    tool: str, name: str, code: CodeService, compiled: CompiledService, workers: Workers
) -> ToolFunction:
    cause = f"effect:{tool}"

    def run(tables: Mapping[str, Table], now: str, arguments: Mapping[str, Any]) -> Answer:
        found = parsed(workers.call(code.sources, tool, arguments, now, tables, name=name))
        if "fault" in found:
            fault = found["fault"]
            kind = str(fault.get("kind")) if isinstance(fault, Mapping) else "fault"
            raise Refusal(ErrorCode.INTERNAL, _FAULT, kind=kind[:80], problem=told_fault(fault))
        if "code" in found:
            raise _refusal(found)
        asked = {}
        for change in found["changes"]:
            table, row_id, values = change["table"], change["id"], change["values"]
            if table not in compiled.models or not isinstance(row_id, str):
                raise ValueError(f"a change names no row of a table: {table!r}/{row_id!r}"[:200])
            row = None if values is None else settle(values)
            if row is not None and not isinstance(row, FrozenDict):
                raise ValueError(f"{table}/{row_id}: a row must be an object"[:200])
            is_new = row is not None and row_id not in tables[table].rows
            asked[table, row_id] = Asked(table, row_id, row, cause, is_new)
        return Answer(asked, settle(found["data"]))

    return run


def _refusal(found: Mapping[str, Any]) -> Refusal:
    details = settle(found.get("details"))
    if not isinstance(details, FrozenDict):
        raise ValueError("a refusal's details must be an object")
    refusal = Refusal(ErrorCode(found["code"]), str(found.get("message")))
    refusal.details = details
    return refusal


def _entity(part: Mapping[str, Any]) -> EntityBlueprint:
    given = {name: value for name, value in part.items() if value is not None}
    entity = EntityBlueprint.model_validate({**given, "generated_key": part["prefix"] is not None})
    key = entity.fields.get(entity.key)
    if key is None or key.type is not FieldType.STRING or key.nullable:
        raise ValueError(f"the key {entity.key!r} must be a field of type str")
    return entity


def _tools(
    spec: ServiceSpec,
    declared: Mapping[str, str],
    hints: Blueprint,
    entities: Mapping[str, EntityBlueprint],
) -> tuple[dict[str, ToolBlueprint], dict[str, Quarantine]]:
    outside = external_tools(hints)
    readings = read_spec(spec)
    tools: dict[str, ToolBlueprint] = {}
    quarantined: dict[str, Quarantine] = {}
    for name in sorted(spec.tools):
        hint = hints.tools.get(name)
        if name in outside:
            if hint is not None:
                tools[name] = hint.model_copy(update={"entity": None})
            else:
                quarantined[name] = hints.quarantined[name]
            continue
        if name not in declared:
            detail = "service.py has no function for it"
            quarantined[name] = Quarantine(reason=QuarantineReason.UNCLEAR, detail=detail)
            continue
        if hint is not None:
            tools[name] = _hinted(hint, entities)
            continue
        operation = Operation(declared[name]) if declared[name] else Operation.COMPUTE
        functional = FunctionalClass.WRITE
        if operation in _READS:
            functional = FunctionalClass.READ
        elif operation in (Operation.COMPUTE, Operation.EXTERNAL):
            functional = FunctionalClass.PROCESS
        entity = readings[name].entity
        if entity not in entities:
            entity = next(iter(entities)) if len(entities) == 1 else None
        tools[name] = ToolBlueprint(
            operation=operation,
            functional=functional,
            entity=entity if operation is not Operation.COMPUTE else None,
            difficulty=readings[name].difficulty,
            lookups=FrozenDict(_read_lookups(spec.tools[name], readings[name], entity, entities)),
        )
    return tools, quarantined


def _read_lookups(
    tool: ToolSpec,
    reading: ToolReading,
    entity: str | None,
    entities: Mapping[str, EntityBlueprint],
) -> dict[str, Lookup]:
    """Return the rows that a tool's required arguments name, as its specification reads."""
    found = {}
    properties = tool.input_schema.get("properties") or {}
    for argument in tool.input_schema.get("required") or ():
        role = reading.roles.get(argument)
        if role not in _NAMING or (properties.get(argument) or {}).get("type") != "string":
            continue
        word = snake(argument)
        named = [name for name in sorted(entities) if word != "id" and is_id_of(word, name)]
        table = named[0] if named else None if role is Role.REFERENCE else entity
        if table is not None:
            is_loose = role is Role.REFERENCE
            found[f"of_{argument}"] = Lookup(
                table=table, equals=f"$args.{argument}", optional=is_loose
            )
    return found


def _hinted(hint: ToolBlueprint, entities: Mapping[str, EntityBlueprint]) -> ToolBlueprint:
    """Return what is known of a tool apart from its effects; lookups only in tables that exist."""

    def stands(lookup: Lookup) -> bool:
        entity = entities.get(lookup.table)
        return entity is not None and (lookup.field is None or lookup.field in entity.fields)

    lookups = {name: item for name, item in hint.lookups.items() if stands(item)}
    return ToolBlueprint(
        operation=hint.operation,
        functional=hint.functional,
        entity=hint.entity if hint.entity in entities else None,
        difficulty=hint.difficulty,
        lookups=FrozenDict(lookups),
    )


def _fitting_seed(
    spec: ServiceSpec, shape: Blueprint, seed: SeedData, own: Mapping[str, Any]
) -> SeedData:
    """Return the given rows that fit the code's tables, cut to their fields, and the code's own."""
    tables: dict[str, FrozenDict[str, JsonObject]] = {}
    for table, entity in shape.entities.items():
        model = entity_model(spec.service, table, entity)
        defaults = {n: f.default for n, f in entity.fields.items() if not f.required}
        rows: dict[str, JsonObject] = {}
        given = seed.tables.get(table, FrozenDict())
        for row_id, values in (*given.items(), *own.get(table, FrozenDict()).items()):
            row = {**defaults, **{n: v for n, v in values.items() if n in entity.fields}}
            try:
                model.model_validate(settle(row))
            except ValueError:
                continue
            if row[entity.key] == row_id:
                rows.setdefault(row_id, FrozenDict(settle(row)))
        tables[table] = FrozenDict(rows)
    return SeedData(service=spec.service, tables=FrozenDict(tables))


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return f"{type(error).__name__}: {error}"[:300]
