"""The data files of this package, read once.

Owns the reading; each file's own form is said where it is used. Nothing here is about one server.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@lru_cache(maxsize=64)
def read_data(name: str) -> dict[str, Any]:
    """Return the JSON object of one data file (`words` for `words.json`); not to be changed."""
    found: dict[str, Any] = json.loads(
        (_FOLDER / f"{name}.json").read_text(encoding="utf-8"), object_pairs_hook=_distinct
    )
    return found


def noun_files() -> tuple[str, ...]:
    """Return the names of the files that define archetypes."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("nouns_*.json")))


@lru_cache(maxsize=512)
def pool(name: str) -> tuple[str, ...]:
    """Return one list of `words.json`; empty where there is none of that name."""
    return tuple(read_data("words").get(name, ()))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that is written twice in a file would lose the first one without a word."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        assert key not in found, f"a key occurs twice: {key}"
        found[key] = value
    return found
