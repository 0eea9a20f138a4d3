"""Selections of rows: named filters, sorting, and pages whose cursors outlive a new row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from components.environment.expressions import (
    ExpressionError,
    Scope,
    Vocabulary,
    compile_expression,
)
from components.records.blueprint import Query
from components.records.frozen import FrozenDict, JsonObject, canonical_json

Page = dict[str, Any]
"""`rows`, `total` (of all pages) and `next_cursor` (key of the last row, null on the last page)."""


def compile_query(query: Query, key: str, vocabulary: Vocabulary) -> Callable[[Scope], Page | str]:
    """Compile a query; the function returns the page, or the name of the argument that is wrong.

    A cursor that names no matching row is wrong, and so is a limit below 0.

    Args:
        query: the selection; a filter that evaluates to null is ignored.
        key: key field of the table.
        vocabulary: names and tables that expressions may use.
    """
    _key, fields = vocabulary.tables[query.table]
    for field in (query.sort_by, *(query.fields or ())):
        if field is not None and field not in fields:
            raise ExpressionError(f"query: table {query.table!r} has no field {field!r}")
    inner = vocabulary.with_names("item")
    filters = [compile_expression(part, inner) for _name, part in sorted(query.where.items())]
    limit, cursor, offset, sort_with, turned = (
        compile_expression(part, vocabulary)
        for part in (
            query.limit,
            query.cursor,
            query.offset,
            query.sort_with,
            query.descending_with,
        )
    )
    shown = query.fields

    def matches(scope: Scope, values: JsonObject) -> bool:
        scope.names["item"] = values
        for part in filters:
            verdict = part(scope)
            if verdict is not None and not verdict:
                return False
        return True

    def run(scope: Scope) -> Page | str:
        rows = [row for row in scope.tables[query.table].in_order() if matches(scope, row)]
        scope.names.pop("item", None)
        field = chosen if (chosen := sort_with(scope)) in fields else query.sort_by
        if field is not None:
            # Rows come by key and the sort is stable: ties stay in the order of their keys.
            rows.sort(key=lambda row: _sort_key(row[field]))
        is_turned = turned(scope)
        if query.descending if is_turned is None else is_turned:
            rows.reverse()
        total, start = len(rows), 0
        after = cursor(scope)
        if after is not None:
            places = [place for place, row in enumerate(rows) if row[key] == after]
            if not places:
                return "cursor"
            start = places[0] + 1
        most, passed = _count(limit(scope), "limit"), _count(offset(scope), "offset")
        if most is not None and most < 0:
            return "limit"
        if passed is not None and passed < 0:
            return "offset"
        start += passed or 0
        end = total if most is None else min(total, start + most)
        page = rows[start:end]
        return {
            "rows": tuple(_shown(row, shown) for row in page),
            "total": total,
            "next_cursor": page[-1][key] if page and end < total else None,
        }

    return run


def _count(value: Any, name: str) -> int | None:
    if value is not None and type(value) is not int:
        raise ExpressionError(f"query: the {name} is {value!r}"[:200])
    return value


def _sort_key(value: Any) -> tuple[bool, bool, Any]:
    """Null first, then what has an order of its own, then everything else by its JSON text."""
    is_plain = isinstance(value, (str, int, float))
    if value is None or is_plain:
        return value is not None, False, value
    return True, True, canonical_json(value)


def _shown(row: JsonObject, fields: tuple[str, ...] | None) -> JsonObject:
    return row if fields is None else FrozenDict({name: row[name] for name in fields})
