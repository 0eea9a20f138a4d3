"""Whether two answers have the same shape in what matters to a reader.

What the real answer holds (names, at any depth, and kinds of values) must be in the compiled one;
what the compiled one says besides is no fault, and neither is one name around the whole. Prose is a
shape of its own: an answer that only acknowledges, or holds one text, has it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from components.environment.names import snake

_MOST_TOLD = 6


def shape_difference(real: Any, compiled: Any) -> str:
    """Return in one line how a compiled answer's shape differs; empty where it does not.

    Args:
        real: JSON, or prose as a text.
        compiled: JSON.
    """
    if isinstance(real, str):
        return "" if _is_text(compiled) else f"prose; compiled: {_named(compiled)}"
    first = _missing(real, compiled, "")
    inner, other = _inside(real), _inside(compiled)
    pairs = ((real, other), (inner, compiled), (inner, other))
    others = [_missing(*pair, "") for pair in pairs if None not in pair]
    if not first or "" in others:
        return ""
    return others[0] if inner is None and other is not None else first


def is_prose(real: Any) -> bool:
    """Return whether an answer is prose."""
    return isinstance(real, str)


def _is_text(value: Any) -> bool:
    """True for a text, and for an object of at most one text besides flags."""
    if not isinstance(value, Mapping):
        return isinstance(value, str)
    others = [item for item in value.values() if not isinstance(item, bool)]
    return len(others) <= 1 and all(isinstance(item, str) for item in others)


def _inside(value: Any) -> Any:
    """Return the only object or list in an object, or None."""
    if not isinstance(value, Mapping):
        return None
    inner = [item for item in value.values() if isinstance(item, (Mapping, list, tuple))]
    return inner[0] if len(inner) == 1 else None


def _missing(real: Any, compiled: Any, place: str) -> str:
    where = place or "the answer"
    if real is None or compiled is None:
        return ""
    if _kind(real) != _kind(compiled):
        return f"{where} is {_kind(real)}; compiled: {_kind(compiled)}"
    if isinstance(real, Mapping):
        there = {snake(str(name)): item for name, item in compiled.items()}
        for name, item in real.items():
            if snake(str(name)) not in there:
                return f"{place}.{name} is missing; compiled: {_named(compiled)}"
            told = _missing(item, there[snake(str(name))], f"{place}.{name}")
            if told:
                return told
        return ""
    if isinstance(real, (list, tuple)):
        return _list_difference(list(real), list(compiled), f"{place}[]")
    return ""


def _list_difference(real: list[Any], compiled: list[Any], place: str) -> str:
    """Compare what two lists hold; an empty one, or one of nulls, says nothing."""
    kinds = {_kind(item) for item in real if item is not None}
    others = {_kind(item) for item in compiled if item is not None}
    if not kinds or not others:
        return ""
    if not kinds & others:
        return f"{place} is {min(kinds)}; compiled: {min(others)}"
    inner, other_inner = (
        [part for item in items if isinstance(item, (list, tuple)) for part in item]
        for items in (real, compiled)
    )
    whole = _union(item for item in compiled if isinstance(item, Mapping))
    records = [item for item in real if isinstance(item, Mapping)] if whole else []
    told = next((said for item in records if (said := _missing(item, whole, place))), "")
    return told or _list_difference(inner, other_inner, f"{place}[]") if inner else told


def _union(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what records hold together: a later one fills what is null in the ones before."""
    found: dict[str, Any] = {}
    for record in records:
        found |= {name: item for name, item in record.items() if found.get(name) is None}
    return found


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, Mapping):
        return "an object"
    return "nothing" if value is None else "a list"


def _named(value: Any) -> str:
    if not isinstance(value, Mapping):
        return _kind(value)
    names = sorted(map(str, value))
    return f"{', '.join(names[:_MOST_TOLD])}{' and more' if len(names) > _MOST_TOLD else ''}"
