"""When two values are the same."""

from __future__ import annotations

from typing import Any

import pytest

from components.evaluator.equivalence import AnyOf, canonical_value, values_match
from components.evaluator.facts import holds_fact
from components.records.rubric import Equivalence

RULES = Equivalence(number_tolerance=0.01, unordered_fields=("desk.ticket.tags", "answer.ids"))


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (3, 3.0),
        (3, 3.005),
        (True, True),
        (None, None),
        ("Printer  jam ", "printer jam"),
        ("caf\u00e9", "cafe\u0301"),
        ({"a": (1, "X")}, {"a": [1, "x"]}),
        ((), []),
        (10**400, 10**400),
        (AnyOf(frozenset({"tkt_1", "tkt_2"})), "tkt_2"),
    ],
)
def test_same_values_match(expected: Any, actual: Any) -> None:
    assert values_match(expected, actual, RULES, "desk.ticket.x")


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (3, "3"),
        ("3", 3),
        (1, True),
        (True, 1),
        (0, None),
        ("", None),
        (None, ""),
        (3, 3.02),
        (3, float("nan")),
        (1.5, 10**400),
        ("open", "open or closed"),
        ("open", ["open"]),
        (("a", "b"), ("b", "a")),
        (("a",), ("a", "a")),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {}),
        (AnyOf(frozenset()), "tkt_1"),
        (AnyOf(frozenset({"tkt_1"})), ("tkt_1",)),
    ],
)
def test_different_values_do_not_match(expected: Any, actual: Any) -> None:
    assert not values_match(expected, actual, RULES, "desk.ticket.x")


def test_order_of_a_list_counts_only_where_the_rules_do_not_name_it() -> None:
    expected, actual = ("lan", "slow", "lan"), ("Slow", "lan", "lan")

    assert values_match(expected, actual, RULES, "desk.ticket.tags")
    assert not values_match(expected, actual, RULES, "desk.ticket.others")
    assert not values_match(expected, ("slow", "slow", "lan"), RULES, "desk.ticket.tags")
    assert values_match((1, 2), (2, 1), RULES, "answer.ids")


def test_unordered_numbers_are_paired_whatever_the_order() -> None:
    # 1.005 is close to both 1.0 and 1.01: a greedy pairing would use it up on the wrong one.
    assert values_match((1.0, 1.01), (1.005, 0.992), RULES, "answer.ids")
    assert not values_match((1.0, 1.01), (0.992, 0.995), RULES, "answer.ids")


def test_case_of_long_text_counts() -> None:
    long = "word " * 60

    assert not values_match(long, long.upper(), RULES, "desk.ticket.x")
    assert values_match(long, long + " ", RULES, "desk.ticket.x")


def test_rules_can_make_case_and_space_count() -> None:
    exact = Equivalence(ignore_case=False, trim_space=False)

    assert not values_match("a", "A", exact, "x")
    assert not values_match("a", "a ", exact, "x")


def test_canonical_values_of_one_class_are_equal() -> None:
    left = canonical_value({"b": 2.0, "a": ("Lan ", "slow")}, RULES, "desk.ticket")
    right = canonical_value({"a": ["lan", "Slow"], "b": 2}, RULES, "desk.ticket")

    assert left == right == {"a": ["lan", "slow"], "b": 2}
    assert canonical_value(("b", "a"), RULES, "desk.ticket.tags") == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("It costs 12 today.", "12"),
        ("It costs 12.", "12"),
        ("(12)", "12"),
        ("due 2025-03-01, see there", "2025-03-01"),
        ("write to ana@example.com.", "ana@example.com"),
        ("Ana's printer JAM", "printer jam"),
        ("status:open", "open"),
        ("please  call\nback", "Please call back."),
        (["one", "about tkt_1"], "tkt_1"),
        ("see /docs/a.md", "/docs/a.md"),
        ("caf\u00e9 is shut", "CAFE\u0301"),
    ],
)
def test_text_holds_a_fact(text: Any, fact: str) -> None:
    assert holds_fact(text, fact, Equivalence())


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("It costs 112.", "12"),
        ("It costs 12.5", "12"),
        ("It costs 5.12", "12"),
        ("It costs 1,200", "200"),
        ("at 12:30", "12"),
        ("it is -12", "12"),
        ("see INC-12", "12"),
        ("tkt_10", "tkt_1"),
        ("old_tkt_1", "tkt_1"),
        ("dana@example.com", "ana@example.com"),
        ("write to ana@example.com", "ana"),
        ("open/closed", "open"),
        ("reopened", "open"),
        ("x/docs/a.md", "/docs/a.md"),
        ("", "12"),
        (None, "12"),
    ],
)
def test_part_of_a_token_is_no_fact(text: Any, fact: str) -> None:
    assert not holds_fact(text, fact, Equivalence())
