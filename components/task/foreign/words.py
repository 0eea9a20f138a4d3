"""Words that say what a foreign task asks for; the words themselves are in `words.json`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The lists, read."""

    looking: frozenset[str]
    """First words of tools that only look."""
    refusing: re.Pattern[str]
    """Finds a word by which a sentence says what must not be done."""


@cache
def words() -> Words:
    """Return the lists of the file beside this module."""
    data = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
    return Words(
        looking=frozenset(data["looking"]),
        refusing=re.compile(rf"\b(?:{'|'.join(map(re.escape, data['refusing']))})\b"),
    )
