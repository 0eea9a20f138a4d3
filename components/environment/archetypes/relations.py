"""Numbers of one row that hang on each other: sums, and what is never above what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.archetypes.table_shape import TableShape


def relate(row: dict[str, Any], shape: TableShape) -> None:
    """Put a row's sums and orders right.

    A field with a schema of its own is left alone: a sum may not fit it.
    """
    for groups in (shape.order, *_pairs(row)):
        names = [name for group in groups for name in group]
        has_schema = any(name in shape.schemas for name in names)
        if len(names) > 1 and not has_schema and all(is_number(row.get(name)) for name in names):
            for name, number in zip(names, sorted(row[name] for name in names), strict=True):
                row[name] = number
    for name, formula in shape.sums.items():
        total = _total(formula, row)
        if total is not None and name in row and name not in shape.schemas:
            row[name] = total


def _pairs(row: Mapping[str, Any]) -> list[tuple[tuple[str], tuple[str]]]:
    """Return the fields that a name calls the least and the most of one thing."""
    found: list[tuple[tuple[str], tuple[str]]] = []
    for name in row:
        for low, high in (("min", "max"), ("lowest", "highest")):
            words = name.split("_")
            if low in words:
                other = "_".join(high if word == low else word for word in words)
                if other in row:
                    found.append(((name,), (other,)))
    return found


def _total(formula: str, row: Mapping[str, Any]) -> int | float | None:
    left, sign, right = formula.split()
    one, two = row.get(left), row.get(right)
    if not (is_number(one) and is_number(two)):
        return None
    assert one is not None
    assert two is not None
    total = one + two if sign == "+" else one - two if sign == "-" else one * two
    return total if isinstance(total, int) else round(total, 2)


def is_number(value: Any) -> bool:
    """True for a JSON number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
