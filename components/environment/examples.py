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
_CHOICES = re.compile(
    r"\b(?:one of|(?:valid|allowed|possible|supported|available) (?:values?|options?|types?|"
    r"formats?|modes?|languages?|categories)|options)(?: are| is| include)?\s*:?\s+\(?"
    r"([\w.+-]+(?:\s*(?:,\s*or\s|,\s*and\s|,|\||/|\bor\b|\band\b)\s*[\w.+-]+)+)",
    re.IGNORECASE,
)
_PIPED = re.compile(r"(?<![\w|])([a-z][\w-]*(?: ?\| ?[a-z][\w-]*)+)(?![\w|])", re.IGNORECASE)
_CODED = re.compile(r"(?<![\w.])(?:(\d{1,4}) ?[:=] ?|([A-Z]{1,3}\d{0,3})(?: ?= ?|: ))(?=[^\W\d])")
_SPLIT = re.compile(r"\s*(?:,|\||/|\bor\b|\band\b)\s*")
_PLACEHOLDER = re.compile(
    r"^(?:your|my)[-_ ]|[<>{}]|xxx|\.\.\.|^(?:owner|user|org)/\w+$|^[a-z](?:\.[a-z])+$|yyyy|"
    r"(?:lat|lon|lng|x|y)(?:min|max)|^https?://$",
    re.IGNORECASE,
)
_DATED = re.compile(r"^(?:19|20)\d\d(?:$|[-/.]?(?:0\d|1[0-2]))|^\d{3,4}x\d{3,4}|^\d\d?:\d\d")
"""Instants and sizes: other digits would make them impossible."""
_FORM = re.compile(r"\bformats?(?: is| of| like)?:?\s*$", re.IGNORECASE)
_PLACES = frozenset(
    {"path", "file", "dir", "directory", "folder", "url", "uri", "endpoint", "route"}
)
_OPAQUE = 8
"""Characters from which on a mixed text without spaces is taken for an id."""
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
    if _DATED.match(value):
        return None
    digits = [place for place, char in enumerate(value) if char.isdigit()]
    rng = random.Random(f"{value}:{number}")
    chars = list(value)
    if _is_opaque(value):
        return "".join(
            chars[:2] + [rng.choice(_ALIKE.get(_class(char), char)) for char in chars[2:]]
        )
    if len(digits) < _LEAST_DIGITS:
        return None
    for place in digits[1:]:
        chars[place] = rng.choice("0123456789")
    return "".join(chars)


_ALIKE = {
    "digit": "0123456789",
    "lower": "abcdefghijkmnpqrstuvwxyz",
    "upper": "ABCDEFGHJKLMNPQRSTUVWXYZ",
}


def _class(char: str) -> str:
    if char.isdigit():
        return "digit"
    return (
        "" if not char.isascii() or not char.isalpha() else "upper" if char.isupper() else "lower"
    )


def _is_opaque(value: str) -> bool:
    """True for an id that no word is in: letters of both cases and digits, mixed."""
    kinds = {_class(char) for char in value}
    return len(value) >= _OPAQUE and value.isalnum() and {"digit", "lower", "upper"} <= kinds


def _said(param: Param) -> Iterator[object]:
    yield from param.schema.get("examples") or ()
    yield param.schema.get("example")
    text = param.description
    yield from _choices(text)
    if _MARKS.search(text):
        yield from (
            match.group(2)
            for match in _QUOTED.finditer(text)
            if not (_FORM.search(text[: match.start()]) and not re.search(r"\d", match.group(2)))
            and _fits_place(match.group(2), param.word)
        )
        for match in _BARE.finditer(text):
            for word in re.split(r"\s*(?:,|\bor\b)\s*", match.group(1)):
                word = word.strip(" .;:)")
                if _LOOKS_LIKE_DATA.search(word):
                    yield word
    if param.default_fits:
        yield param.default


def _choices(text: str) -> Iterator[str]:
    """Yield the values of a whole list in a text: `one of: a, b`, `a|b`, `1=new, 2=old`."""
    for match in (*_CHOICES.finditer(text), *_PIPED.finditer(text)):
        words = [word.strip(" .") for word in _SPLIT.split(match.group(1))]
        if len(words) > 1 and all(words):
            yield from words
    codes = list(dict.fromkeys(match[1] or match[2] for match in _CODED.finditer(text)))
    if len(codes) > 1:
        yield from codes


def _fits_place(value: str, word: str) -> bool:
    """False for a path that a text refers to where the parameter is none."""
    return not value.startswith("/") or not _PLACES.isdisjoint(word.split("_"))


def _in_type(value: object, kind: str) -> str | int | float | None:
    """Return a value in a JSON type, or None where it is none of it."""
    if isinstance(value, bool):
        return None
    if kind == "string":
        if not isinstance(value, str) or not 0 < len(value.strip()) <= _LONGEST:
            return None
        is_none = value.lower() in _NOT_VALUES or _PLACEHOLDER.search(value) is not None
        return None if is_none else value
    try:
        number = float(value) if isinstance(value, (str, int, float)) else None
    except ValueError:
        return None
    if number is None or not abs(number) < 1e12:
        return None
    if kind == "integer":
        return int(number) if number.is_integer() else None
    return int(number) if number.is_integer() else number
