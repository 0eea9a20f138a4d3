"""JSON values that a pure function takes: numbers, texts, lists and matrices, with their bounds.

Owns the refusal of what a function cannot take. Sizes are bounded, so that no argument makes one
slow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_TEXT = 100_000
MAX_NUMBERS = 10_000
MAX_SIDE = 12
"""Rows and columns of a matrix."""
Arguments = Mapping[str, Any]


class PureError(ValueError):
    """Arguments that a function has no value for; the text says why."""


def number_of(value: Any) -> Any:
    """Return a number, also one that is written as a text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise PureError(f"{value[:40]!r} is no number") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PureError(f"a number is needed, found {str(value)[:40]!r}")
    return value


def whole_of(value: Any, least: int = -(2**53), most: int = 2**53) -> int:
    """Return a whole number within bounds."""
    found = number_of(value)
    if found != int(found) or not least <= found <= most:
        raise PureError(f"a whole number from {least} to {most} is needed, found {value!r}"[:200])
    return int(found)


def text_of(value: Any, most: int = MAX_TEXT) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise PureError(f"a text is needed, found {str(value)[:40]!r}")
    if len(value) > most:
        raise PureError(f"the text has {len(value)} characters; {most} are the most")
    return value


def numbers_of(arguments: Arguments, name: str = "numbers") -> list[Any]:
    """Return a list of numbers."""
    values = arguments[name]
    if not isinstance(values, (list, tuple)) or not values or len(values) > MAX_NUMBERS:
        raise PureError(f"a list of 1 to {MAX_NUMBERS:,} numbers is needed")
    return [number_of(item) for item in values]


def texts_of(value: Any) -> list[str]:
    """Return a list of texts."""
    if not isinstance(value, (list, tuple)) or len(value) > MAX_NUMBERS:
        raise PureError(f"a list of at most {MAX_NUMBERS:,} texts is needed")
    return [text_of(item) for item in value]


def matrix_of(value: Any) -> list[list[Any]]:
    """Return a matrix: rows of equally many numbers."""
    if not isinstance(value, (list, tuple)) or not 0 < len(value) <= MAX_SIDE:
        raise PureError(f"a matrix of 1 to {MAX_SIDE} rows is needed")
    rows = [numbers_of({"numbers": row}) for row in value]
    if len({len(row) for row in rows}) != 1 or len(rows[0]) > MAX_SIDE:
        raise PureError(f"each row must hold the same count of numbers, {MAX_SIDE} at most")
    return rows
