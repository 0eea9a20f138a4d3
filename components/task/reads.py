"""Every read that singles out one row at the start of a world: what a walk can be made of.

Owns the enumeration: each read tool with each value of its own service's rows that its arguments can take. A service's
reads depend on its rows alone, so they are found once and shared by all drafts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.environment.engine import execute
from components.environment.state import WorldState, rows_of
from components.environment.world import World
from components.records.blueprint import FunctionalClass
from components.records.frozen import FrozenDict
from components.task.graph import Parameter, Place, Role, ToolGraph, ToolShape
from components.task.known import Known, RowKey, is_natural, known_in
from components.task.provenance import assemble

_MAX_PAIRED_ROWS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """One read with its arguments, and what it shows at the start of the world."""

    shape: ToolShape
    arguments: FrozenDict[str, Any]
    """Pointer -> value."""
    shows: tuple[Known, ...]
    can_begin: bool
    """True when a person could write every argument, so that nothing need be seen before."""

    def shows_field(self, row: RowKey, field: str) -> bool:
        """Return whether a row's field can be read in the answer."""
        return any(item.row == row and item.place.field == field for item in self.shows)


def possible_reads(world: World, graph: ToolGraph, service: str) -> tuple[ReadCall, ...]:
    """Return the reads of one service that show at least one row that stands alone, in a fixed order."""
    found = []
    for shape in graph.of_service(service):
        if shape.blueprint.functional is not FunctionalClass.READ:
            continue
        exact = {item.pointer for item in shape.parameters if item.is_exact}
        seen: set[FrozenDict[str, Any]] = set()
        enough: set[tuple[str, Any]] = set()
        for arguments in _argument_sets(world.initial, shape):
            if arguments in seen or any(item in enough for item in arguments.items()):
                continue
            seen.add(arguments)
            call = _read(world, graph, shape, arguments)
            if call is not None:
                found.append(call)
                if len(arguments) == 1 and set(arguments) <= exact:
                    enough.update(arguments.items())
    return tuple(found)


def _read(
    world: World, graph: ToolGraph, shape: ToolShape, arguments: FrozenDict[str, Any]
) -> ReadCall | None:
    outcome = execute(world, world.initial, shape.service, shape.name, assemble(arguments))
    if not outcome.envelope["ok"]:
        return None
    shows = tuple(known_in(graph, shape, "", outcome.envelope["data"]))
    if not shows or not arguments:
        return None
    places = {item.pointer: item.place for item in shape.parameters}
    can_begin = all(
        place is not None and is_natural(graph, place)
        for place in (places[pointer] for pointer in arguments)
    )
    return ReadCall(shape=shape, arguments=arguments, shows=shows, can_begin=can_begin)


def _argument_sets(state: WorldState, shape: ToolShape) -> Iterator[FrozenDict[str, Any]]:
    needed = [item for item in shape.parameters if item.required]
    if len(needed) > 1 or any(item.place is None for item in needed):
        return
    optional = [
        item
        for item in shape.parameters
        if not item.required and item.role is Role.FILTERS and item.schema.get("type") == "string"
    ]
    named = [item for item in optional if "enum" not in item.schema]
    for base in _bases(state, needed):
        if base:
            yield base
            yield from (
                FrozenDict({**base, item.pointer: value})
                for item in optional
                if "enum" in item.schema
                for value in item.schema["enum"]
            )
            continue
        for item in named:
            yield from (FrozenDict({item.pointer: value}) for value in _values(state, item.place))
        yield from _pairs(state, named)


def _bases(state: WorldState, needed: list[Parameter]) -> Iterator[FrozenDict[str, Any]]:
    if not needed:
        yield FrozenDict()
    for item in needed:
        yield from (FrozenDict({item.pointer: value}) for value in _values(state, item.place))


def _pairs(state: WorldState, named: list[Parameter]) -> Iterator[FrozenDict[str, Any]]:
    """Yield an exact filter with a part of the title: `her ticket about the printer`."""
    exact = [item for item in named if item.is_exact]
    partial = [item for item in named if not item.is_exact]
    for first in exact:
        for second in partial:
            if first.place is None or second.place is None:
                continue
            rows = list(rows_of(state, first.place.service, first.place.table).values())
            for row in rows[:_MAX_PAIRED_ROWS]:
                values = (row.get(first.place.field), row.get(second.place.field))
                if all(isinstance(value, str) and value for value in values):
                    yield FrozenDict({first.pointer: values[0], second.pointer: values[1]})


def _values(state: WorldState, place: Place | None) -> list[Any]:
    """Return the values that a field has, without repetition, in a fixed order."""
    if place is None:
        return []
    values = {row.get(place.field) for row in rows_of(state, place.service, place.table).values()}
    return sorted(value for value in values if isinstance(value, str) and value)


def index_by_value(calls: tuple[ReadCall, ...]) -> Mapping[tuple[Place, Any], list[ReadCall]]:
    """Return the reads that show each value, by what the value means."""
    index: dict[tuple[Place, Any], list[ReadCall]] = {}
    for call in calls:
        for item in call.shows:
            if isinstance(item.value, str):
                index.setdefault((item.means, item.value), []).append(call)
    return index
