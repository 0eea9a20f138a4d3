"""Conditions that a caller writes out: `{"field": "price", "operator": "GT", "value": 9}`.

Owns the comparison of a row with a list of such conditions, or with groups of them
(`[{"filters": [...]}, ...]`: all of one group must hold). A field that rows do not have holds
nothing; an operator that is not known is refused, since a guess would show wrong rows as found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from components.environment.names import snake

FIELDS = ("property_name", "property", "field", "field_name", "column", "attribute", "key")
"""What a condition calls the field that it is about, in snake_case."""
OPERATORS = ("operator", "op", "comparison", "comparator")
VALUES = ("value", "values")
GROUPS = ("filters", "conditions")
_HIGHER = ("high_value", "upper_value", "to")


def meets(row: Any, conditions: Any) -> bool:
    """Return whether a row meets a list of conditions, or one group of a list of groups.

    Raises:
        ValueError: an operator is not known.
    """
    if not isinstance(row, Mapping) or not isinstance(conditions, (list, tuple)):
        raise TypeError("needs a row and a list of conditions")
    parts = [_by_word(item) for item in conditions]
    groups = [one for part in parts if (one := _first(part, GROUPS)) is not None]
    if groups:
        return any(all(_holds(row, _by_word(item)) for item in group) for group in groups)
    return all(_holds(row, part) for part in parts)


def _holds(row: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
    wanted = snake(str(_first(condition, FIELDS) or ""))
    own = next((value for name, value in _values(row) if snake(name) == wanted), None)
    said = str(_first(condition, OPERATORS) or "eq")
    compare = _OPERATORS.get(snake(said) or said)
    if compare is None:
        raise ValueError(f"the operator {said!r} is not known")
    value = _first(condition, VALUES)
    return compare(own, value, _first(condition, _HIGHER))


def _values(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield a row's fields, then those of the objects that it holds (`properties`)."""
    yield from row.items()
    for value in row.values():
        if isinstance(value, Mapping):
            yield from value.items()


def _by_word(condition: Any) -> dict[str, Any]:
    if not isinstance(condition, Mapping):
        raise TypeError("a condition is an object")
    return {snake(name): value for name, value in condition.items()}


def _first(condition: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((condition[name] for name in names if condition.get(name) is not None), None)


def _plain(value: Any) -> Any:
    """Return a number where a text is one, for conditions often write numbers as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return float(value)
    text = str(value).lower()
    try:
        return float(text)
    except ValueError:
        return text


def _order(own: Any, value: Any) -> int | None:
    """Return -1, 0 or 1 as a value lies below, at or above another; None: neither."""
    if own is None or value is None:
        return None
    left, right = _plain(own), _plain(value)
    if type(left) is not type(right):
        left, right = str(own).lower(), str(value).lower()
    return int(left > right) - int(left < right)


def _is_among(own: Any, values: Any) -> bool:
    every = values if isinstance(values, (list, tuple)) else str(values).split(";")
    return any(_order(own, value) == 0 for value in every)


def _has_token(own: Any, value: Any) -> bool:
    parts = own if isinstance(own, (list, tuple)) else (own,)
    token = str(value).strip("*%").lower()
    return any(part is not None and token in str(part).lower() for part in parts)


def _between(own: Any, low: Any, high: Any) -> bool:
    if isinstance(low, (list, tuple)) and len(low) == 2:
        low, high = low
    return _order(own, low) in (0, 1) and _order(own, high) in (-1, 0)


_EQUAL, _OTHER = (
    (lambda own, value, _: _order(own, value) == 0),
    (lambda own, value, _: _order(own, value) != 0),
)
_OPERATORS: dict[str, Callable[[Any, Any, Any], bool]] = {
    **dict.fromkeys(("eq", "equals", "equal", "is", "=", "=="), _EQUAL),
    **dict.fromkeys(("neq", "ne", "not_equals", "is_not", "!=", "<>"), _OTHER),
    **dict.fromkeys(("lt", "<", "less_than"), lambda own, value, _: _order(own, value) == -1),
    **dict.fromkeys(("lte", "<="), lambda own, value, _: _order(own, value) in (-1, 0)),
    **dict.fromkeys(("gt", ">", "greater_than"), lambda own, value, _: _order(own, value) == 1),
    **dict.fromkeys(("gte", ">="), lambda own, value, _: _order(own, value) in (0, 1)),
    "between": _between,
    "in": lambda own, value, _: _is_among(own, value),
    **dict.fromkeys(("not_in", "nin"), lambda own, value, _: not _is_among(own, value)),
    **dict.fromkeys(
        ("has_property", "exists", "is_not_null", "is_known"), lambda own, _, __: own is not None
    ),
    **dict.fromkeys(
        ("not_has_property", "not_exists", "is_null", "is_unknown"), lambda own, _, __: own is None
    ),
    **dict.fromkeys(
        ("contains_token", "contains", "like", "ilike"),
        lambda own, value, _: _has_token(own, value),
    ),
    **dict.fromkeys(
        ("not_contains_token", "not_contains"), lambda own, value, _: not _has_token(own, value)
    ),
    "starts_with": lambda own, value, _: str(own or "").lower().startswith(str(value).lower()),
    "ends_with": lambda own, value, _: str(own or "").lower().endswith(str(value).lower()),
}
