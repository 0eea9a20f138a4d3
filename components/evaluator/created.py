"""Rows that a run created, seen by content: their generated ids and times mean nothing.

Owns which values of a row may be compared at all, and the label of a created row: a hash of its
content that is the same in every run that creates such a row, whatever its id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.environment.state import WorldState
from components.environment.world import World
from components.evaluator.equivalence import canonical_value
from components.records.blueprint import EntityBlueprint
from components.records.frozen import content_hash, texts_in
from components.records.rubric import Equivalence

NORM = Equivalence()
"""Contents are the same, and share a label, under the norm."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a row is."""

    service: str
    table: str
    row_id: str


@dataclass(frozen=True, slots=True)
class Link:
    """A value that is the id of a created row."""

    place: Place


def entity_of(world: World, service: str, table: str) -> EntityBlueprint:
    """Return the blueprint of a table's rows."""
    return world.services[service].blueprint.entities[table]


class CreatedRows:
    """The created rows of one run, with the links among them."""

    def __init__(self, world: World, rows: Mapping[Place, Mapping[str, Any]]) -> None:
        """Args: world: for its blueprints; rows: the created rows that are there at the end."""
        self._world, self._rows = world, rows
        self._by_id = {
            place.row_id: place
            for place in sorted(rows)
            if entity_of(world, place.service, place.table).generated_key
        }
        self._labels: dict[Place, str] = {}
        self._open: set[Place] = set()

    def compared(self, place: Place) -> dict[str, Any]:
        """Return the fields of a created row that may be compared, by name; links are `Link`s."""
        entity = entity_of(self._world, place.service, place.table)
        values = dict(self._rows[place])
        if entity.generated_key:
            del values[entity.key]
        return self.comparable(entity, values)

    def comparable(self, entity: EntityBlueprint, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of a row's `values` that may be compared, by field."""
        found = {}
        for field, value in sorted(values.items()):
            blueprint = entity.fields[field]
            if blueprint.generated or blueprint.free_text:
                continue
            if self.is_comparable(value):
                found[field] = self.linked(value)
        return found

    def is_comparable(self, value: Any) -> bool:
        """Return whether no text in the value has a generated id inside it: no run repeats it."""
        return not any(
            row_id in text and row_id != text for text in texts_in(value) for row_id in self._by_id
        )

    def mentions(self, value: Any) -> bool:
        """Return whether a value is, or holds, a generated id."""
        return any(row_id in text for text in texts_in(value) for row_id in self._by_id)

    def linked(self, value: Any) -> Any:
        """Return the value with the id of each created row replaced by its `Link`."""
        if isinstance(value, str):
            return Link(self._by_id[value]) if value in self._by_id else value
        if isinstance(value, Mapping):
            return {key: self.linked(item) for key, item in sorted(value.items())}
        if isinstance(value, (list, tuple)):
            return tuple(self.linked(item) for item in value)
        return value

    def label(self, place: Place) -> str:
        """Return the hash of a created row's content, with the content of rows that it links to."""
        if place not in self._labels:
            if place in self._open:
                return "cycle"
            self._open.add(place)
            body = {
                field: canonical_value(replace_links(value, self.label), NORM, field)
                for field, value in self.compared(place).items()
            }
            self._open.discard(place)
            self._labels[place] = content_hash([place.service, place.table, body])
        return self._labels[place]

    @property
    def places(self) -> tuple[Place, ...]:
        """Where the created rows are, in order."""
        return tuple(sorted(self._rows))

    def row(self, place: Place) -> Mapping[str, Any]:
        """Return a created row's values."""
        return self._rows[place]

    def canonical(self, value: Any) -> Any:
        """Return the value with the ids of created rows, inside texts too, replaced by labels."""
        if isinstance(value, str):
            for row_id, place in self._by_id.items():
                if row_id in value:
                    value = value.replace(row_id, f"@{self.label(place)}")
            return value
        if isinstance(value, Mapping):
            return {key: self.canonical(item) for key, item in sorted(value.items())}
        if isinstance(value, (list, tuple)):
            return [self.canonical(item) for item in value]
        return value

    def is_reached(self, target: Place, start: Place) -> bool:
        """Return whether links lead from `start` to `target`."""
        todo, seen = [start], {start}
        while todo:
            here = todo.pop()
            if here == target:
                return True
            for value in self.compared(here).values():
                new = set(links_in(value)) - seen
                seen |= new
                todo.extend(new)
        return False


def created_rows(world: World, state: WorldState) -> CreatedRows:
    """Return the rows of a state that the world did not begin with."""
    rows: dict[Place, Mapping[str, Any]] = {}
    for service, tables in state.services.items():
        for name, table in tables.items():
            seed = world.initial.table(service, name)
            if table is seed or table.digest == seed.digest:
                continue
            for row_id in table.ids:
                if row_id not in seed.rows:
                    rows[Place(service, name, row_id)] = table.rows[row_id].values
    return CreatedRows(world, rows)


def replace_links(value: Any, with_what: Callable[[Place], Any]) -> Any:
    """Return the value with each `Link` replaced."""
    if isinstance(value, Link):
        return with_what(value.place)
    if isinstance(value, dict):
        return {key: replace_links(item, with_what) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(replace_links(item, with_what) for item in value)
    return value


def links_in(value: Any) -> Iterator[Place]:
    """Yield the places that a value links to."""
    if isinstance(value, Link):
        yield value.place
    elif isinstance(value, (dict, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from links_in(item)
