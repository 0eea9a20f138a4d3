"""Specs compiled to blueprints without any model, from what each tool was taken for.

Owns the order of the steps: read each tool, find tables, fill them from archetypes, apply one rule
to each tool, and seed. A tool that no rule fits is quarantined with a reason, and costs no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.compiler.bounds import add_bounded_columns
from components.environment.compiler.cells import compile_cells, settle_cells
from components.environment.compiler.columns import (
    add_archetype_columns,
    settle_senses,
    title_column,
)
from components.environment.compiler.computes import as_computation, compile_pure
from components.environment.compiler.inputs import (
    Tool,
    flat_names,
    read_tool,
    with_values,
    words_of,
)
from components.environment.compiler.moves import (
    add_state_columns,
    as_moves,
    compile_move,
    is_plain_move,
)
from components.environment.compiler.named_moves import as_named
from components.environment.compiler.observed import add_observed_columns
from components.environment.compiler.parents import with_parents
from components.environment.compiler.payloads import fitting, settle_rests, with_fields
from components.environment.compiler.places import settle_places
from components.environment.compiler.reads import compile_read
from components.environment.compiler.relations import compile_relation
from components.environment.compiler.renames import with_names
from components.environment.compiler.row_names import names_rows
from components.environment.compiler.rows import add_output_columns, told_by_output
from components.environment.compiler.seeding import seed_rows
from components.environment.compiler.setters import compile_count, with_own_words
from components.environment.compiler.simulates import simulated_tool
from components.environment.compiler.table import Table, Unclear
from components.environment.compiler.tables import find_tables, settings_of
from components.environment.compiler.told import add_told_columns
from components.environment.compiler.trees import settle_trees
from components.environment.compiler.upserts import as_makers
from components.environment.compiler.wholes import as_parts
from components.environment.compiler.works_out import works_out
from components.environment.compiler.writes import compile_write, update_many
from components.environment.expressions import tables_named
from components.environment.names import singular, tokens
from components.environment.params import Param, SchemaProblem, read_params
from components.environment.reading.features import server_prefix
from components.environment.reading.read import read_spec
from components.environment.reading.records import Role, ToolReading
from components.environment.scenes.stage import staged
from components.environment.service import compile_service
from components.environment.wrapped import closed, opened
from components.errors import SynthesisError
from components.records.blueprint import (
    Blueprint,
    Operation,
    Quarantine,
    QuarantineReason,
    SeedData,
    ToolBlueprint,
)
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec

_READS = frozenset({Operation.GET, Operation.LIST, Operation.SEARCH})
_MOST_TEXT = 400
"""Characters of a description that say what a service speaks of."""
_WRITES = frozenset({Operation.CREATE, Operation.UPDATE, Operation.DELETE})
_ADDS = frozenset({Operation.APPEND, Operation.LINK})
_NEED_VALUES = frozenset({Operation.CREATE, Operation.UPDATE})


def compile_spec(
    spec: ServiceSpec, readings: Mapping[str, ToolReading] | None = None
) -> tuple[Blueprint, SeedData, FrozenDict[str, str]]:
    """Compile a spec.

    Args:
        spec: the spec.
        readings: what each tool is taken for; None: read here.

    Returns:
        The blueprint (`inferred`), its seed rows, and for each tool the rule that decided. A tool
        that could not be compiled is in `quarantined`; none is missing from both.
    """
    readings = read_spec(spec) if readings is None else readings
    listed, spec = spec, opened(spec)
    quarantined: dict[str, Quarantine] = {}
    tools = _tools(spec, readings, quarantined)
    scene = staged(spec, readings)
    if scene is not None:
        tools = {name: tool for name, tool in tools.items() if name not in scene.tools}
        quarantined = {n: item for n, item in quarantined.items() if n not in scene.tools}
    spoken = spoken_words(spec)
    tools = as_parts(tools, spoken)
    tools = as_named(tools)
    tools = with_names(as_moves(as_makers(settings_as_values(tools))))
    tools = with_parents(with_own_words(tools))
    tools = {name: told_by_output(tool, tools) for name, tool in tools.items()}
    stores = [tool for tool in tools.values() if tool.reading.operation is not Operation.COMPUTE]
    tables = find_tables(stores, spoken)
    settle_places(stores, tables)
    add_output_columns(stores, tables)
    add_observed_columns(stores, tables)
    add_state_columns(stores, tables)
    add_told_columns(stores, tables)
    for noun in sorted(tables):
        add_archetype_columns(tables[noun], tables, spoken)
    settle_senses(tables, spoken)
    add_bounded_columns(stores, tables)
    settle_trees(stores, tables)
    settle_cells(stores, tables)
    settle_rests(stores, tables)
    made: dict[str, ToolBlueprint] = {}
    why: dict[str, str] = {}
    for name, tool in tools.items():
        tool = with_fields(tool, tables)
        try:
            made[name], why[name] = compile_pure(tool) or _compile_tool(tool, tables)
            made[name] = fitting(made[name], tool, tables)
        except Unclear as problem:
            quarantined[name] = _quarantine(problem.detail, problem.reason)
    for name, item in sorted(quarantined.items()):
        reading = readings[name]
        is_outside = item.reason is QuarantineReason.EXTERNAL
        if is_outside or reading.operation is Operation.COMPUTE:
            made[name] = simulated_tool(spec.tools[name], reading, spoken)
            why[name] = f"simulated: {item.detail}"
            del quarantined[name]
    used = _tables_used(made, tables)
    tables = {noun: table for noun, table in tables.items() if noun in used}
    entities = {
        noun: table.entity(spec.service, tables, title_column(table))
        for noun, table in sorted(tables.items())
    }
    seed = seed_rows(spec.service, tables, entities)
    if scene is not None:
        made, why = {**made, **scene.tools}, {**why, **scene.why}
        entities = {**entities, **scene.entities}
        rows = FrozenDict({**seed.tables, **scene.rows})
        seed = seed.model_copy(update={"tables": rows})
    blueprint = Blueprint(
        service=spec.service,
        entities=FrozenDict(entities),
        tools=FrozenDict(made),
        quarantined=FrozenDict(quarantined),
        inferred=True,
    )
    blueprint = _take_out_broken(listed, closed(listed, blueprint))
    for name, item in blueprint.quarantined.items():
        why[name] = f"quarantined ({item.reason.value}): {item.detail}"
    return blueprint, seed, FrozenDict(why)


def spoken_words(spec: ServiceSpec) -> frozenset[str]:
    """Return the singular words of a service's title, tools and parameters."""
    texts = [spec.title]
    for tool in spec.tools.values():
        texts += [tool.name, tool.description[:_MOST_TEXT]]
        for name, part in (tool.input_schema.get("properties") or {}).items():
            text = part.get("description") if isinstance(part, Mapping) else None
            texts += [name, text[:_MOST_TEXT] if isinstance(text, str) else ""]
    return frozenset(singular(word) for text in texts for word in tokens(text))


def _tools(
    spec: ServiceSpec, readings: Mapping[str, ToolReading], quarantined: dict[str, Quarantine]
) -> dict[str, Tool]:
    """Return the tools that can be records of a store; the others go to `quarantined`."""
    tools: dict[str, Tool] = {}
    params: dict[str, Mapping[str, Param]] = {}
    problems: dict[str, SchemaProblem] = {}
    groups: dict[str | None, list[Mapping[str, Param]]] = {}
    for name, tool in sorted(spec.tools.items()):
        try:
            params[name] = read_params(tool)
        except SchemaProblem as problem:
            problems[name] = problem
        groups.setdefault(readings[name].entity, []).append(params.get(name, {}))
    worked = works_out(spec, readings, params, server_prefix(spec))
    flat = {entity: flat_names(group, entity or "") for entity, group in groups.items()}
    for name, tool in sorted(spec.tools.items()):
        reading = readings[name]
        is_outside = reading.operation is Operation.EXTERNAL or not reading.deterministic
        read = None
        if name in params:
            read = read_tool(tool, reading, params[name], flat[reading.entity])
        if read is not None and (is_outside or name in worked):
            computation = as_computation(read)
            if computation is not None:
                tools[name] = computation
                continue
        if is_outside:
            told = reading.why[0] if reading.why else "its name and description say so"
            detail = f"its answer depends on a world outside: {told}"
            quarantined[name] = _quarantine(detail, QuarantineReason.EXTERNAL)
        elif name in worked:
            detail = f"its answer is not kept here: {worked[name]}"
            quarantined[name] = _quarantine(detail, QuarantineReason.EXTERNAL)
        elif read is None:
            quarantined[name] = _quarantine(
                f"it {problems[name]}", QuarantineReason.UNSUPPORTED_SCHEMA
            )
        else:
            if reading.entity is None and reading.operation is not Operation.COMPUTE:
                read = Tool(
                    spec=tool,
                    reading=reading.model_copy(update={"entity": "record"}),
                    inputs=read.inputs,
                )
            tools[name] = read
    return tools


def settings_as_values(tools: dict[str, Tool]) -> dict[str, Tool]:
    """What is set by its name alone (`set_theme(theme)`) holds that name as its value."""
    nouns = settings_of(tools.values())
    return {
        name: tool if tool.reading.entity not in nouns else with_values(tool)
        for name, tool in tools.items()
    }


def _compile_tool(tool: Tool, tables: Mapping[str, Table]) -> tuple[ToolBlueprint, str]:
    operation = tool.reading.operation
    if (cells := compile_cells(tool, tables)) is not None:
        return cells
    if operation is Operation.COMPUTE:
        raise Unclear("it computes something that is not in the library of functions")
    table = tables[tool.reading.entity or ""]
    if operation in _READS:
        return compile_read(tool, table, tables)
    counted = compile_count(tool, table, tables)
    if counted is not None:
        return counted
    if operation is Operation.UPDATE and is_plain_move(tool):
        return compile_move(tool, table, tables)
    if not tool.inputs and not _starts_one(tool) and operation in _NEED_VALUES:
        raise Unclear("it takes nothing that says what to write")
    if operation in _WRITES:
        return compile_write(tool, table, tables)
    batch = tool.first(Role.BATCH)
    if operation in _ADDS and batch is not None and names_rows(batch, table) is not None:
        return update_many(tool, batch, table, tables)
    if operation in (Operation.LINK, Operation.DETACH):
        return compile_relation(tool, table, tables)
    return compile_move(tool, table, tables)


def _starts_one(tool: Tool) -> bool:
    """True for `start_game`: a new row of which all is usual."""
    first, *rest = tokens(tool.name) or ("",)
    is_new = tool.reading.operation is Operation.CREATE and first in words_of("starts")
    return is_new and "_".join(rest) == tool.reading.entity


def _quarantine(detail: str, reason: QuarantineReason = QuarantineReason.UNCLEAR) -> Quarantine:
    text = f"{detail[:1].upper()}{detail[1:]}".rstrip(".")
    return Quarantine(reason=reason, detail=f"{text}."[:300])


def _tables_used(tools: Mapping[str, ToolBlueprint], tables: Mapping[str, Table]) -> frozenset[str]:
    """Return the tables of the tools that are left, and those that they link to."""
    used = {noun for tool in tools.values() for noun in _tables_of(tool)}
    while True:
        more = {to for noun in used for to in tables[noun].links.values()} - used
        if not more:
            return frozenset(used)
        used |= more


def _tables_of(tool: ToolBlueprint) -> set[str]:
    found = {lookup.table for lookup in tool.lookups.values()}
    found |= {effect.table for effect in tool.effects.values()}
    if tool.query is not None:
        found.add(tool.query.table)
    parts: list[Any] = [tool.result, *(check.holds for check in tool.checks.values())]
    return found | tables_named(parts)


def _take_out_broken(spec: ServiceSpec, blueprint: Blueprint) -> Blueprint:
    """Quarantine tools that the engine refuses to compile; only their own fault."""
    try:
        compile_service(spec, blueprint)
    except SynthesisError:
        pass
    else:
        return blueprint
    tools, quarantined = dict(blueprint.tools), dict(blueprint.quarantined)
    for name in sorted(blueprint.tools):
        alone = blueprint.model_copy(update={"tools": FrozenDict({name: blueprint.tools[name]})})
        try:
            compile_service(spec, alone)
        except SynthesisError as error:
            del tools[name]
            quarantined[name] = _quarantine(str(error), QuarantineReason.UNSUPPORTED_SCHEMA)
    return blueprint.model_copy(
        update={"tools": FrozenDict(tools), "quarantined": FrozenDict(quarantined)}
    )
