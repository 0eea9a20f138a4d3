"""Where a walk can turn: writes whose reaction changes a row of another service.

Owns the search for them, by executing writes with arguments drawn from the world's rows. What is
found depends on the world alone, so it is shared by all drafts on it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.engine import execute
from components.environment.state import rows_of
from components.environment.world import World
from components.records.blueprint import FieldType, FunctionalClass
from components.records.calls import RowChange
from components.records.frozen import FrozenDict
from components.task.graph import Parameter, Place, Role, ToolGraph, ToolShape
from components.task.known import RowKey, entity_of
from components.task.literals import draw_literal
from components.task.provenance import assemble
from components.task.reads import ReadCall
from components.task.related import Neighbourhood

_TRIES = 80
"""Writes tried for each tool of a world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A write, the row that its reaction changes elsewhere, and the reads that show it."""

    trigger: ToolShape
    arguments: FrozenDict[str, Any]
    """Pointer -> value."""
    reaction: str
    row: RowKey
    field: str
    before: Any
    after: Any
    first_reads: tuple[ReadCall, ...]
    """Reads that show the field at the start."""
    again: tuple[ReadCall, ...]
    """Those of them that name the row itself, so that they can be made again after the change."""


def find_anchors(
    world: World, graph: ToolGraph, reads: Mapping[str, Sequence[ReadCall]]
) -> tuple[Anchor, ...]:
    """Return the anchors of a world in a fixed order."""
    neighbourhood = Neighbourhood(world.initial, graph)
    found: dict[tuple[Any, ...], Anchor] = {}
    for (service, name), shape in sorted(graph.tools.items()):
        if shape.blueprint.functional is not FunctionalClass.WRITE:
            continue
        rng = random.Random(f"anchors:{service}.{name}")
        for arguments in _drawn_arguments(world, graph, shape, neighbourhood, rng):
            outcome = execute(world, world.initial, service, name, assemble(arguments))
            for change in outcome.changes:
                if change.service == service or not change.cause.startswith("reaction:"):
                    continue
                for anchor in _anchors_of(graph, shape, arguments, change, reads):
                    key = (service, name, anchor.row, anchor.field, anchor.after)
                    known = found.get(key)
                    # The plainest call is the easiest to ask for.
                    if known is None or len(anchor.arguments) < len(known.arguments):
                        found[key] = anchor
    return tuple(found.values())


def _anchors_of(
    graph: ToolGraph,
    shape: ToolShape,
    arguments: FrozenDict[str, Any],
    change: RowChange,
    reads: Mapping[str, Sequence[ReadCall]],
) -> Iterator[Anchor]:
    if change.before is None or change.after is None or change.service not in reads:
        return
    row = RowKey(change.service, change.table, change.row_id)
    entity = entity_of(graph, Place(change.service, change.table, ""))
    for field in sorted(change.after):
        before, after = change.before.get(field), change.after[field]
        # A time that the service makes, or nothing at all, is no value that anybody would ask for.
        if before == after or after is None or entity.fields[field].generated:
            continue
        # One of few values could be guessed, and need not be read again.
        if isinstance(after, (bool, tuple, dict)) or entity.fields[field].enum is not None:
            continue
        showing = tuple(call for call in reads[change.service] if call.shows_field(row, field))
        again = tuple(call for call in showing if _names_row(call, row))
        if again:
            yield Anchor(
                trigger=shape,
                arguments=arguments,
                reaction=change.cause.removeprefix("reaction:"),
                row=row,
                field=field,
                before=before,
                after=after,
                first_reads=showing,
                again=again,
            )


def _names_row(call: ReadCall, row: RowKey) -> bool:
    selecting = [item for item in call.shape.parameters if item.role is Role.SELECTS]
    return len(selecting) == 1 and call.arguments.get(selecting[0].pointer) == row.row_id


def _drawn_arguments(
    world: World,
    graph: ToolGraph,
    shape: ToolShape,
    neighbourhood: Neighbourhood,
    rng: random.Random,
) -> Iterator[FrozenDict[str, Any]]:
    """Yield argument sets; their literals only stand for others of their kind."""
    choices: dict[str, list[Any]] = {}
    for item in shape.parameters:
        if item.names_row:
            values = reference_values(world, graph, item)
            if not values and not item.required:
                continue  # what no row holds yet can be left out
            rng.shuffle(values)
            choices[item.pointer] = values
    if not choices or not all(choices.values()):
        return
    leading = max(choices, key=lambda pointer: len(choices[pointer]))
    means = {item.pointer: item.means for item in shape.parameters}
    for turn in range(_TRIES):
        first = choices[leading][turn % len(choices[leading])]
        start = means[leading]
        assert start is not None
        near = neighbourhood.near(start, first)
        arguments: dict[str, Any] = {}
        for item in shape.parameters:
            if item.pointer == leading:
                arguments[leading] = first
            elif item.pointer in choices:
                # What belongs together is more often asked for together, and easier to reach.
                related = [] if item.means is None else near.get(item.means, [])
                values = [value for value in related if value != first]
                if not values or rng.random() < 0.25:
                    values = choices[item.pointer]
                arguments[item.pointer] = rng.choice(values)
            elif item.required:
                literal = draw_literal(graph, shape, item, world.initial.now, rng)
                if literal is None:
                    return
                arguments[item.pointer] = literal
        yield FrozenDict(arguments)
        optional = [item.pointer for item in shape.parameters if not item.required]
        for left_out in optional:
            if left_out in arguments:
                yield FrozenDict({k: v for k, v in arguments.items() if k != left_out})


def reference_values(world: World, graph: ToolGraph, parameter: Parameter) -> list[Any]:
    """Return the values that a reference can take: those of the rows that it must name, sorted."""
    place = parameter.place if parameter.role is Role.SELECTS else parameter.means
    if place is None or place.service not in world.services:
        return []
    entity = graph.blueprints[place.service].entities[place.table]
    kind = entity.fields[place.field].type
    if kind not in (FieldType.STRING, FieldType.TIMESTAMP):
        return []
    rows = rows_of(world.initial, place.service, place.table).values()
    return sorted({row[place.field] for row in rows if row.get(place.field)})
