"""JSON values as worlds hold them: one form for one value, so that equal values have equal bytes.

Owns the door through which values come in from outside (arguments, seeds, literals of blueprints).
Inside, lists are tuples and objects are `FrozenDict`s; integers have 64 bits; whole floats are
integers (`2.0` is `2` in JSON); text is valid Unicode; nothing is NaN, infinite or endlessly deep.
What has passed here is never checked again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from components.records.frozen import FrozenDict

MAX_DEPTH = 64
"""Levels of lists and objects in one value."""
INT64 = 2**63
_EXACT = 2.0**53
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def settle(value: Any, depth: int = 0) -> Any:
    """Return a JSON value in the one form, sharing nothing that can change with what was passed in.

    Args:
        value: plain or frozen JSON.
        depth: levels around this value.

    Raises:
        ValueError: it is not JSON, or too deep, or a number or text in it has no JSON form.
    """
    kind = type(value)
    if kind is str:
        if not value.isascii():
            value.encode()  # a lone surrogate has no bytes
        return value
    if value is None or kind is bool:
        return value
    if kind is int or kind is float:
        return settle_number(value)
    if depth >= MAX_DEPTH:
        raise ValueError(f"more than {MAX_DEPTH} levels of lists and objects")
    if isinstance(value, (dict, Mapping)):
        whole = {}
        for key, item in value.items():
            if type(key) is not str:
                raise ValueError(f"a key is {_shown(key)}, not a text")
            if not key.isascii():
                key.encode()
            is_plain = type(item) is str and item.isascii()  # most are: spare them the call
            whole[key] = item if is_plain else settle(item, depth + 1)
        return FrozenDict(whole)
    if isinstance(value, (list, tuple)):
        return tuple([settle(item, depth + 1) for item in value])
    if isinstance(value, str):
        return settle(str.__str__(value), depth)
    raise ValueError(f"{kind.__name__} is not a JSON type")


def settle_number(value: float) -> int | float:
    """Return a number in the one form.

    Raises:
        ValueError: it is NaN, infinite, or an integer of more than 64 bits.
    """
    if type(value) is float:
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a JSON number")
        return int(value) if value.is_integer() and abs(value) < _EXACT else value
    if not -INT64 <= value < INT64:
        raise ValueError("an integer has more than 64 bits")
    return value


def valid_text(text: str) -> str:
    """Return a text that has bytes: what has none, a lone surrogate, becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def is_of(value: Any, kind: str) -> bool:
    """True where a value is of a JSON type, or a `timestamp`; null is of none."""
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, str):
        return kind == "string" or (kind == "timestamp" and bool(_TIMESTAMP.fullmatch(value)))
    if isinstance(value, (int, float)):
        return kind == "number" or (kind == "integer" and isinstance(value, int))
    is_list = isinstance(value, (list, tuple)) and kind == "array"
    return is_list or (isinstance(value, Mapping) and kind == "object")


def same(left: Any, right: Any) -> bool:
    """JSON equality, at any depth: `true` is not 1, 1 is 1.0."""
    if left is right:
        return True
    if type(left) is str or left is None or right is None:
        return bool(left == right)
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def _shown(value: object) -> str:
    return repr(value)[:80]


def has_path(value: Any, path: Sequence[str]) -> bool:
    """Return whether an object holds a value, null included, under names one within the other."""
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return True
