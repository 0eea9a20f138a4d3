"""What a walk knows: values that answers showed, each with its place and its row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from components.environment.state import WorldState, rows_of
from components.records.blueprint import EntityBlueprint, FieldBlueprint, FieldType
from components.records.frozen import FrozenDict
from components.records.task import Pick
from components.task.graph import Place, ToolGraph, ToolShape
from components.task.provenance import Path, at_path
from components.task.shown import ShownRows

_ADDRESS = "email"
"""Field of whoever can be written to."""


@dataclass(frozen=True, slots=True, order=True)
class RowKey:
    """One row of one table."""

    service: str
    table: str
    row_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A value that the answer of a step shows."""

    step: str
    path: Path
    value: Any
    place: Place
    means: Place
    row: RowKey
    pick: Pick | None = None
    """How its row was picked of a longer list, whose index is the last but one part of `path`."""


def known_in(
    graph: ToolGraph, shape: ToolShape, step: str, data: Any, *, every_row: bool = False
) -> Iterator[Known]:
    """Yield the values of every row that stands alone in an answer.

    Rows in longer lists are left out unless `every_row`: it would need words to say which one is
    meant, and the author reads such a row by a narrower query instead.
    """
    for shown in shape.shown:
        found, value = at_path(data, shown.path)
        if not found:
            continue
        rows: list[tuple[Path, Any]] = [(shown.path, value)]
        if shown.is_list:
            items = value if isinstance(value, (list, tuple)) else ()
            if len(items) != 1 and not every_row:
                continue
            rows = [((*shown.path, index), item) for index, item in enumerate(items)]
        for path, row in rows:
            if isinstance(row, Mapping):
                yield from _known_of_row(graph, shape, shown, step, path, row)


def picked_in(
    graph: ToolGraph, shape: ToolShape, step: str, data: Any, pick: Pick
) -> Iterator[Known]:
    """Yield the values of the row that is picked of each longer list of an answer."""
    for shown in shape.shown:
        found, rows = at_path(data, shown.path)
        index = pick.index_in(rows) if found and shown.is_list else None
        if index is not None and isinstance(rows[index], Mapping):
            path: Path = (*shown.path, index)
            for fact in _known_of_row(graph, shape, shown, step, path, rows[index]):
                yield replace(fact, pick=pick)


def _known_of_row(
    graph: ToolGraph,
    shape: ToolShape,
    shown: ShownRows,
    step: str,
    path: Path,
    values: Mapping[str, Any],
) -> Iterator[Known]:
    key = entity_of(graph, Place(shape.service, shown.table, "")).key
    key_in_answer = next((name for name, field in shown.fields.items() if field == key), None)
    row_id = values.get(key_in_answer) if key_in_answer is not None else None
    if not isinstance(row_id, str):
        return
    row = RowKey(shape.service, shown.table, row_id)
    for name, place, means in graph.places_of(shape.service, shown):
        if name in values:
            yield Known(
                step=step,
                path=(*path, name),
                value=values[name],
                place=place,
                means=means,
                row=row,
            )


def other_names(graph: ToolGraph, state: WorldState, fact: Known) -> tuple[str, ...]:
    """Return the other texts that name the row that a value names: a person's name and address.

    Whoever has one of them looks the value up without the reading that showed it. A link is no
    name: the deputy of one person alone does not say who that person is.
    """
    means = fact.means
    if means.service not in state.services:
        return ()
    rows = rows_of(state, means.service, means.table)
    named = [row for row in rows.values() if row[means.field] == fact.value]
    if len(named) != 1:
        return ()
    names = []
    for field, blueprint in sorted(entity_of(graph, means).fields.items()):
        text = named[0][field]
        is_name = isinstance(text, str) and not (blueprint.link or blueprint.free_text)
        is_other = is_name and field != means.field and len(text) > 1
        if is_other and sum(row[field] == text for row in rows.values()) == 1:
            names.append(text)
    return tuple(names)


def names_of_row(graph: ToolGraph, state: WorldState, means: Place, value: Any) -> frozenset[Any]:
    """Return every text by which the row that a value names is named, the value among them."""
    if means.service not in state.services:
        return frozenset({value})
    fields = entity_of(graph, means).fields
    for row in rows_of(state, means.service, means.table).values():
        if row[means.field] == value:
            return frozenset(
                {value}
                | {
                    row[field]
                    for field, body in fields.items()
                    if isinstance(row[field], str) and not body.link and not body.enum
                }
            )
    return frozenset({value})


def address_of(graph: ToolGraph, state: WorldState, means: Place, value: Any) -> str:
    """Return the address of the person whom a value names; empty: it names nobody."""
    if means.service not in state.services:
        return ""
    entity = entity_of(graph, means)
    if _ADDRESS in entity.fields and means.field in (_ADDRESS, entity.key):
        for row in rows_of(state, means.service, means.table).values():
            if row[means.field] == value:
                return str(row[_ADDRESS])
    return ""


def entity_of(graph: ToolGraph, place: Place) -> EntityBlueprint:
    """Return the blueprint of a place's table.

    Of a table in a service that the system does not have, nothing is known but the field that
    links lead to.
    """
    blueprint = graph.blueprints.get(place.service)
    if blueprint is not None and place.table in blueprint.entities:
        return blueprint.entities[place.table]
    field = FieldBlueprint(type=FieldType.STRING)
    return EntityBlueprint(key=place.field, fields=FrozenDict({place.field: field}))
