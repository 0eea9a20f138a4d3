"""Conditions that a caller writes out, compared with a row."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.conditions import meets

ROW = {"name": "Oak desk", "unitPrice": 120, "stage": "won", "closed_at": None,
       "properties": {"wood": "oak"}}  # fmt: skip


def condition(field: str, operator: str, value: Any = None) -> dict[str, Any]:
    return {"propertyName": field, "operator": operator, "value": value}


@pytest.mark.parametrize(
    ("field", "operator", "value", "holds"),
    [
        ("stage", "EQ", "WON", True),
        ("stage", "NEQ", "won", False),
        ("unit_price", "GT", "99", True),
        ("unitPrice", "LTE", 119, False),
        ("unitPrice", "BETWEEN", [100, 130], True),
        ("stage", "IN", ["lost", "won"], True),
        ("stage", "NOT_IN", ["lost", "won"], False),
        ("closed_at", "HAS_PROPERTY", None, False),
        ("closed_at", "NOT_HAS_PROPERTY", None, True),
        ("name", "CONTAINS_TOKEN", "oak*", True),
        ("color", "EQ", "red", False),
        ("wood", "EQ", "oak", True),
    ],
)
def test_a_condition_holds_as_its_operator_says(
    field: str, operator: str, value: Any, holds: bool
) -> None:
    assert meets(ROW, [condition(field, operator, value)]) is holds


def test_all_of_a_list_and_one_of_the_groups_must_hold() -> None:
    won, cheap = condition("stage", "EQ", "won"), condition("unitPrice", "LT", 50)

    assert not meets(ROW, [won, cheap])
    assert meets(ROW, [{"filters": [cheap]}, {"filters": [won]}])
    assert not meets(ROW, [{"filters": [cheap, won]}])
    assert meets(ROW, [])


def test_an_operator_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="RESEMBLES"):
        meets(ROW, [condition("stage", "RESEMBLES", "won")])
