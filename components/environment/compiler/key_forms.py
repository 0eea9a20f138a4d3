"""The form of keys that a service makes, where the patterns of schemas ask for one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_START = re.compile(r"\^([A-Za-z][A-Za-z0-9]{0,15})_")
_SAMPLE = "0a1b2c3d"
_DIGITS = "1234567890"
_MOST = 200
"""Characters of a pattern that is looked at."""


def prefix_of(schema: Mapping[str, Any], usual: str) -> str:
    """Return the prefix of keys that fit a schema: `usual` where they do or no other does.

    Returns:
        A prefix, or an empty text for keys of digits alone.

    Example:
        >>> prefix_of({"type": "string", "pattern": "^gls_[a-z0-9]+$"}, "glossary")
        'gls'
    """
    for pattern in _patterns(schema):
        found = _START.match(pattern)
        for prefix in (usual, *(found.groups() if found else ())):
            if _fits(pattern, f"{prefix}_{_SAMPLE}"):
                return prefix
        if _fits(pattern, _DIGITS):
            return ""
    return usual


def _patterns(schema: Mapping[str, Any]) -> Iterator[str]:
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    for part in (schema, *options):
        pattern = part.get("pattern") if isinstance(part, Mapping) else None
        if isinstance(pattern, str) and len(pattern) <= _MOST:
            yield pattern


def _fits(pattern: str, key: str) -> bool:
    try:
        return re.search(pattern, key) is not None
    except re.error:
        return False
