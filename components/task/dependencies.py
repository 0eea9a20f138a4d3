"""The dependency graph as a value: built of blueprints and reactions, nothing executed.

Owns the edges and the search for a chain. An edge says that one call *can* prepare another: a value
means the same in both, a rule asks for a state that the first can bring about, or a reaction
changes what the second shows. Whether it does in a given world, a walk finds out by executing.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.records.blueprint import Blueprint, Check
from components.records.frozen import FrozenDict
from components.records.graph import DependencyEdge, DependencyGraph, EdgeKind, ToolNode
from components.records.system import System
from components.records.world import Reaction
from components.task.graph import Place, ToolGraph, ToolShape, tool_graph
from components.task.shown import ShownRows

_COMPARED = 2


def dependency_graph(system: System, services: Sequence[str]) -> DependencyGraph:
    """Return what joins the offered tools of some services of a system.

    Args:
        system: blueprints, specifications, reactions.
        services: names; services that are code have no blueprint to read and are left out.
    """
    graph = tool_graph(
        system, tuple(name for name in services if name not in system.environment.code)
    )
    edges = {*_values(graph), *_states(graph), *_reactions(system, graph)}
    return DependencyGraph(
        tools=FrozenDict(
            {
                _name(shape): ToolNode(
                    service=shape.service,
                    functional=shape.blueprint.functional.value,
                    operation=shape.blueprint.operation.value,
                    entity=shape.blueprint.entity or "",
                    difficulty=shape.blueprint.difficulty,
                )
                for _key, shape in sorted(graph.tools.items())
            }
        ),
        edges=tuple(
            sorted(
                (edge for edge in edges if edge.source != edge.target),
                key=lambda edge: (edge.source, edge.target, edge.kind, edge.argument, edge.field),
            )
        ),
    )


def chain(graph: DependencyGraph, source: str, target: str) -> tuple[DependencyEdge, ...] | None:
    """Return the shortest chain from one tool to another; None where there is none.

    It is made of values alone where that is possible, of all kinds of edges otherwise.

    Args:
        graph: the graph.
        source: `service.tool` that it begins with.
        target: `service.tool` that it ends with.
    """
    values = [edge for edge in graph.edges if edge.kind is EdgeKind.VALUE]
    return _chain(values, source, target) or _chain(graph.edges, source, target)


def _chain(
    edges: Sequence[DependencyEdge], source: str, target: str
) -> tuple[DependencyEdge, ...] | None:
    outgoing: dict[str, list[DependencyEdge]] = defaultdict(list)
    for edge in edges:
        outgoing[edge.source].append(edge)
    arrived: dict[str, DependencyEdge] = {}
    waiting = deque([source])
    while waiting:
        for edge in outgoing[waiting.popleft()]:
            if edge.target in arrived or edge.target == source:
                continue
            arrived[edge.target] = edge
            if edge.target == target:
                return tuple(_back(arrived, source, target))
            waiting.append(edge.target)
    return None


def _back(arrived: Mapping[str, DependencyEdge], source: str, target: str) -> list[DependencyEdge]:
    steps = [arrived[target]]
    while steps[0].source != source:
        steps.insert(0, arrived[steps[0].source])
    return steps


def _name(shape: ToolShape) -> str:
    return f"{shape.service}.{shape.name}"


def _values(graph: ToolGraph) -> Iterator[DependencyEdge]:
    givers: dict[Place, list[tuple[str, str]]] = defaultdict(list)
    for _key, shape in sorted(graph.tools.items()):
        for rows in shape.shown:
            for key, field in sorted(rows.fields.items()):
                means = graph.means(Place(shape.service, rows.table, field))
                givers[means].append((_name(shape), _pointer(rows, key)))
    for _key, shape in sorted(graph.tools.items()):
        for item in shape.parameters:
            for source, pointer in [] if item.means is None else givers[item.means]:
                assert item.means is not None
                yield DependencyEdge(
                    source=source,
                    target=_name(shape),
                    kind=EdgeKind.VALUE,
                    field=pointer,
                    argument=item.pointer,
                    role=item.role.value,
                    entity=f"{item.means.service}.{item.means.table}",
                )


def _pointer(rows: ShownRows, key: str) -> str:
    parts = (*rows.path, *(("*",) if rows.is_list else ()), key)
    return "".join(f"/{part}" for part in parts)


def _states(graph: ToolGraph) -> Iterator[DependencyEdge]:
    """Yield the edges from what tools set to the rules that ask for it, within a service."""
    setters: dict[Place, list[tuple[str, Any]]] = defaultdict(list)
    for _key, shape in sorted(graph.tools.items()):
        for _label, effect in sorted(shape.blueprint.effects.items()):
            for field, value in sorted(effect.fields.items()):
                place = Place(shape.service, effect.table, field)
                setters[place] += [(_name(shape), item) for item in _outcomes(value)]
    for _key, shape in sorted(graph.tools.items()):
        tables = {name: item.table for name, item in shape.blueprint.lookups.items()}
        for _label, check in sorted(shape.blueprint.checks.items()):
            for place, rule, is_wanted in _demands(shape.service, tables, check):
                for source, value in setters[place]:
                    if _meets(rule, value) is is_wanted:
                        yield DependencyEdge(
                            source=source,
                            target=_name(shape),
                            kind=EdgeKind.STATE,
                            field=place.field,
                            argument="",
                            role=check.message,
                            entity=f"{place.service}.{place.table}",
                        )


_ANY = object()
"""A value that only a call decides; it is not null."""


def _outcomes(value: Any) -> Iterator[Any]:
    """Yield the constants that an expression can come to, and `_ANY` for what a call decides."""
    if isinstance(value, Mapping) and set(value) == {"@if"}:
        for part in value["@if"][1:]:
            yield from _outcomes(part)
    elif isinstance(value, Mapping) and set(value) == {"@lit"}:
        yield value["@lit"]
    elif isinstance(value, str) and value.startswith("$"):
        # A value of a row may be what it was before: nothing is brought about.
        yield from (_ANY,) if value.startswith("$args.") or value == "$now" else ()
    elif not isinstance(value, (Mapping, list, tuple)):
        yield value


def _demands(
    service: str, tables: Mapping[str, str], check: Check
) -> Iterator[tuple[Place, tuple[str, Any], bool]]:
    """Yield what a rule asks of one field of a row that is looked up: the field, the comparison
    with a constant, and whether it has to hold.
    """
    yield from _demanded(service, tables, check.holds, True)


def _demanded(
    service: str, tables: Mapping[str, str], holds: Any, is_wanted: bool
) -> Iterator[tuple[Place, tuple[str, Any], bool]]:
    if not isinstance(holds, Mapping) or len(holds) != 1:
        return
    operation, operand = next(iter(holds.items()))
    if operation == "@not":
        yield from _demanded(service, tables, operand, not is_wanted)
    elif operation == "@and" and is_wanted:
        for part in operand:
            yield from _demanded(service, tables, part, is_wanted)
    elif operation == "@is_null":
        for place in _field(service, tables, operand):
            yield place, ("@eq", None), is_wanted
    elif operation in ("@eq", "@ne", "@in") and len(operand) == _COMPARED:
        value = operand[1]
        is_plain = not (isinstance(value, str) and value.startswith("$"))
        for place in _field(service, tables, operand[0]) if is_plain else ():
            if not isinstance(value, Mapping):
                yield place, (operation, value), is_wanted


def _field(service: str, tables: Mapping[str, str], expression: Any) -> Iterator[Place]:
    if isinstance(expression, str) and expression.startswith("$"):
        root, _, field = expression[1:].partition(".")
        if root in tables and field and "." not in field:
            yield Place(service, tables[root], field)


def _meets(rule: tuple[str, Any], value: Any) -> bool | None:
    """Return whether a value meets a comparison; None where only a call decides."""
    operation, other = rule
    if value is _ANY:
        return (operation == "@ne") if other is None else None
    if operation == "@in":
        return value in other
    return (value == other) is (operation == "@eq")


@dataclass(frozen=True, slots=True)
class _Event:
    """A change of some fields of a row."""

    service: str
    table: str
    action: str
    fields: frozenset[str]


def _reactions(system: System, graph: ToolGraph) -> Iterator[DependencyEdge]:
    """Yield the edges from writes, through reactions, to the reads that show what they change."""
    showing: dict[Place, list[str]] = defaultdict(list)
    for _key, shape in sorted(graph.tools.items()):
        for rows in () if shape.is_write else shape.shown:
            for field in rows.fields.values():
                showing[Place(shape.service, rows.table, field)].append(_name(shape))
    reactions = system.environment.reactions
    for _key, shape in sorted(graph.tools.items()):
        own = [
            _Event(shape.service, effect.table, effect.action, frozenset(effect.fields))
            for _label, effect in sorted(shape.blueprint.effects.items())
        ]
        for name in _set_off(reactions, own):
            for write in reactions[name].writes.values():
                if write.service == shape.service:
                    continue
                for field in _written(graph.blueprints, write.service, write.table, write.fields):
                    for target in showing[Place(write.service, write.table, field)]:
                        yield DependencyEdge(
                            source=_name(shape),
                            target=target,
                            kind=EdgeKind.REACTION,
                            field=field,
                            argument="",
                            role=name,
                            entity=f"{write.service}.{write.table}",
                        )


def _set_off(reactions: Mapping[str, Reaction], events: Sequence[_Event]) -> list[str]:
    """Return the reactions to some events, and the reactions to these, and so on."""
    found: dict[str, None] = {}
    waiting = deque(events)
    while waiting:
        event = waiting.popleft()
        for name, reaction in sorted(reactions.items()):
            if name not in found and _is_heeded(reaction, event):
                found[name] = None
                waiting.extend(
                    _Event(write.service, write.table, write.action, frozenset(write.fields))
                    for _label, write in sorted(reaction.writes.items())
                )
    return list(found)


def _is_heeded(reaction: Reaction, event: _Event) -> bool:
    on = reaction.on
    if (on.service, on.table, on.event) != (event.service, event.table, event.action):
        return False
    # What is compared with the row as it was has to change, else nothing happens.
    compared = set(_fields_before(on.when))
    return on.event != "update" or not compared or bool(compared & event.fields)


def _fields_before(expression: Any) -> Iterator[str]:
    if isinstance(expression, str) and expression.startswith("$before."):
        yield expression.split(".")[1]
    elif isinstance(expression, Mapping):
        for part in expression.values():
            yield from _fields_before(part)
    elif isinstance(expression, (list, tuple)):
        for part in expression:
            yield from _fields_before(part)


def _written(
    blueprints: Mapping[str, Blueprint], service: str, table: str, fields: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the fields that a reaction writes, without times that the service makes itself."""
    known = blueprints[service].entities[table].fields if service in blueprints else {}
    yield from (name for name in sorted(fields) if name in known and not known[name].generated)
