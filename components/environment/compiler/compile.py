"""Specs compiled to blueprints without any model: only what is plain from names and schemas.

Owns the order of the steps: read each tool, find tables, settle keys and links, apply one rule a
tool, and take out what nobody could observe. Everything that is not plain is quarantined with a
reason; it refuses to guess.
"""

from __future__ import annotations

from collections.abc import Mapping

from components.environment.compiler.params import (
    Param,
    SchemaProblem,
    is_storable,
    read_params,
)
from components.environment.compiler.reads import compile_read
from components.environment.compiler.tables import (
    Candidate,
    Table,
    Unclear,
    add_update_fields,
    changed_params,
    elements_of,
    find_tables,
    settle_keys,
    settle_links,
)
from components.environment.compiler.words import (
    common_prefix,
    external_evidence,
    group_words,
    plural,
    read_name,
    words,
)
from components.environment.compiler.writes import compile_write
from components.environment.expressions import tables_named
from components.environment.seeds.rows import seed_rows
from components.environment.service import compile_service
from components.errors import SynthesisError
from components.records.blueprint import (
    Blueprint,
    FunctionalClass,
    Operation,
    Quarantine,
    QuarantineReason,
    SeedData,
    ToolBlueprint,
)
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec, ToolSpec

_FINDING = frozenset({Operation.LIST, Operation.SEARCH, Operation.CREATE})


def compile_spec(spec: ServiceSpec) -> tuple[Blueprint, SeedData, FrozenDict[str, str]]:
    """Compile what is plain of a spec.

    Returns:
        The blueprint (`inferred`), its seed rows, and for each tool the rule that decided. A tool
        that is not plain is in `quarantined`; none is missing from both.
    """
    quarantined: dict[str, Quarantine] = {}
    candidates = _candidates(spec, quarantined)
    tables, problems, odd = find_tables(candidates.values())
    add_update_fields(tables, candidates.values())
    problems.update(settle_keys(tables, candidates.values()))
    settle_links(tables, candidates.values())
    tools: dict[str, ToolBlueprint] = {}
    why: dict[str, str] = {}
    for name, candidate in sorted(candidates.items()):
        try:
            if name in odd:
                raise Unclear(odd[name])
            if candidate.reading.noun in problems:
                raise Unclear(problems[candidate.reading.noun])
            is_write = candidate.reading.verb in ("create", "add", "update", "delete")
            rule = compile_write if is_write else compile_read
            tools[name], why[name] = rule(candidate, tables)
        except Unclear as problem:
            quarantined[name] = Quarantine(reason=problem.reason, detail=_sentence(problem.detail))
    _take_out_unobservable(tools, quarantined)
    used = _tables_used(tools, tables)
    tables = {noun: table for noun, table in tables.items() if noun in used}
    entities = {noun: table.entity(spec.service) for noun, table in sorted(tables.items())}
    blueprint = Blueprint(
        service=spec.service,
        entities=FrozenDict(entities),
        tools=FrozenDict(tools),
        quarantined=FrozenDict(quarantined),
        inferred=True,
    )
    blueprint = _take_out_broken(spec, blueprint)
    seed = seed_rows(spec.service, tables, entities, _stored_params(candidates, tables))
    for name, item in blueprint.quarantined.items():
        why[name] = f"quarantined ({item.reason.value}): {item.detail}"
    return blueprint, seed, FrozenDict(why)


def _candidates(spec: ServiceSpec, quarantined: dict[str, Quarantine]) -> dict[str, Candidate]:
    """Return the tools that read plainly; the others go to `quarantined`."""
    prefix, groups = common_prefix(spec.service, spec.tools), group_words(spec.tools)
    candidates: dict[str, Candidate] = {}
    for name, tool in sorted(spec.tools.items()):
        try:
            candidates[name] = _candidate(tool, prefix, groups)
        except Unclear as problem:
            quarantined[name] = Quarantine(reason=problem.reason, detail=_sentence(problem.detail))
    return candidates


def _candidate(tool: ToolSpec, prefix: tuple[str, ...], groups: frozenset[str]) -> Candidate:
    evidence = external_evidence(tool.name, tool.description)
    if evidence:
        raise Unclear(f"it depends on the world outside: {evidence}", QuarantineReason.EXTERNAL)
    reading = read_name(tool.name, prefix, groups)
    if reading.problem:
        raise Unclear(f"its name {reading.problem}")
    try:
        params = read_params(tool)
    except SchemaProblem as problem:
        raise Unclear(f"it {problem}", QuarantineReason.UNSUPPORTED_SCHEMA) from None
    for name, param in sorted(params.items()):
        if not is_storable(name):
            raise Unclear(
                f"its argument {name!r} cannot be named", QuarantineReason.UNSUPPORTED_SCHEMA
            )
        if not param.type:
            raise Unclear(
                f"its argument {name!r} can hold values of several kinds",
                QuarantineReason.UNSUPPORTED_SCHEMA,
            )
        if not param.default_fits:
            raise Unclear(
                f"the default of its argument {name!r} does not fit its own schema",
                QuarantineReason.UNSUPPORTED_SCHEMA,
            )
        if param.word in words("control_words"):
            raise Unclear(f"its argument {name!r} changes how it works, not what it stores")
    return Candidate(tool=tool, reading=reading, params=params)


def _take_out_unobservable(
    tools: dict[str, ToolBlueprint], quarantined: dict[str, Quarantine]
) -> None:
    """A write that nothing reads, or a read of rows that nothing finds, teaches nothing."""
    while True:
        read = {
            table
            for tool in tools.values()
            if tool.functional is FunctionalClass.READ
            for table in _tables_of(tool)
        }
        found = {
            table
            for tool in tools.values()
            if tool.operation in _FINDING
            for table in _tables_of(tool)
        }
        gone: dict[str, str] = {}
        for name, tool in tools.items():
            noun = tool.entity or ""
            if tool.functional is FunctionalClass.WRITE and noun not in read:
                gone[name] = f"no tool that works reads {plural(noun)} back"
            elif tool.functional is FunctionalClass.READ and noun not in found:
                gone[name] = f"no tool that works finds {plural(noun)} or makes them"
        if not gone:
            return
        for name, detail in gone.items():
            del tools[name]
            quarantined[name] = Quarantine(
                reason=QuarantineReason.UNCLEAR, detail=_sentence(detail)
            )


def _tables_of(tool: ToolBlueprint) -> set[str]:
    """Return the tables that a tool reads or writes."""
    found = {lookup.table for lookup in tool.lookups.values()}
    found |= {effect.table for effect in tool.effects.values()}
    if tool.query is not None:
        found.add(tool.query.table)
    return found | set(
        tables_named([tool.result, *(check.holds for check in tool.checks.values())])
    )


def _tables_used(tools: Mapping[str, ToolBlueprint], tables: Mapping[str, Table]) -> set[str]:
    """Return the tables of the tools that are left, and those that they link to."""
    used = {noun for tool in tools.values() for noun in _tables_of(tool)}
    while True:
        more = {to for noun in used for to in tables[noun].links.values()} - used
        if not more:
            return used
        used |= more


def _take_out_broken(spec: ServiceSpec, blueprint: Blueprint) -> Blueprint:
    """Quarantine tools that the engine refuses to compile; rare, and only their own fault."""
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
            quarantined[name] = Quarantine(
                reason=QuarantineReason.UNSUPPORTED_SCHEMA, detail=_sentence(str(error))
            )
    return blueprint.model_copy(
        update={"tools": FrozenDict(tools), "quarantined": FrozenDict(quarantined)}
    )


def _stored_params(
    candidates: Mapping[str, Candidate], tables: Mapping[str, Table]
) -> dict[tuple[str, str], Param]:
    """Return for each field the parameter that a create (or else an update) writes into it."""
    found: dict[tuple[str, str], Param] = {}
    for verbs in (("create", "add"), ("update",)):
        for _, candidate in sorted(candidates.items()):
            noun = candidate.reading.noun
            if candidate.reading.verb not in verbs or noun not in tables:
                continue
            batch = elements_of(candidate)
            params = batch[1] if batch else changed_params(candidate)
            for name, param in params.items():
                found.setdefault((noun, name), param)
    return found


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."[:300]
