"""Word lists by which a text is read, kept as data in `words.json`."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources


@cache
def words(name: str) -> tuple[str, ...]:
    """Return one list: lower case, in the order of the file.

    Args:
        name: its key in `words.json`.
    """
    path = resources.files("attribution.foreign").joinpath("words.json")
    found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return tuple(found[name])


def has_any(text: str, name: str) -> bool:
    """Return whether a text holds one of a list's entries, in any case."""
    folded = text.lower()
    return any(word in folded for word in words(name))
