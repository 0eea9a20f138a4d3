"""The dependency graph of a pool of services: which call can prepare which other, and how."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict


class EdgeKind(StrEnum):
    """How one tool prepares another."""

    VALUE = "value"
    """A field of its answer can be an argument of the other."""
    STATE = "state"
    """It can bring a row into the state that a rule of the other asks for."""
    REACTION = "reaction"
    """A reaction to it changes, in another service, a field that the other shows."""


class ToolNode(Record):
    """One tool that is offered and that does not depend on a world outside."""

    service: str
    functional: str
    """`read`, `write` or `process`."""
    operation: str
    """What it does, of the closed list of operations (`get`, `update`, ...)."""
    entity: str
    """Table that it works on; empty where it works on none."""
    difficulty: int
    """1 to 5."""


class DependencyEdge(Record):
    """One tool can prepare another."""

    source: str
    """`service.tool`."""
    target: str
    """`service.tool`."""
    kind: EdgeKind
    field: str
    """VALUE: JSON Pointer of the field in the answer's `data`, `*` for each element of a list;
    STATE and REACTION: field of `entity` that is changed.
    """
    argument: str
    """VALUE: JSON Pointer of the argument; empty otherwise."""
    role: str
    """VALUE: what the argument does with it (`selects`, `filters`, `sets`, `other`); STATE: the
    rule's message; REACTION: the reaction's name.
    """
    entity: str
    """`service.table`: the table whose field the value means, or whose row is changed."""


class DependencyGraph(Record):
    """What joins the tools of a pool."""

    schema_version: int = Field(default=1, ge=1, le=1)
    tools: FrozenDict[str, ToolNode]
    """`service.tool` -> what it is."""
    edges: tuple[DependencyEdge, ...]
    """Sorted, without repeats; a tool is not joined with itself."""
