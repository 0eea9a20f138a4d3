"""Faults of tools that list and search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attribution.change import Change
from attribution.faults.environment_order import tools
from attribution.faults.environment_places import ToolPlace, kind
from attribution.faults.kinds import Clean, When
from components.records.base import to_json
from components.records.blueprint import Query


def _queries(clean: Clean) -> Iterator[tuple[ToolPlace, Query, dict[str, Any]]]:
    """Yield the tools with a query, which comes as a record and as JSON."""
    for at in tools(clean):
        if at.body.query is not None:
            yield at, at.body.query, to_json(at.body.query)


def _filters(clean: Clean) -> Iterator[tuple[ToolPlace, str, Any]]:
    for at, _query, body in _queries(clean):
        for name, condition in sorted(body["where"].items()):
            yield at, name, condition


def _filter_ignored(clean: Clean) -> Iterator[Change]:
    for at, name, _condition in _filters(clean):
        operation = ("remove", at.at("query", "where", name), None)
        yield at.change([operation], ("query", "where", name), f"the filter {name} is ignored")


def _filter_turned_round(clean: Clean) -> Iterator[Change]:
    for at, name, condition in _filters(clean):
        wrong = _inner(condition, lambda found: {"@not": found})
        path = ("query", "where", name)
        yield at.change([at.put(wrong, *path)], path, f"the filter {name} is turned round")


def _search_by_whole_text(clean: Clean) -> Iterator[Change]:
    for at, name, condition in _filters(clean):
        wrong = _renamed(condition, "@contains", "@eq")
        if wrong != condition:
            path = ("query", "where", name)
            yield at.change([at.put(wrong, *path)], path, f"{name} must be the whole text")


def _order_reversed(clean: Clean) -> Iterator[Change]:
    for at, query, _body in _queries(clean):
        path = ("query", "descending")
        operation = at.put(not query.descending, *path)
        yield at.change([operation], path, "the rows come in reverse order")


def _page_one_short(clean: Clean) -> Iterator[Change]:
    for at, query, body in _queries(clean):
        if query.limit is not None:
            limit = {"@max": [0, {"@sub": [body["limit"], 1]}]}
            path = ("query", "limit")
            yield at.change([at.put(limit, *path)], path, "a page is one row short")


def _page_repeated(clean: Clean) -> Iterator[Change]:
    for at, query, _body in _queries(clean):
        if query.cursor is not None:
            path = ("query", "cursor")
            yield at.change([at.put(None, *path)], path, "every page is the first again")


def _total_of_page(clean: Clean) -> Iterator[Change]:
    for at, _query, _body in _queries(clean):
        for key, value in sorted(dict(at.body.result or {}).items()):
            if value == "$total":
                operation = at.put({"@len": "$rows"}, "result", key)
                why = f"{key} counts the rows of the page alone"
                yield at.change([operation], ("result", key), why)


def _column_left_out(clean: Clean) -> Iterator[Change]:
    for at, query, body in _queries(clean):
        key = at.entities[query.table].key
        names = [name for name in body["fields"] or () if name != key]
        clean.rng.shuffle(names)
        for name in names[:1]:
            kept = [field for field in body["fields"] if field != name]
            path = ("query", "fields")
            yield at.change([at.put(kept, *path)], path, f"the rows do not show {name}")


def _inner(condition: Any, change: Any) -> Any:
    """Apply a change where a filter decides, past the test whether it is given at all."""
    parts = condition.get("@if") if isinstance(condition, dict) else None
    if parts and parts[2] is None:
        return {"@if": [parts[0], change(parts[1]), None]}
    return change(condition)


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {new if key == old else key: _renamed(item, old, new) for key, item in value.items()}
    return [_renamed(item, old, new) for item in value] if isinstance(value, list) else value


KINDS = (
    kind(
        "filter_ignored", "A filter of a list or search is ignored.", _filter_ignored, When.BEFORE
    ),
    kind(
        "filter_turned_round",
        "A filter of a list or search keeps what it should leave out.",
        _filter_turned_round,
        When.BEFORE,
    ),
    kind(
        "search_by_whole_text",
        "A search finds a text only where it is given whole.",
        _search_by_whole_text,
        When.BEFORE,
    ),
    kind("order_reversed", "A list comes in the reverse order.", _order_reversed, When.BEFORE),
    kind(
        "page_one_short",
        "A page holds one row less than was asked for.",
        _page_one_short,
        When.BEFORE,
    ),
    kind("page_repeated", "The next page is the first again.", _page_repeated, When.BEFORE),
    kind(
        "total_of_page", "The total counts the rows of the page alone.", _total_of_page, When.BEFORE
    ),
    kind("column_left_out", "The rows of a list lack a field.", _column_left_out, When.BEFORE),
)
