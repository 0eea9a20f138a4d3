"""What the rows of one table are to hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.environment.archetypes.records import Archetype, FieldShape
from components.records.frozen import FrozenDict


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShape:
    """What the rows of a table are to hold. `of_archetype` makes one."""

    noun: str
    fields: Mapping[str, FieldShape]
    title_field: str | None = None
    texts: str = "general"
    unique: frozenset[str] = frozenset()
    """Fields whose values name one row (keys); the title is one without being listed."""
    links: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Field -> keys of the rows that it may point to, in the order of their table."""
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Field -> JSON Schema that its values must fit."""
    documents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Field -> whole schema that references in its own point into."""
    sums: Mapping[str, str] = field(default_factory=dict)
    order: Sequence[Sequence[str]] = ()


def of_archetype(
    archetype: Archetype,
    *,
    fields: Mapping[str, FieldShape] = FrozenDict(),
    links: Mapping[str, Sequence[Any]] = FrozenDict(),
) -> TableShape:
    """Return the table of an archetype.

    Args:
        fields: more fields, or others in the place of its own.
        links: keys by field, for the links that the service keeps.
    """
    return TableShape(
        noun=archetype.noun,
        fields={**archetype.fields, **fields},
        title_field=archetype.title_field,
        texts=archetype.texts,
        unique=frozenset({archetype.key} if archetype.key else ()),
        links=links,
        sums=archetype.sums,
        order=archetype.order,
    )
