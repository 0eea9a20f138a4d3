"""Scenes: kinds of service whose tables and tools everybody knows, as data.

Owns the shape of a scene's file (`*.json` beside this module). It holds tables, their first rows,
and tools by role, in the language of blueprints; `$given.NAME` in an expression stands for what the
caller gives in a part of that name, `{"@use": NAME}` for one of its named parts.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from pydantic import Field

from components.records.base import Record
from components.records.blueprint import (
    Check,
    Effect,
    EntityBlueprint,
    FunctionalClass,
    Lookup,
    Operation,
    Query,
)
from components.records.frozen import FrozenDict, JsonObject, freeze
from components.records.spec import Expr


class Part(Record):
    """A tool of a scene."""

    name: str
    """Expression that its name fits, in snake_case and without the scene's prefixes."""
    says: str = ""
    """Expression that is found in its name or description; empty: any."""
    takes: tuple[str, ...] = ()
    """What callers give it; a tool without a parameter for one of these has another part."""
    may_take: tuple[str, ...] = ()
    operation: Operation
    functional: FunctionalClass
    entity: str
    lookups: tuple[str, ...] = ()
    """Names of the scene's lookups."""
    checks: FrozenDict[str, Check] = FrozenDict()
    effects: FrozenDict[str, Effect] = FrozenDict()
    query: Query | None = None
    result: Expr
    """What it answers: one text, as such programs print it, or JSON where `is_data`."""
    is_data: bool = False
    is_kept: bool = False
    """True where its answers follow from what the scene keeps, though such tools mostly depend on a
    world outside: it is played by a tool that was taken for that as well.
    """


class Scene(Record):
    """A kind of service."""

    title: str
    spoken: str
    """Expression that is found in the service's names and descriptions."""
    prefixes: str
    """Words that may stand before a tool's own name."""
    needs: tuple[str, ...] = Field(min_length=1)
    """Parts that a service of this kind has."""
    implied: tuple[str, ...] = ()
    """What callers need not give: there is one of it, or a current one."""
    params: FrozenDict[str, str]
    """What callers give, by name: an expression that a parameter's name fits in snake_case."""
    parts: FrozenDict[str, Expr] = FrozenDict()
    """Named expressions."""
    lookups: FrozenDict[str, Lookup] = FrozenDict()
    tools: FrozenDict[str, Part]
    tables: FrozenDict[str, EntityBlueprint]
    rows: FrozenDict[str, tuple[JsonObject, ...]]


@cache
def known_scenes() -> tuple[Scene, ...]:
    """Return every scene, by the names of their files."""
    paths = sorted(Path(__file__).parent.glob("*.json"))
    return tuple(
        Scene.model_validate(freeze(json.loads(path.read_text(encoding="utf-8")))) for path in paths
    )
