"""Readings of tools from labels written by hand; roles of other parameters from their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.gates.promises import words
from components.environment.names import snake
from components.environment.reading.records import Role, ToolReading
from components.records.blueprint import FunctionalClass, Operation
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec

_BY_WORDS = (
    ("query_words", Role.QUERY),
    ("limit_words", Role.LIMIT),
    ("cursor_words", Role.CURSOR),
    ("offset_words", Role.OFFSET),
    ("page_words", Role.PAGE),
    ("sort_words", Role.SORT_BY),
    ("order_words", Role.SORT_ORDER),
)
_FROM = ("start_", "from_", "since", "min_")
_TO = ("end_", "to_", "until", "max_")


def role_of(name: str, identifiers: list[str]) -> Role:
    """Return what a parameter is for, by its name alone where it is no identifier."""
    if name in identifiers:
        return Role.IDENTIFIER
    word = snake(name)
    for kind, role in _BY_WORDS:
        if word in words(kind):
            return role
    if word in words("hidden"):
        return Role.CONTROL
    if word.endswith("_id"):
        return Role.REFERENCE
    if word.startswith(_FROM) or word.endswith("_after"):
        return Role.FROM
    if word.startswith(_TO) or word.endswith("_before"):
        return Role.TO
    return Role.VALUE


def label_readings(
    spec: ServiceSpec, labels: Mapping[str, Mapping[str, Any]]
) -> dict[str, ToolReading]:
    """Return a reading for every tool of a spec; one without a label is taken for external."""
    found = {}
    for name, tool in spec.tools.items():
        label = labels.get(name)
        properties = tool.input_schema.get("properties") or {}
        identifiers = list(label["identifier"]) if label else []
        roles = FrozenDict({part: role_of(part, identifiers) for part in properties})
        found[name] = ToolReading(
            operation=Operation(label["operation"]) if label else Operation.EXTERNAL,
            functional=FunctionalClass(label["functional"]) if label else FunctionalClass.READ,
            deterministic=bool(label and label["deterministic"]),
            entity=label["entity"] if label else None,
            parent=label["parent"] if label else None,
            roles=roles,
            difficulty=label["difficulty"] if label else 3,
            confidence=1.0,
        )
    return found
