"""Which arguments of a blueprint's tool name rows, and the values that name rows that there are.

Owns the reading of lookups and conditions: a comparison of a row's column with an argument, however
deep the argument lies and whether it may be left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.environment.gates.probe import Prober
from components.environment.gates.variants import Joint
from components.records.blueprint import Blueprint, Lookup, ToolBlueprint

_COMPARING = ("@eq", "@in", "@contains")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A column that is compared with an argument."""

    column: str
    path: tuple[str, ...]
    is_list: bool = False
    """The argument is a list of such values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Arguments that together pick rows of one table."""

    table: str
    pairs: tuple[Pair, ...]
    is_one: bool
    """They name one row, which must be there."""


def argument_path(expression: Any) -> tuple[str, ...] | None:
    """Return the path of the argument that an expression is nothing but, or None."""
    if isinstance(expression, str) and expression.startswith("$args."):
        return tuple(expression[6:].split("."))
    return None


def argument_of(expression: Any) -> str | None:
    """Return the top-level argument that an expression is nothing but, or None."""
    path = argument_path(expression)
    return path[0] if path is not None and len(path) == 1 else None


def bindings_of(blueprint: Blueprint, tool: ToolBlueprint) -> list[Binding]:
    """Return how a tool's arguments pick rows: by lookups, effects, and its query."""
    found = [lookup_binding(blueprint, lookup) for _, lookup in sorted(tool.lookups.items())]
    for _, effect in sorted(tool.effects.items()):
        if effect.where is not None:
            pairs = tuple(_pairs(effect.where))
            found.append(Binding(table=effect.table, pairs=pairs, is_one=False))
    if tool.query is not None:
        pairs = tuple(pair for _, part in sorted(tool.query.where.items()) for pair in _pairs(part))
        found.append(Binding(table=tool.query.table, pairs=pairs, is_one=False))
    return [binding for binding in found if binding.pairs]


def lookup_binding(blueprint: Blueprint, lookup: Lookup) -> Binding:
    """Return the arguments that a lookup reads."""
    if lookup.where:
        pairs = tuple(pair for _, part in sorted(lookup.where.items()) for pair in _pairs(part))
    else:
        path = argument_path(_bare(lookup.equals))
        column = lookup.field or blueprint.entities[lookup.table].key
        pairs = () if path is None else (Pair(column=column, path=path),)
    return Binding(table=lookup.table, pairs=pairs, is_one=not lookup.optional)


def text_pairs(tool: ToolBlueprint) -> list[Pair]:
    """Return the columns whose words a search compares with an argument."""
    return [] if tool.query is None else list(_text_pairs(tool.query.where))


def _text_pairs(condition: Any) -> Iterator[Pair]:
    if isinstance(condition, Mapping):
        for operator, parts in condition.items():
            if operator == "@matches" and isinstance(parts, (list, tuple)) and len(parts) == 2:
                columns = parts[0] if isinstance(parts[0], (list, tuple)) else [parts[0]]
                path = argument_path(parts[1])
                for column in map(_column, columns):
                    if column is not None and path is not None:
                        yield Pair(column=column, path=path)
            else:
                yield from _text_pairs(parts)
    elif isinstance(condition, (list, tuple)):
        for part in condition:
            yield from _text_pairs(part)


def joint_values(prober: Prober, binding: Binding) -> list[Joint]:
    """Return values of the arguments that together name one row, row by row."""
    found: list[Joint] = []
    for row in prober.some_rows(binding.table):
        values: dict[tuple[str, ...], Any] = {}
        for pair in binding.pairs:
            held = row.get(pair.column)
            held = held[0] if isinstance(held, tuple) and held and not pair.is_list else held
            if held is not None and pair.path not in values:
                values[pair.path] = [held] if pair.is_list else held
        if values:
            found.append(values)
    return found


def _pairs(condition: Any) -> Iterator[Pair]:
    """Yield the comparisons of a column with an argument, at any depth."""
    if isinstance(condition, Mapping):
        for operator, parts in condition.items():
            if operator in _COMPARING and isinstance(parts, (list, tuple)) and len(parts) == 2:
                left, right = _bare(parts[0]), _bare(parts[1])
                column, path = _column(left), argument_path(right)
                if column is None:
                    column, path = _column(right), argument_path(left)
                if column is not None and path is not None:
                    is_list = operator == "@in" and _column(left) is not None
                    yield Pair(column=column, path=path, is_list=is_list)
                    continue
            yield from _pairs(parts)
    elif isinstance(condition, (list, tuple)):
        for part in condition:
            yield from _pairs(part)


def _bare(expression: Any) -> Any:
    """Return what is compared, without the folding of its case or type."""
    if isinstance(expression, Mapping) and len(expression) == 1:
        ((operation, inner),) = expression.items()
        return inner if operation in ("@lower", "@text") else expression
    return expression


def _column(expression: Any) -> str | None:
    if isinstance(expression, str) and expression.startswith("$item."):
        return expression[6:] if "." not in expression[6:] else None
    return None
