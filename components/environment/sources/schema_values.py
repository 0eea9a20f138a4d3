"""Single values of JSON Schema keywords, read as what they can only have meant.

Owns types, numbers, patterns and literal values. Each reader returns None where nothing can be
meant.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import Any

import jsonschema_rs

from components.environment.sources.records import QuarantineReason
from components.environment.values import settle
from components.records.frozen import canonical_json, thaw

TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
MAX_COUNT = 100_000
"""Largest lower bound of a length: no value is ever made longer."""
_INT64 = 2**63
_LIST_OF = re.compile(r"(?:list|array|set|sequence)\s*[<\[(]\s*(\w+)\s*[>\])]", re.IGNORECASE)
_PATTERN_REPAIRS = (
    (re.compile(r"(\\[wdsWDS])-(?=[^\]])"), r"\1\\-"),
    (re.compile(r"\(\?<(?=[A-Za-z_])"), "(?P<"),
    (re.compile(r"\\Z|\\z"), "$"),
    (re.compile(r"\\A"), "^"),
    (re.compile(r"\[\^\]"), r"[\\s\\S]"),
)
"""Writings of other engines with one meaning in this one, tried one after the other."""


class SchemaRefused(ValueError):
    """A schema that cannot be used, whatever is mended; says why in the words of the fixed list."""

    def __init__(self, reason: QuarantineReason, detail: str) -> None:
        """Args: reason of the fixed list; detail as the rest of a sentence."""
        super().__init__(detail)
        self.reason, self.detail = reason, detail


@lru_cache(maxsize=1)
def _words() -> tuple[dict[str, str], dict[str, str]]:
    text = resources.files(__package__).joinpath("schema_words.json").read_text("utf-8")
    body = json.loads(text)
    types = {word: kind for kind, words in body["types"].items() for word in words}
    return {**types, **{kind: kind for kind in TYPES}}, body["formats"]


def read_type(item: Any) -> dict[str, Any] | None:
    """Return the keywords that a `type` means (`{"type": ...}`, sometimes with a format or items).

    Example:
        >>> read_type("str | null"), read_type("int[]"), read_type("any")
        ({'type': ['string', 'null']}, {'type': 'array', 'items': {'type': 'integer'}}, None)
    """
    if not isinstance(item, (list, tuple)):
        return _one_type(item)
    found = [part for part in (_one_type(name) for name in item) if part is not None]
    if len(found) < len(item):
        return None  # an unknown type among others may be any
    names: list[str] = []
    for part in found:
        kind = part["type"]
        names.extend(kind if isinstance(kind, list) else [kind])
    names = list(dict.fromkeys(names))
    if len(found) == 1:
        return found[0]
    return {"type": names if len(names) > 1 else names[0]} if names else None


def _one_type(name: Any) -> dict[str, Any] | None:
    if not isinstance(name, str) or len(name) > 80:
        return None
    types, formats = _words()
    word = name.strip().lower()
    if word in types:
        return {"type": types[word]}
    if word in formats:
        return {"type": "string", "format": formats[word]}
    if re.search(r"[|,]", word) and not _LIST_OF.fullmatch(word):
        return read_type([part for part in re.split(r"[|,]", word) if part.strip()])
    inner = word[:-2] if word.endswith("[]") else None
    listed = _LIST_OF.fullmatch(word)
    inner = listed[1] if listed else inner
    if inner is not None and (items := _one_type(inner)) is not None:
        return {"type": "array", "items": items}
    return None


def read_number(item: Any) -> int | float | None:
    """Return a finite number that JSON and the engine can hold; a text of digits is one."""
    if isinstance(item, str) and re.fullmatch(r"\s*-?\d{1,15}(\.\d{1,15})?\s*", item):
        item = float(item) if "." in item else int(item)
    if isinstance(item, bool) or not isinstance(item, (int, float)):
        return None
    if isinstance(item, float) and not math.isfinite(item):
        return None
    if isinstance(item, int) and not -_INT64 <= item < _INT64:
        return None
    return (
        int(item) if isinstance(item, float) and item == int(item) and abs(item) < 2**53 else item
    )


def read_count(item: Any, *, is_least: bool) -> int | None:
    """Return a length, a number of items or of properties."""
    number = read_number(item)
    if not isinstance(number, int) or number < 0 or (is_least and number > MAX_COUNT):
        return None
    return number


def read_flag(item: Any) -> bool | None:
    """Return true or false; the words for them are taken as such."""
    if isinstance(item, str):
        return {"true": True, "false": False}.get(item.strip().lower())
    return item if isinstance(item, bool) else None


def read_value(item: Any) -> tuple[Any] | None:
    """Return a literal JSON value in the engine's form, in a tuple of one: it may be null."""
    try:
        return (thaw(settle(item)),)
    except (ValueError, RecursionError):
        return None


def distinct(items: Iterator[Any] | list[Any]) -> list[Any]:
    """Return JSON values without repetitions; `true` and 1 differ."""
    return list({canonical_json(item): item for item in items}.values())


@lru_cache(maxsize=4096)
def read_pattern(pattern: str) -> str | None:
    """Return a pattern that both the validator and Python can read, or None."""
    if len(pattern) > 5_000 or not pattern.isprintable():
        return None
    for wrong, right in ((None, ""), *_PATTERN_REPAIRS):
        pattern = pattern if wrong is None else wrong.sub(right, pattern)
        if _compiles(pattern):
            return pattern
    return None


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
        jsonschema_rs.validator_for({"pattern": pattern}, offline=True)
    except (ValueError, re.error, RecursionError, OverflowError):
        return False
    return True
