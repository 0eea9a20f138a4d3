"""In which order places of services are tried: those that runs meet first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from attribution.faults.environment_places import EffectPlace, RowPlace, ToolPlace, states
from attribution.faults.kinds import Clean
from components.environment.reactions import services_named
from components.records.blueprint import FunctionalClass, Rows, ToolBlueprint
from components.records.frozen import FrozenDict
from components.task.provenance import observations_of

NO_ROWS: Rows = FrozenDict()


def tools(clean: Clean, functional: FunctionalClass | None = None) -> Iterator[ToolPlace]:
    """Yield the tools of blueprints that are offered, those that certified runs call most first.

    Before there are any, a tool is the likelier to come early, the more reactions its tables have.
    """
    blueprints = clean.system.environment.blueprints
    found = clean.tools()
    if not clean.system.reference.certificates:
        reach = _reach(clean)
        found.sort(key=lambda item: -_early(clean, max(reach[table] for table in _tables(item))))
    for service, tool, body in found:
        is_offered = tool not in blueprints[service].quarantined
        if is_offered and functional in (None, body.functional):
            entities = blueprints[service].entities
            yield ToolPlace(service=service, tool=tool, body=body, entities=entities)


def _tables(item: tuple[str, str, ToolBlueprint]) -> list[tuple[str, str]]:
    """Return the tables that a tool looks up, lists and writes; a name without a table is none."""
    service, _tool, body = item
    named = [lookup.table for lookup in body.lookups.values()]
    named += [effect.table for effect in body.effects.values()]
    return [(service, table) for table in (*named, body.query.table if body.query else "")]


def _reach(clean: Clean) -> Counter[tuple[str, str]]:
    """Return how many reactions start from each table or write to it."""
    found: Counter[tuple[str, str]] = Counter()
    for reaction in clean.system.environment.reactions.values():
        places = [(write.service, write.table) for write in reaction.writes.values()]
        found.update({(reaction.on.service, reaction.on.table), *places})
    return found


def _early(clean: Clean, weight: int) -> float:
    """Return a drawn number, which is the likelier to be high, the more something weighs."""
    drawn: float = clean.rng.random() ** (1 / (1 + weight))
    return drawn


def effects(clean: Clean, *actions: str) -> Iterator[EffectPlace]:
    """Yield the effects of these actions, those whose changes certified runs hold first."""
    seen = {
        (call.service, call.tool, change.cause)
        for _task, _step, call in clean.calls()
        for change in call.changes
    }
    found = [
        EffectPlace(at=at, name=name)
        for at in tools(clean)
        for name in sorted(at.body.effects)
        if at.body.effects[name].action in actions
    ]
    yield from sorted(
        found, key=lambda item: (item.at.service, item.at.tool, f"effect:{item.name}") not in seen
    )


def reads(clean: Clean) -> Iterator[tuple[ToolPlace, str, str]]:
    """Yield the tools that answer with a row that they looked up, with the key of the answer that
    holds it and the lookup's name.
    """
    for at in tools(clean, FunctionalClass.READ):
        result = at.body.result
        for key, value in sorted(result.items() if isinstance(result, Mapping) else ()):
            name = value[1:] if isinstance(value, str) and value.startswith("$") else ""
            if name in at.body.lookups:
                yield at, key, name


def used_paths(clean: Clean, service: str, tool: str, key: str) -> list[str]:
    """Return the fields under `key` of a tool's answer that gold takes values from."""
    found: dict[str, None] = {}
    for task in clean.tasks():
        sources = [s for step in task.gold.values() for s in step.arguments.values()]
        for place in (p for s in (*sources, *task.answer.values()) for p in observations_of(s)):
            step = task.gold[place.step]
            is_here = (step.service, step.tool) == (service, tool)
            if is_here and len(place.path) > 1 and place.path[0] == key:
                found.setdefault(str(place.path[1]))
    return list(found)


def rows(clean: Clean) -> Iterator[RowPlace]:
    """Yield the rows of seeds in a drawn order, those that certified answers show first."""
    environment = clean.system.environment
    shown: dict[tuple[str, str, str], None] = {}
    for _task, _step, call in clean.calls():
        blueprint = environment.blueprints[call.service]
        for row in _objects(call.envelope.get("data")):
            for table, entity in sorted(blueprint.entities.items()):
                if isinstance(row.get(entity.key), str) and set(row) >= set(entity.fields):
                    shown.setdefault((call.service, table, row[entity.key]))
    others = [
        (service, table, row_id)
        for service, seed in sorted(environment.seeds.items())
        if service not in environment.code
        for table, found in sorted(seed.tables.items())
        for row_id in sorted(found)
    ]
    clean.rng.shuffle(others)
    if not shown:
        reach = _reach(clean)
        others.sort(key=lambda item: -_early(clean, reach[item[0], item[1]]))
    for service, table, row_id in dict.fromkeys((*shown, *others)):
        found_row = environment.seeds[service].tables.get(table, NO_ROWS).get(row_id)
        if found_row is not None:
            entity = environment.blueprints[service].entities[table]
            yield RowPlace(
                service=service, table=table, row_id=row_id, row=found_row, entity=entity
            )


def reactions(clean: Clean) -> Iterator[str]:
    """Yield the reactions whose services are all there, none of them code, those that certified
    runs start most first.
    """
    environment = clean.system.environment
    known = set(environment.blueprints) - set(environment.code)
    uses: dict[str, int] = {}
    for _task, _step, call in clean.calls():
        for cause in {change.cause for change in call.changes}:
            uses[cause] = uses.get(cause, 0) + 1
    names = [
        name
        for name, reaction in sorted(environment.reactions.items())
        if services_named(reaction) <= known
    ]
    clean.rng.shuffle(names)
    yield from sorted(names, key=lambda name: -uses.get(f"reaction:{name}", 0))


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        for item in value.values():
            yield from _objects(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _objects(item)


def first_states(clean: Clean) -> dict[tuple[str, str], tuple[str, str]]:
    """Return for each service and table a field with a closed list of values, and the value that
    its first row has there.
    """
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for place in rows(clean):
        for field in states(place.entity)[:1]:
            value = place.row[field]
            if isinstance(value, str):
                found.setdefault((place.service, place.table), (field, value))
    return found
