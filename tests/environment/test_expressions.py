from __future__ import annotations

from typing import Any

import pytest

from components.environment.expressions import (
    ExpressionError,
    Scope,
    Vocabulary,
    compile_expression,
    tables_named,
)
from components.environment.state import Row, Table
from components.records.frozen import FrozenDict

ROWS = {
    "a": FrozenDict({"id": "a", "size": 3, "owner": "ann", "flag": True}),
    "b": FrozenDict({"id": "b", "size": 1, "owner": "bob", "flag": 1}),
    "c": FrozenDict({"id": "c", "size": 2, "owner": "ann", "flag": False}),
}
FIELDS = frozenset({"id", "size", "owner", "flag"})
VOCABULARY = Vocabulary({"args", "x"}, {"box": ("id", FIELDS)})


def evaluate(expression: Any, x: Any = None, args: dict[str, Any] | None = None) -> Any:
    rows = {key: Row(values, "desk", "box", key) for key, values in ROWS.items()}
    names = {"args": FrozenDict(args or {}), "x": x}
    scope = Scope(names, {"box": Table.of(rows)}, "2026-01-31T23:30:00Z")
    return compile_expression(expression, VOCABULARY)(scope)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("plain", "plain"),
        (3, 3),
        (2.0, 2),
        (None, None),
        ("$now", "2026-01-31T23:30:00Z"),
        ("$x", None),
        ("$x.deep.deeper", None),
        ({"@lit": "$x"}, "$x"),
        ({"@lit": {"@eq": [1]}}, {"@eq": (1,)}),
        ({"a": 1, "b": ["$now"]}, {"a": 1, "b": ("2026-01-31T23:30:00Z",)}),
        ({"@eq": [1, 1.0]}, True),
        ({"@eq": [1, True]}, False),
        ({"@eq": [0, False]}, False),
        ({"@eq": [[1], [True]]}, False),
        ({"@eq": [{"a": [1]}, {"a": [1.0]}]}, True),
        ({"@eq": [None, None]}, True),
        ({"@ne": ["a", None]}, True),
        ({"@lt": [1, 2]}, True),
        ({"@lt": [None, 2]}, False),
        ({"@ge": [2, None]}, False),
        ({"@le": ["2026-01-01T00:00:00Z", "$now"]}, True),
        ({"@in": ["a", ["a", "b"]]}, True),
        ({"@in": [1, [True]]}, False),
        ({"@in": ["a", None]}, False),
        ({"@contains": ["Hello World", "wORLD"]}, True),
        ({"@contains": [["a"], "a"]}, True),
        ({"@contains": [None, "a"]}, False),
        ({"@and": []}, True),
        ({"@and": [True, 0]}, False),
        ({"@or": [0, "x"]}, True),
        ({"@or": []}, False),
        ({"@not": ""}, True),
        ({"@is_null": "$x"}, True),
        ({"@given": "q"}, True),
        ({"@given": "r"}, False),
        ({"@len": "four"}, 4),
        ({"@len": None}, 0),
        ({"@add": [1, 2, 3.5]}, 6.5),
        ({"@add": [0.5, 0.5]}, 1),
        ({"@sub": [1, 2]}, -1),
        ({"@mul": [1.5, 2]}, 3),
        ({"@concat": ["a", None, 1]}, "a1"),
        ({"@append": [None, 1]}, (1,)),
        ({"@append": [[1], 2]}, (1, 2)),
        ({"@without": [[1, True, 1.0, 2], 1]}, (True, 2)),
        ({"@coalesce": [None, "$x", 0, 1]}, 0),
        ({"@lower": "ABC"}, "abc"),
        ({"@if": [{"@is_null": "$x"}, "yes", "no"]}, "yes"),
        ({"@min": [3, None, 1]}, 1),
        ({"@max": [[3, None, 7]]}, 7),
        ({"@max": "$x"}, None),
        ({"@max": []}, None),
        ({"@hours_after": ["$now", 1]}, "2026-02-01T00:30:00Z"),
        ({"@hours_after": ["$now", -0.5]}, "2026-01-31T23:00:00Z"),
        ({"@part_before": ["a@b@c", "@"]}, "a"),
        ({"@part_after": ["a@b@c", "@"]}, "b@c"),
        ({"@pick": [{"a": 1, "b": 2}, ["b", "z"]]}, {"b": 2, "z": None}),
        ({"@pick": [None, ["b"]]}, None),
        ({"@field": [{"a": [1]}, "a"]}, (1,)),
        ({"@field": [{"a": 1}, "b"]}, None),
        ({"@field": [None, "a"]}, None),
        ({"@field": ["text", "a"]}, None),
        ({"@field": [{"@row": {"table": "box", "equals": "b"}}, "owner"]}, ROWS["b"]["owner"]),
        ({"@field": [{"@row": {"table": "box", "equals": "none"}}, "owner"]}, None),
        ({"@each": [[1, 2], {"@mul": ["$element", 10]}]}, (10, 20)),
        ({"@each": [None, "$element"]}, ()),
        ({"@row": {"table": "box", "equals": "b"}}, ROWS["b"]),
        ({"@row": {"table": "box", "field": "owner", "equals": "ann"}}, ROWS["a"]),
        ({"@row": {"table": "box", "field": "flag", "equals": 1}}, ROWS["b"]),
        ({"@row": {"table": "box", "field": "flag", "equals": None}}, None),
        ({"@row": {"table": "box", "equals": 7}}, None),
        (
            {"@rows": {"table": "box", "where": {"@eq": ["$item.owner", "ann"]}}},
            (ROWS["a"], ROWS["c"]),
        ),
        ({"@count": {"table": "box"}}, 3),
        (
            {
                "@count": {
                    "table": "box",
                    "where": {"@count": {"table": "box", "where": {"@eq": ["$item.size", 1]}}},
                }
            },
            3,
        ),
    ],
)
def test_an_expression_has_the_value_that_the_language_says(expression: Any, expected: Any) -> None:
    value = evaluate(expression, args={"q": None})

    assert value == expected
    assert type(value) is type(expected) or isinstance(value, FrozenDict)


def test_the_parts_that_are_not_needed_are_not_looked_at() -> None:
    broken = {"@mul": ["text", 2]}

    assert evaluate({"@or": [True, broken]}) is True
    assert evaluate({"@and": [False, broken]}) is False
    assert evaluate({"@coalesce": ["first", broken]}) == "first"
    assert evaluate({"@if": [False, broken, "other"]}) == "other"


@pytest.mark.parametrize(
    "expression",
    [
        {"@mul": ["ab", 1000]},
        {"@mul": [True, 2]},
        {"@add": ["a", "b"]},
        {"@add": [None, 1]},
        {"@mul": [2**62, 4]},
        {"@mul": [1e308, 10]},
        {"@sub": [-(2**62), 2**63 - 1]},
        {"@lt": ["a", 1]},
        {"@len": 5},
        {"@in": ["a", "abc"]},
        {"@each": ["abc", "$element"]},
        {"@concat": [["a"]]},
        {"@concat": [True]},
        {"@hours_after": ["2026-01-31", 1]},
        {"@hours_after": ["2026-13-31T00:00:00Z", 1]},
        {"@hours_after": ["9999-12-31T23:00:00Z", 10]},
        {"@hours_after": ["$now", "1"]},
        {"@part_before": [5, "@"]},
        {"@min": [1, "a"]},
        {"@append": ["text", 1]},
    ],
)
def test_a_value_of_the_wrong_type_is_an_expression_error(expression: Any) -> None:
    with pytest.raises(ExpressionError):
        evaluate(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "$nobody",
        "$nobody.field",
        "$",
        {"@nothing": 1},
        {"@eq": [1]},
        {"@eq": "$x"},
        {"@if": [True, 1]},
        {"@if": "$x"},
        {"@each": ["$x"]},
        {"@field": ["$x"]},
        {"@field": ["$x", 1]},
        {"@field": ["$x", {"@lit": "a"}]},
        {"@field": [{"@row": {"table": "box", "equals": 1}}, "weight"]},
        {"@given": ["q"]},
        {"@row": {"table": "boxes", "equals": 1}},
        {"@row": {"table": "box"}},
        {"@row": {"table": "box", "field": "weight", "equals": 1}},
        {"@rows": {"table": "box", "wher": True}},
        {"@rows": "box"},
        {"@rows": {"table": "box", "where": "$nobody"}},
        {"@lit": float("nan")},
        {"@lit": "\ud800"},
        10**30,
        "$item.size",
        "$element",
    ],
)
def test_what_cannot_be_meant_is_refused_when_it_is_compiled(expression: Any) -> None:
    with pytest.raises(ExpressionError):
        compile_expression(expression, VOCABULARY)


def test_a_given_needs_arguments_to_ask_about() -> None:
    with pytest.raises(ExpressionError):
        compile_expression({"@given": "q"}, Vocabulary((), {}))


def test_a_text_cannot_grow_without_end() -> None:
    with pytest.raises(ExpressionError, match="characters"):
        evaluate({"@concat": ["$x", "$x"]}, x="a" * 600_000)


def test_every_table_that_is_read_is_named() -> None:
    expression = {
        "@if": [{"@row": {"table": "a.b", "equals": 1}}, [{"@count": {"table": "c.d"}}], 0]
    }

    assert tables_named(expression) == {"a.b", "c.d"}
