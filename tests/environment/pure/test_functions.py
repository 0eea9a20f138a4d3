"""Claims about the pure functions: right values, and one clear refusal where there is none."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.environment.pure.functions import FUNCTIONS, call
from components.environment.pure.units import UnitError, convert
from components.environment.pure.values import PureError

NOW = "2026-03-02T09:00:00Z"


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("add", {"a": 2, "b": 3.5}, 5.5),
        ("add", {"a": "2", "b": "3"}, 5),
        ("divide", {"a": 7, "b": 2}, 3.5),
        ("power", {"a": 2, "b": 10}, 1024),
        ("permutations", {"a": 5, "b": 2}, 20),
        ("combinations", {"a": 5, "b": 2}, 10),
        ("square_root", {"a": 9}, 3),
        ("calculate", {"expression": "2 * (3 + 4) ^ 2"}, 98),
        ("calculate", {"expression": "sqrt(16) + math.sqrt(9) - -1"}, 8),
        ("mean", {"numbers": [1, 2, 6]}, 3),
        ("median", {"numbers": [5, 1, 3]}, 3),
        ("echo", {"text": "as it is"}, "as it is"),
        ("word_count", {"text": "three small words"}, 3),
        ("case", {"text": "Two Words", "style": "snake"}, "two_words"),
        ("encode", {"text": "hi", "scheme": "base64"}, "aGk="),
        ("decode", {"text": "aGk=", "scheme": "base64"}, "hi"),
        ("encode", {"text": "a b&c", "scheme": "url"}, "a%20b%26c"),
        ("hash", {"text": "", "algorithm": "MD5"}, "d41d8cd98f00b204e9800998ecf8427e"),
        ("date_after", {"days": 30, "now": NOW}, "2026-04-01"),
        ("days_between", {"first": "2026-02-27", "last": "2026-03-02", "now": NOW}, 3),
        ("weekday", {"date": "2026-03-02", "now": NOW}, "Monday"),
        ("convert_units", {"value": 212, "source": "F", "target": "celsius"}, 100),
    ],
)
def test_values_are_right(name: str, arguments: dict[str, Any], value: Any) -> None:
    assert call(name, arguments) == value


def test_a_moment_is_the_same_moment_in_another_zone() -> None:
    told = call(
        "convert_time",
        {"time": "09:30", "source": "Europe/Berlin", "target": "Asia/Tokyo", "now": NOW},
    )

    assert told["source"]["datetime"] == "2026-03-02T09:30:00+01:00"
    assert told["target"]["datetime"] == "2026-03-02T17:30:00+09:00"
    assert told["time_difference"] == "+8h"


def test_the_time_is_the_worlds() -> None:
    told = call("time_in_zone", {"zone": "America/New_York", "now": NOW})

    assert told["datetime"] == "2026-03-02T04:00:00-05:00"
    assert told["is_dst"] is False


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("divide", {"a": 1, "b": 0}),
        ("power", {"a": 10, "b": 100_000}),
        ("calculate", {"expression": "9**9**9**9"}),
        ("calculate", {"expression": "__import__('os')"}),
        ("calculate", {"expression": "().__class__"}),
        ("calculate", {"expression": "1 +"}),
        ("calculate", {"expression": "+".join(["1"] * 500)}),
        ("square_root", {"a": -1}),
        ("factorial", {"a": 100}),
        ("add", {"a": 2}),
        ("add", {"a": True, "b": 1}),
        ("decode", {"text": "***", "scheme": "base64"}),
        ("hash", {"text": "x", "algorithm": "crc"}),
        ("time_in_zone", {"zone": "Atlantis/Center", "now": NOW}),
        ("time_in_zone", {"zone": "../../etc/passwd", "now": NOW}),
        ("convert_units", {"value": 1, "source": "kg", "target": "m"}),
        ("echo", {"text": "x" * 200_000}),
        ("nothing", {}),
    ],
)
def test_what_has_no_value_is_refused(name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(PureError):
        call(name, arguments)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
PAIRS = (("km", "mi"), ("kg", "lb"), ("C", "F"), ("l", "gal"))
NAMES = (
    "a", "b", "text", "scheme", "style", "expression", "numbers", "date", "days", "first", "last",
    "zone", "time", "source", "target", "value", "algorithm",
)  # fmt: skip


@given(
    st.sampled_from(sorted(FUNCTIONS)), st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4)
)
def test_any_arguments_give_a_value_or_a_refusal(name: str, arguments: dict[str, Any]) -> None:
    try:
        value = call(name, {**arguments, "now": NOW})
    except PureError:
        return
    assert not isinstance(value, float) or math.isfinite(value)


@given(
    st.floats(-1e6, 1e6), st.sampled_from([("km", "mi"), ("kg", "lb"), ("C", "F"), ("l", "gal")])
)
def test_units_convert_back(value: float, pair: tuple[str, str]) -> None:
    there = convert(value, *pair)

    assert convert(there, *reversed(pair)) == pytest.approx(value, abs=1e-6, rel=1e-9)


def test_an_unknown_unit_is_named() -> None:
    with pytest.raises(UnitError, match="furlong"):
        convert(1, "furlong", "m")
