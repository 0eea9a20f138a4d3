"""Where faults of services can sit: tools, effects and rows, and the changes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attribution.change import Change, Operation
from attribution.evidence import pointer_of
from attribution.faults.kinds import Clean, FaultKind, When, change_of
from components.records.base import to_json
from components.records.blueprint import (
    EntityBlueprint,
    FieldBlueprint,
    FieldType,
    Rows,
    ToolBlueprint,
)
from components.records.frozen import FrozenDict, thaw
from components.records.patch import Component

NO_ROWS: Rows = FrozenDict()


def kind(
    name: str,
    statement: str,
    places: Callable[[Clean], Iterator[Change]],
    when: When = When.AFTER,
) -> FaultKind:
    """Return a kind of the environment."""
    component = Component.ENVIRONMENT
    return FaultKind(name=name, component=component, statement=statement, places=places, when=when)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPlace:
    """One tool of a blueprint."""

    service: str
    tool: str
    body: ToolBlueprint
    entities: Mapping[str, EntityBlueprint]

    def at(self, *path: str) -> str:
        """Return the pointer of a path inside the tool."""
        return pointer_of("tools", self.tool, *path)

    def put(self, value: Any, *path: str) -> Operation:
        """Return the operation that sets a path inside the tool, where its parent is."""
        here: Any = to_json(self.body)
        for part in path[:-1]:
            here = here[part]
        there = here if isinstance(here, dict) else {}
        return ("replace" if path[-1] in there else "add", self.at(*path), value)

    def change(self, operations: Iterable[Operation], place: tuple[str, ...], why: str) -> Change:
        """Return a change of the tool's blueprint; `place` is a path inside the tool."""
        return change_of(
            f"blueprint/{self.service}",
            operations,
            ("tools", self.tool, *place),
            f"{self.service}.{self.tool}: {why}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectPlace:
    """One effect of a tool."""

    at: ToolPlace
    name: str

    @property
    def effect(self) -> Any:
        """The effect as it is."""
        return self.at.body.effects[self.name]

    @property
    def entity(self) -> EntityBlueprint:
        """The entity of its table."""
        return self.at.entities[self.effect.table]

    @property
    def path(self) -> tuple[str, ...]:
        """Its path inside the tool."""
        return ("effects", self.name)

    def fields(self) -> Iterator[tuple[str, FieldBlueprint, Any]]:
        """Yield name, definition and expression of the fields that it writes, but for the key."""
        for field, value in sorted(self.effect.fields.items()):
            if field != self.entity.key:
                yield field, self.entity.fields[field], thaw(value)

    def is_answer(self) -> bool:
        """Whether the tool's answer names the row that this effect writes."""
        return f"${self.name}" in str(to_json(self.at.body)["result"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlace:
    """One row of a service's seed."""

    service: str
    table: str
    row_id: str
    row: Mapping[str, Any]
    entity: EntityBlueprint

    def change(self, operations: Iterable[tuple[str, str, object]], why: str, *path: str) -> Change:
        """Return a change of the seed, whose place is the row or a field of it."""
        return change_of(
            f"seed/{self.service}",
            operations,
            ("tables", self.table, self.row_id, *path),
            f"{self.service}/{self.table}/{self.row_id}: {why}",
        )

    def at(self, *path: str) -> str:
        """Return the pointer of a path inside the row."""
        return pointer_of("tables", self.table, self.row_id, *path)


def fields_like(entity: EntityBlueprint, name: str) -> list[str]:
    """Return the other fields of an entity that could be taken for this one: of one type, without
    a closed list of values, and null where it may be null.
    """
    this = entity.fields[name]
    return [
        other
        for other, found in sorted(entity.fields.items())
        if other not in (name, entity.key)
        and found.type is this.type
        and found.enum is None
        and this.enum is None
        and (found.nullable or not this.nullable)
    ]


def states(entity: EntityBlueprint) -> list[str]:
    """Return the fields whose values are a closed list."""
    return [name for name, field in sorted(entity.fields.items()) if field.enum]


def is_plain_text(field: FieldBlueprint) -> bool:
    """Whether a field holds a text without a closed list of values."""
    return field.type is FieldType.STRING and field.enum is None
