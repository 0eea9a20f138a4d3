"""Facts in free text: the only thing about prose that can be checked without an opinion.

A fact is held when it stands in the text as a whole token: `12` is not in `112`, in `12.5` or in
`INC-12`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

from components.records.rubric import Equivalence


def holds_fact(text: Any, fact: str, rules: Equivalence) -> bool:
    """Return whether a free text (or a list of texts) holds the fact as a whole token."""
    whole = _normal(text_of(text), rules.ignore_case, rules.trim_space)
    return _pattern(fact, rules.ignore_case, rules.trim_space).search(whole) is not None


def text_of(value: Any) -> str:
    """Return a free-text value as one text; a list's items stand on lines of their own."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "\n".join(text_of(item) for item in value)
    return ""


def _normal(text: str, ignore_case: bool, trim_space: bool) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if trim_space:
        text = " ".join(text.split())
    return text.casefold() if ignore_case else text


@lru_cache(maxsize=8192)
def _pattern(fact: str, ignore_case: bool, trim_space: bool) -> re.Pattern[str]:
    # The stop at the end of a quoted sentence says nothing: "Please call." holds in "please call,
    # thanks".
    word = _normal(fact, ignore_case, trim_space).strip()
    word = word.rstrip(".!?,;") or word
    before, after = r"(?<!\w)", r"(?!\w)"
    # Inside one token: a decimal point, an e-mail address, a path, a hyphenated name or number, a
    # time of day.
    if word[:1].isalnum() or word[:1] == "_":
        before += r"(?<!\w[.@/-])"
    if word[-1:].isalnum() or word[-1:] == "_":
        after += r"(?![.@/-]\w)"
    if word[:1].isdigit():
        before += r"(?<!\d[,:])(?<!-)"
    if word[-1:].isdigit():
        after += r"(?![,:]\d)"
    return re.compile(before + re.escape(word) + after)
