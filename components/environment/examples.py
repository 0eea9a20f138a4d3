"""Values that a parameter's own words say it takes: examples, defaults, choices.

Owns the reading of them. They are what a person would try first, so rows that hold them can be
found; nothing that is only likely is taken for one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from components.environment.params import Param

MOST = 8
"""Values that are taken of one parameter."""
_LONGEST = 60
_LEAST_DIGITS = 3
_QUOTED = re.compile(r"(?<!\w)(['\"`])([^'\"`\n]{1,60})\1(?!\w)")
_BARE = re.compile(
    r"\b(?:e\.?g\.?|i\.?e\.?|example|examples|for example|such as|like|default|defaults to)[:,]?\s+"
    r"((?:[A-Za-z0-9][\w./:@#+-]*)(?:\s*(?:,|or|/)\s*[A-Za-z0-9][\w./:@#+-]*)*)",
    re.IGNORECASE,
)
_MARKS = re.compile(
    r"\b(?:e\.?g\b|i\.?e\b|examples?|such as|like|default|one of|either|options?|valid|values?|"
    r"format|can be|supported|available|allowed|must be)",
    re.IGNORECASE,
)
_LOOKS_LIKE_DATA = re.compile(r"[A-Z]{2,}|\d|[._/:@#-]")
_NOT_VALUES = frozenset(
    {
        "null",
        "yyyy-mm-dd",
        "yyyy/mm/dd",
        "yyyymmdd",
        "mm/dd/yyyy",
        "hh:mm",
        "iso 8601",
        "none",
        "true",
        "false",
        "undefined",
        "string",
        "number",
        "optional",
        "required",
    }
)


def examples_of(param: Param) -> tuple[str | int | float, ...]:
    """Return the values that a text or a number is said to take, in the order of the text.

    Example:
        of `Stock code, e.g. 'sh.600000' or 'sz.000001'`: `('sh.600000', 'sz.000001')`
    """
    if param.type not in ("string", "integer", "number") or param.enum:
        return ()
    found: dict[str | int | float, None] = {}
    for value in _said(param):
        if (fits := _in_type(value, param.type)) is not None:
            found.setdefault(fits)
    return tuple(found)[:MOST]


def like(value: str, number: int) -> str | None:
    """Return another value of the form of an example: the same with other digits; None for one
    that has hardly any.

    Args:
        value: an example.
        number: which of the others.
    """
    digits = [place for place, char in enumerate(value) if char.isdigit()]
    if len(digits) < _LEAST_DIGITS:
        return None
    rng = random.Random(f"{value}:{number}")
    chars = list(value)
    for place in digits[1:]:
        chars[place] = rng.choice("0123456789")
    return "".join(chars)


def _said(param: Param) -> Iterator[object]:
    yield from param.schema.get("examples") or ()
    yield param.schema.get("example")
    text = param.description
    if _MARKS.search(text):
        yield from (match.group(2) for match in _QUOTED.finditer(text))
        for match in _BARE.finditer(text):
            for word in re.split(r"\s*(?:,|\bor\b)\s*", match.group(1)):
                word = word.strip(" .;:)")
                if _LOOKS_LIKE_DATA.search(word):
                    yield word
    if param.default_fits:
        yield param.default


def _in_type(value: object, kind: str) -> str | int | float | None:
    """Return a value in a JSON type, or None where it is none of it."""
    if isinstance(value, bool):
        return None
    if kind == "string":
        if not isinstance(value, str) or not 0 < len(value.strip()) <= _LONGEST:
            return None
        return None if value.lower() in _NOT_VALUES else value
    try:
        number = float(value) if isinstance(value, (str, int, float)) else None
    except ValueError:
        return None
    if number is None or not abs(number) < 1e12:
        return None
    if kind == "integer":
        return int(number) if number.is_integer() else None
    return int(number) if number.is_integer() else number
