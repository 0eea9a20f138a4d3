"""What a walk knows: values that answers showed, each with its place, its row and where it was seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.records.blueprint import EntityBlueprint, FieldType
from components.task.graph import Place, Role, ToolGraph, ToolShape
from components.task.provenance import Path, at_path


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


def known_in(graph: ToolGraph, shape: ToolShape, step: str, data: Any) -> Iterator[Known]:
    """Yield the values of every row that stands alone in an answer; rows in longer lists are left out.

    A list of several rows would need words that say which one is meant; the author reads those rows by
    narrower queries instead.
    """
    for shown in shape.shown:
        found, value = at_path(data, shown.path)
        path: Path = shown.path
        if shown.is_list:
            if not found or not isinstance(value, (list, tuple)) or len(value) != 1:
                continue
            value, path = value[0], (*shown.path, 0)
        if not isinstance(value, Mapping):
            continue
        key = entity_of(graph, Place(shape.service, shown.table, "")).key
        key_in_answer = next((name for name, field in shown.fields.items() if field == key), None)
        row_id = value.get(key_in_answer) if key_in_answer is not None else None
        if not isinstance(row_id, str):
            continue
        row = RowKey(shape.service, shown.table, row_id)
        for name, field in sorted(shown.fields.items()):
            if name in value:
                place = Place(shape.service, shown.table, field)
                yield Known(
                    step=step,
                    path=(*path, name),
                    value=value[name],
                    place=place,
                    means=graph.means(place),
                    row=row,
                )


def entity_of(graph: ToolGraph, place: Place) -> EntityBlueprint:
    """Return the blueprint of a place's table."""
    return graph.blueprints[place.service].entities[place.table]


def is_internal(graph: ToolGraph, place: Place) -> bool:
    """Return whether a value of this place is an internal id, which no person would write."""
    end = graph.means(place)
    if end.service not in graph.blueprints:
        return True
    entity = entity_of(graph, end)
    return end.field == entity.key and entity.generated_key


def is_natural(graph: ToolGraph, place: Place) -> bool:
    """Return whether a person would name a row by this value: its title, a key that people give, or a text that
    rows are searched by.
    """
    end = graph.means(place)
    if end.service not in graph.blueprints or is_internal(graph, end):
        return False
    entity = entity_of(graph, end)
    field = entity.fields.get(end.field)
    if field is None or field.enum or field.type is not FieldType.STRING:
        return False
    if end.field in (entity.key, entity.title_field):
        return True
    return any(
        parameter.role is Role.FILTERS and parameter.place == end
        for tool in graph.of_service(end.service)
        for parameter in tool.parameters
    )
