"""Values that are spread over a whole table, so that a filter finds some rows and not all.

Owns links, enums, other choices and flags. Each value of an enum occurs as often as any other.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from components.environment.archetypes.meanings import Kind, Meaning
from components.environment.archetypes.table_shape import TableShape

NULLS = 4
"""One value of so many is null, where a field may be."""


def spread_columns(
    shape: TableShape, meanings: Mapping[str, Meaning], size: int, rng: random.Random
) -> dict[str, list[Any]]:
    """Return the values that are spread over the whole table: links, enums, flags."""
    columns: dict[str, list[Any]] = {}
    for name in sorted(shape.fields):
        item, meaning = shape.fields[name], meanings[name]
        if name in shape.links:
            columns[name] = _spread(list(shape.links[name]), size, rng)
        elif meaning.kind is Kind.CHOICE and meaning.is_closed:
            # A closed list cannot name each row, even where it is what a person calls it by.
            columns[name] = _spread(list(item.enum or meaning.options), size, rng)
        elif name in shape.unique or name == shape.title_field:
            continue
        elif meaning.kind is Kind.CHOICE and _is_free(meaning) and name not in shape.schemas:
            few = min(len(meaning.options), max(2, size // 2))  # each value in about two rows
            columns[name] = _spread(rng.sample(meaning.options, few), size, rng)
        elif meaning.kind is Kind.BOOLEAN:
            true = min(max(round(meaning.share * size), 1), max(size - 1, 1))
            columns[name] = _shuffled([True] * true + [False] * (size - true), rng)
        else:
            continue
        if item.nullable and size >= NULLS:
            for index in rng.sample(range(size), size // NULLS):
                columns[name][index] = None
    return columns


def _is_free(meaning: Meaning) -> bool:
    """True for a choice that hangs on nothing else in its row."""
    return not meaning.unique and not meaning.aligned


def _spread(options: list[Any], size: int, rng: random.Random) -> list[Any]:
    """Return values in a random order, each option as often as any other, give or take one."""
    if not options:
        return [None] * size
    rng.shuffle(options)
    return _shuffled([options[index % len(options)] for index in range(size)], rng)


def _shuffled(values: list[Any], rng: random.Random) -> list[Any]:
    rng.shuffle(values)
    return values
