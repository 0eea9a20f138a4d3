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
from components.records.frozen import FrozenDict, JsonObject

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
    limit, cursor = (compile_expression(part, vocabulary) for part in (query.limit, query.cursor))
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
        if query.sort_by is not None:
            field = query.sort_by
            # Rows come by key and the sort is stable: ties stay in the order of their keys.
            rows.sort(key=lambda row: (row[field] is not None, row[field]))
        if query.descending:
            rows.reverse()
        total, start = len(rows), 0
        after = cursor(scope)
        if after is not None:
            places = [place for place, row in enumerate(rows) if row[key] == after]
            if not places:
                return "cursor"
            start = places[0] + 1
        most = limit(scope)
        if most is not None and type(most) is not int:
            raise ExpressionError(f"query: the limit is {most!r}"[:200])
        if most is not None and most < 0:
            return "limit"
        end = total if most is None else min(total, start + most)
        page = rows[start:end]
        return {
            "rows": tuple(_shown(row, shown) for row in page),
            "total": total,
            "next_cursor": page[-1][key] if page and end < total else None,
        }

    return run


def _shown(row: JsonObject, fields: tuple[str, ...] | None) -> JsonObject:
    return row if fields is None else FrozenDict({name: row[name] for name in fields})
