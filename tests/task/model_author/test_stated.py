"""Where a request states a value: whole words, digits, times; and never a part of another value."""

from __future__ import annotations

from typing import Any

import pytest

from components.task.model_author.stated import says_which, span_of, stated

NOW = "2026-03-02T09:00:00Z"
TEXT = (
    "Move (BX-12, BX-13.) 12 of the 120 boxes at 3.5 each by 8:00 on 9 March 2026, or at 10:30 "
    "tomorrow; urgent is true. Order 7."
)


@pytest.mark.parametrize(
    ("value", "words", "cast"),
    [
        (12, "12", "integer"),
        (7, "7", "integer"),
        (3.5, "3.5", "number"),
        ("BX-12", "BX-12", "string"),
        ("urgent", "urgent", "string"),
        (True, "true", "boolean"),
        ("2026-03-09T08:00:00Z", "8:00 on 9 March 2026", "date"),
        ("2026-03-03T10:30:00Z", "10:30 tomorrow", "moment"),
    ],
)
def test_a_value_is_found_where_it_stands(value: Any, words: str, cast: str) -> None:
    found = stated(TEXT, value, NOW)[0]

    assert TEXT[found.start : found.end] == words
    assert found.cast == cast


@pytest.mark.parametrize(
    "value", [1, 3, 5, 13, "13", "box", "urg", "Urgent", False, "", None, "2026-03-09"]
)
def test_a_part_of_a_value_is_no_value(value: Any) -> None:
    assert stated(TEXT, value, NOW) == []


def test_a_value_is_looked_for_in_the_words_that_are_given() -> None:
    assert stated(TEXT, "urgent", NOW, span_of(TEXT, "12 of the 120 boxes")) == []


def test_a_superlative_says_one_end() -> None:
    assert says_which("the latest mail", most=True)
    assert not says_which("the latest mail", most=False)
    assert not says_which("some mail", most=True)
