"""What stands in a model's answer: fenced blocks and JSON lists. Untrusted text, only read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_BLOCK = re.compile(
    r"^ {0,3}```[ \t]*([A-Za-z0-9_+-]*)[^\n`]*\n(.*?)^ {0,3}```[ \t]*$", re.M | re.S
)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


STRICT_JSON = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_refuse)
"""JSON as its standard has it: no key twice, no NaN."""


class Unusable(Exception):
    """The answer holds nothing of what was asked; the text says what is missing."""


def blocks_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield each fenced block: its language in small letters, and its body."""
    for match in _BLOCK.finditer(text):
        yield match[1].lower(), match[2]


def is_open(text: str) -> bool:
    """Return whether a block begins and does not end."""
    return text.count("```") % 2 == 1


def last_list(text: str) -> list[Any]:
    """Return the last JSON list in an answer, in a block or bare; empty where there is none."""
    bodies = [body for kind, body in blocks_of(text) if kind in ("", "json")]
    for body in (*reversed(bodies), text):
        start = body.find("[")
        try:
            found = json.JSONDecoder().raw_decode(body, start)[0] if start >= 0 else None
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list):
            return found
    return []
