"""Units of measure: what each is in the base unit of its kind."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path


class UnitError(ValueError):
    """A unit that is not known, or two that measure different things."""


@cache
def _units() -> dict[str, tuple[str, float, float]]:
    """Return name -> (kind, factor, offset): base value = factor * value + offset."""
    text = Path(__file__).with_name("units.json").read_text(encoding="utf-8")
    found: dict[str, tuple[str, float, float]] = {}
    for kind, units in json.loads(text).items():
        for names, factor, *offset in units:
            for name in names.split():
                found[name] = (kind, float(factor), float(offset[0]) if offset else 0.0)
    return found


def convert(value: float, source: str, target: str) -> float:
    """Return a measure in another unit.

    Example:
        >>> convert(2, "km", "m")
        2000.0

    Raises:
        UnitError: a unit is not known, or they measure different things.
    """
    first, last = _unit(source), _unit(target)
    if first[0] != last[0]:
        raise UnitError(f"{source!r} measures {first[0]} and {target!r} {last[0]}")
    base = value * first[1] + first[2]
    return round((base - last[2]) / last[1], 10)


def _unit(name: str) -> tuple[str, float, float]:
    units = _units()
    word = name.strip().lower().replace(" ", "_")
    for form in (name.strip(), word, word.removesuffix("s")):
        if form in units:
            return units[form]
    raise UnitError(f"there is no unit {name[:40]!r}")
