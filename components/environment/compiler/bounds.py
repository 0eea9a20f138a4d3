"""Bounds of a read: `min_price`, `created_after`, `from` and `to`.

Owns which column a lower or an upper bound is about. A bound of what rows may hold gives them that
column; one that is about nothing they hold leaves out no row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from components.environment.compiler.asks import bounded_words, is_kept
from components.environment.compiler.inputs import Input, Tool, style_of, styled
from components.environment.compiler.rows import if_given
from components.environment.compiler.table import Column, Table
from components.environment.names import singular, snake, tokens
from components.environment.reading.records import Role
from components.records.blueprint import FieldBlueprint, FieldType, Operation

_NUMBERS = (FieldType.INTEGER, FieldType.NUMBER)
_SEVERAL = (Operation.LIST, Operation.SEARCH)
_BOUND_WORDS = frozenset(
    {"from", "to", "since", "until", "after", "before", "start", "end", "min", "max", "minimum",
     "maximum", "date", "time", "at", "gte", "lte", "gt", "lt", "lower", "upper", "on", "range"}
)  # fmt: skip
_MAIN_TIMES = ("start", "date", "day", "timestamp", "time", "due", "published", "created")
"""Words of the column that a bare bound (`from`, `until`) is about, the likeliest first."""
_TIME_WORDS = frozenset(
    {"date", "time", "day", "month", "year", "week", "timestamp", "moment", "period", "since",
     "until", "after", "before", "created", "updated", "modified", "published", "checkin",
     "checkout", "newer", "older", "at"}
)  # fmt: skip


def add_bounded_columns(tools: Iterable[Tool], tables: dict[str, Table]) -> None:
    """Give each table the numbers that its lists are bounded by and that no column holds yet."""
    for tool in sorted(tools, key=lambda tool: tool.name):
        table = tables.get(tool.reading.entity or "")
        if table is None or tool.reading.operation not in _SEVERAL:
            continue
        for item in tool.of(Role.FROM, Role.TO):
            spoken = bounded_words(item.param)
            is_amount = item.kind in ("integer", "number") and is_kept(spoken)
            if not is_amount or bounded_column(item, table) is not None:
                continue
            name = styled("_".join(spoken), style_of(tuple(table.columns)))
            if spoken[-1] in _TIME_WORDS - {"year"} or table.find("_".join(spoken)) is not None:
                continue
            kind = FieldType.INTEGER if item.kind == "integer" else FieldType.NUMBER
            body = FieldBlueprint(type=kind, nullable=True, required=False)
            table.columns[name] = Column(name=name, body=body, source=f"bounded by {tool.name}")


def bound(item: Input, table: Table) -> tuple[str, Any, str]:
    """Return label, condition over `$item` (null: none) and what is said of a bound."""
    name = item.param.name
    column = bounded_column(item, table)
    if column is None:
        return "", None, f"{name!r} bounds nothing that is kept"
    own, is_number = f"$item.{column}", table.columns[column].body.type in _NUMBERS
    if item.role is Role.FROM:
        condition: Any = {"@ge": [own, item.ref]}
    elif is_number:
        condition = {"@le": [own, item.ref]}
    else:  # a day as the upper bound holds the whole day
        condition = {"@le": [own, {"@concat": [item.ref, "~"]}]}
    label = f"{item.role.value}_{snake(column)}"
    return label, if_given(item, condition), f"{name!r} bounds {column!r}"


def bounded_column(item: Input, table: Table) -> str | None:
    """Return the column that an upper or lower bound is compared with, or None."""
    if item.kind not in ("string", "integer", "number") or item.is_list or item.param.enum:
        return None
    usual = item.param.default
    if isinstance(usual, str) and usual and not any(char.isdigit() for char in usual):
        return None  # `since: daily` is a choice, and no moment
    is_number = item.kind != "string"
    words = (singular(part) for part in bounded_words(item.param))
    spoken = {part for part in words if part not in _BOUND_WORDS}
    choices = [
        name
        for name, column in sorted(table.columns.items())
        if (column.body.type in _NUMBERS if is_number else is_time(column))
        and name not in table.links
        and name not in table.names
    ]
    if is_number and not spoken:  # `start_time` as a number is about a moment kept as one
        choices = [name for name in choices if set(tokens(name)) & {*_MAIN_TIMES, *_TIME_WORDS}]
    if not choices:
        return None

    def rank(name: str) -> tuple[int, int, int]:
        parts = tuple(singular(part) for part in tokens(name))
        main = next((n for n, word in enumerate(_MAIN_TIMES) if word in parts), len(_MAIN_TIMES))
        return len(spoken & set(parts)), -main, -choices.index(name)

    best = max(choices, key=rank)
    if (
        spoken
        and (is_number or not _is_moment(item))
        and not spoken & {singular(part) for part in tokens(best)}
    ):
        return None
    return best


def _is_moment(item: Input) -> bool:
    """True for a text bound that speaks of a time, or that its schema says to be one."""
    is_dated = item.param.schema.get("format") in ("date", "date-time")
    parts = tokens(item.param.name)
    return is_dated or any(singular(part) in _TIME_WORDS for part in parts)


def is_time(column: Column) -> bool:
    """True for columns that hold a moment or a day as text."""
    if column.body.type is not FieldType.STRING:
        return column.body.type is FieldType.TIMESTAMP
    words = set(tokens(column.name))
    is_said = column.meaning.startswith(("time.", "date."))
    return is_said or bool(words & {"date", "time", "at", "timestamp", "day", "start"})
