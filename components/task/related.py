"""Values near a row: what its fields name, what their rows name, and what links to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from components.environment.state import WorldState, rows_of
from components.records.frozen import JsonObject
from components.task.graph import Place, ToolGraph

_HOPS = 2

Near = Mapping[Place, list[Any]]
"""What a value means -> the values near a row, nearest first."""


class Neighbourhood:
    """Finds what is near a row, at the start of a world."""

    def __init__(self, state: WorldState, graph: ToolGraph) -> None:
        """Args: state: the world's start; graph: for the meaning of fields."""
        self._tables: dict[tuple[str, str], list[JsonObject]] = {}
        self._means: dict[tuple[str, str, str], Place] = {}
        self._by_value: dict[tuple[Place, Any], list[tuple[str, str, int]]] = defaultdict(list)
        for service in sorted(state.services):
            blueprint = graph.blueprints[service]
            for table, entity in sorted(blueprint.entities.items()):
                rows = list(rows_of(state, service, table).values())
                self._tables[service, table] = rows
                for field in sorted(entity.fields):
                    means = graph.means(Place(service, table, field))
                    self._means[service, table, field] = means
                    for number, row in enumerate(rows):
                        if isinstance(row.get(field), str):
                            self._by_value[means, row[field]].append((service, table, number))
        self._near: dict[tuple[Place, Any], Near] = {}

    def near(self, means: Place, value: Any) -> Near:
        """Return the values near the rows that hold this one."""
        key = (means, value)
        if key not in self._near:
            self._near[key] = self._found(means, value)
        return self._near[key]

    def _found(self, means: Place, value: Any) -> Near:
        found: dict[Place, list[Any]] = defaultdict(list)
        done: set[tuple[str, str, int]] = set()
        frontier = list(self._by_value[means, value])
        for _hop in range(_HOPS):
            following: list[tuple[str, str, int]] = []
            for place in frontier:
                if place in done:
                    continue
                done.add(place)
                service, table, number = place
                for field, item in sorted(self._tables[service, table][number].items()):
                    end = self._means.get((service, table, field))
                    if end is None or not isinstance(item, str) or item in found[end]:
                        continue
                    found[end].append(item)
                    holders = self._by_value[end, item]
                    # A value that many rows share is no neighbour: everybody has the status `open`.
                    if len(holders) <= 8:
                        following.extend(holders)
            frontier = following
        return found
