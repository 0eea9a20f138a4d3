"""When two values are the same: numbers, text, lists.

Owns equality of values and nothing about rows. One rule for state and answers: types count. `"3"`
is not `3` and `1` is not `true`, in answers too: the answer's schema tells the policy the type, and
a coercion would let one answer stand for two values.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.records.frozen import canonical_json
from components.records.rubric import Equivalence

SHORT_TEXT_CHARS = 200
"""Text up to this length, on one line, is short: only such text is compared without case."""


@dataclass(frozen=True, slots=True)
class AnyOf:
    """An expected value that stands for any of these ids: rows that another criterion bound."""

    ids: frozenset[str]


def values_match(expected: Any, actual: Any, rules: Equivalence, place: str) -> bool:
    """Return whether two JSON values are the same.

    Args:
        expected: the value that a criterion names; may hold `AnyOf` in the place of an id.
        actual: the value that was found.
        rules: tolerance, case, white space, lists without order.
        place: `service.table.field` or `answer.field`; `rules.unordered_fields` names such places.
    """
    if isinstance(expected, AnyOf):
        return isinstance(actual, str) and actual in expected.ids
    if expected is None or isinstance(expected, bool):
        return actual is expected
    if isinstance(expected, str):
        return isinstance(actual, str) and (
            expected == actual or normal_text(expected, rules) == normal_text(actual, rules)
        )
    if isinstance(expected, (int, float)):
        return _numbers_match(expected, actual, rules.number_tolerance)
    if isinstance(expected, Mapping):
        return (
            isinstance(actual, Mapping)
            and expected.keys() == actual.keys()
            and all(
                values_match(item, actual[key], rules, f"{place}.{key}")
                for key, item in expected.items()
            )
        )
    if not isinstance(actual, (list, tuple)) or len(expected) != len(actual):
        return False
    inner = f"{place}[]"
    if place in rules.unordered_fields:
        return _has_pairing(expected, actual, rules, inner)
    return all(
        values_match(left, right, rules, inner)
        for left, right in zip(expected, actual, strict=True)
    )


def normal_text(text: str, rules: Equivalence) -> str:
    """Return the text in the form in which texts are compared; case goes only from short text."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    is_short = len(text) <= SHORT_TEXT_CHARS and "\n" not in text.strip()
    if rules.trim_space:
        text = " ".join(text.split())
    return text.casefold() if rules.ignore_case and is_short else text


def canonical_value(value: Any, rules: Equivalence, place: str) -> Any:
    """Return the form that stands for a value's class: equal forms mean that the values match.

    The reverse holds except for numbers that differ by less than the tolerance: closeness has no
    classes.
    """
    if isinstance(value, str):
        return normal_text(value, rules)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {
            key: canonical_value(item, rules, f"{place}.{key}")
            for key, item in sorted(value.items())
        }
    if isinstance(value, (list, tuple)):
        items = [canonical_value(item, rules, f"{place}[]") for item in value]
        return sorted(items, key=canonical_json) if place in rules.unordered_fields else items
    return value


def _numbers_match(expected: float, actual: Any, tolerance: float) -> bool:
    if isinstance(actual, bool) or not isinstance(actual, (int, float)):
        return False
    if expected == actual:
        return True
    try:
        return abs(expected - actual) <= tolerance
    except OverflowError:  # an integer that no float can hold, against a float
        return False


def _has_pairing(
    expected: Sequence[Any], actual: Sequence[Any], rules: Equivalence, place: str
) -> bool:
    """Return whether every expected item can be paired with an actual item of its own."""
    partner: dict[int, int] = {}

    def pair(left: int, seen: set[int]) -> bool:
        for right, item in enumerate(actual):
            if right in seen or not values_match(expected[left], item, rules, place):
                continue
            seen.add(right)
            if right not in partner or pair(partner[right], seen):
                partner[right] = left
                return True
        return False

    return all(pair(left, set()) for left in range(len(expected)))
