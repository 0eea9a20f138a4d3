"""What an argument of a tool reaches: read off the blueprint's expressions, nothing is executed.

An argument reaches the fields whose expressions name it, directly, through a lookup or through an
earlier effect, and it reaches a row when it selects the row. What a reaction makes of it is not
followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.records.blueprint import Effect, ToolBlueprint

_PRESENCE = ("@lit", "@given", "@is_null")
"""Operations in which an argument's value plays no part: a literal, and whether it was given."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What one argument reaches in one effect."""

    selects: bool
    """It decides which row is written, or whether one is."""
    fields: frozenset[str]
    """It goes into these fields."""


def reach_of(tool: ToolBlueprint, argument: str) -> dict[str, Reach]:
    """Return what an argument reaches, by effect. Effects run in the order of their names."""
    names = {f"args.{argument}", "args"}
    for name, lookup in sorted(tool.lookups.items()):
        if names & {*_names_in(lookup.equals), *_names_in(lookup.where)}:
            names.add(name)
    reached = {}
    for name, effect in sorted(tool.effects.items()):
        reach = _of_effect(effect, names)
        reached[name] = reach
        if reach.selects or reach.fields:
            names.add(name)
    return reached


def _of_effect(effect: Effect, names: set[str]) -> Reach:
    selects = (
        effect.target in names
        or bool(names & set(_names_in(effect.where)))
        or bool(names & set(_names_in(effect.when)))
    )
    inner = {*names, "element"} if names & set(_names_in(effect.each)) else names
    fields = frozenset(
        field for field, value in effect.fields.items() if inner & set(_names_in(value))
    )
    return Reach(selects, fields)


def _names_in(expression: Any) -> Iterator[str]:
    """Yield what an expression reads: `args.<argument>`, or the first part of a reference."""
    if isinstance(expression, str) and expression.startswith("$"):
        first, _, rest = expression[1:].partition(".")
        yield f"args.{rest.partition('.')[0]}" if first == "args" and rest else first
    elif isinstance(expression, Mapping):
        for key, item in expression.items():
            if key not in _PRESENCE:
                yield from _names_in(item)
    elif isinstance(expression, (list, tuple)):
        for item in expression:
            yield from _names_in(item)
