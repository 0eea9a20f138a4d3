"""What an argument of a compiled service is about, so that a request gives it what makes sense.

A compiled service has no phrases and hardly any links: its arguments are only names and schemas.
Read as the fields of its seed data are read, they say whether an observed value belongs there (an
e-mail address where one is asked for, never as the end of a meeting), and what a person would
write. What only the service itself could give, an id of its own, nobody can state.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import jsonschema_rs

from components.environment.archetypes.cast import USUAL, cast_of
from components.environment.archetypes.draw import RowDraw, TableContext
from components.environment.archetypes.field_meaning import UNKNOWN_TEXT, meaning_of
from components.environment.archetypes.meanings import Kind, Meaning, parse_meaning
from components.environment.names import singular, snake
from components.records.blueprint import Blueprint
from components.records.frozen import thaw
from components.task.graph import Parameter, Place, ToolShape
from components.task.remembered import Remembered

_OWN = ("id", "crypto", "hash", "memory")
"""Families of values that a service makes itself."""
_NAMES = frozenset({"person.full_name", "company.name", "product.name", "project.name"})
"""What a title can be, beside other titles."""
_PLANNED = frozenset({"start", "end", "due", "future", "upcoming"})
"""Kinds of instants that people ask for."""
_AHEAD = timedelta(days=14)
"""What people ask for lies about so far ahead."""
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_MAX_SENSES = 20_000
_senses: dict[int, tuple[Parameter, Meaning]] = {}
"""What was found for an argument before, by its identity; it is kept so that it stays the same."""


def own_name(shape: ToolShape, pointer: str) -> str:
    """Return an argument's name in snake_case, without what it shares with those beside it.

    Example: `/properties/hs_call_title` of a tool for calls is `title`.
    """
    *parents, last = [part for part in pointer.split("/")[1:] if not part.isdigit()]
    words = snake(last).split("_")
    first = [snake(name).partition("_")[0] for name in _beside(shape, parents)]
    if len(words) > 1 and first.count(words[0]) >= max(2, len(first) / 2):
        words = words[1:]
    noun = snake(shape.blueprint.entity or "").split("_")
    if len(words) > len(noun) and [singular(word) for word in words[: len(noun)]] == noun:
        words = words[len(noun) :]
    return "_".join(words)


def _beside(shape: ToolShape, parents: list[str]) -> list[str]:
    """Return the names of the arguments under the same parents."""
    schema: Any = shape.spec.input_schema
    for part in parents:
        schema = (schema.get("properties") or {}).get(part) or {}
        if "items" in schema:
            schema = schema["items"]
    return list(schema.get("properties") or {})


def is_record_of_list(pointer: str) -> bool:
    """Return whether an argument is part of an object in a list: a request gives one at a time."""
    parts = pointer.split("/")[1:]
    return any(part.isdigit() for part in parts[:-1])


def sense(shape: ToolShape, item: Parameter) -> Meaning:
    """Return what an argument is about."""
    known = _senses.get(id(item))
    if known is not None:
        return known[1]
    schema = thaw(item.schema)
    kind = schema.get("type")
    found = parse_meaning(
        meaning_of(
            own_name(shape, item.pointer), kind if isinstance(kind, str) else "string", schema
        )
    )
    if len(_senses) > _MAX_SENSES:
        _senses.clear()
    _senses[id(item)] = item, found
    return found


def is_own(meaning: Meaning) -> bool:
    """Return whether only the service could say such a value: an id of its own, or a text of which
    not even the name says what it holds, or when something happened.
    """
    if meaning.kind is Kind.TIME:
        return meaning.part not in _PLANNED
    return meaning.name.partition(".")[0] in _OWN or meaning.name == UNKNOWN_TEXT


def takes(meaning: Meaning, blueprint: Blueprint, place: Place) -> bool:
    """Return whether an observed value of a place belongs where such a value is asked for.

    Args:
        meaning: what the argument is about.
        blueprint: of the service of `place`.
        place: where the value is from, or what it stands for.
    """
    if meaning.kind is Kind.PROSE:
        return True
    entity = blueprint.entities[place.table]
    found = _meaning_of_field(place.field, entity.fields[place.field].type.value)
    if meaning.kind is Kind.TITLE:
        is_title = found.kind is Kind.TITLE or place.field == entity.title_field
        return is_title or found.name in _NAMES
    return found.name == meaning.name


@lru_cache(maxsize=_MAX_SENSES)
def _meaning_of_field(name: str, kind: str) -> Meaning:
    return parse_meaning(meaning_of(name, kind))


def row_for(shape: ToolShape, now: str, rng: random.Random) -> RowDraw:
    """Return what the values of one call are drawn from, so that they agree: an end is after its
    start.

    Args:
        now: the world's time, as `2026-01-15T09:00:00Z`.
    """
    moment = _ahead_of(now)
    table = TableContext(
        cast=cast_of(), now=moment, noun=shape.blueprint.entity or "record", walk_base=rng.random()
    )
    return RowDraw(table, rng, rng.randrange(USUAL))


@lru_cache(maxsize=64)
def _ahead_of(now: str) -> datetime:
    return datetime.strptime(now, _TIME_FORMAT) + _AHEAD


def _validator_of(item: Parameter) -> Any:
    """Return what checks a value of an argument; None where its schema points out of itself."""
    try:
        return jsonschema_rs.validator_for(thaw(item.schema))
    except (ValueError, jsonschema_rs.ReferencingError):
        return None


_validator: Remembered[Parameter, Any] = Remembered(_validator_of, _MAX_SENSES)


def stated(shape: ToolShape, item: Parameter, row: RowDraw) -> Any:
    """Return a value that a person would write, or None where none could."""
    meaning = sense(shape, item)
    if is_own(meaning):
        return None
    value = row.value(meaning.name)
    is_scalar = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    if item.schema.get("type") == "string" and is_scalar:
        value = str(value)
    validator = _validator(item) if is_scalar else None
    return value if validator is not None and validator.is_valid(value) else None
