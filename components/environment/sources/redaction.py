"""Values that must never be written anywhere, and their removal from text and JSON.

Owns the one rule for secrets of server lists: what stood in `env`, in `headers`, in an address's
credentials or behind a key-like command line option is replaced by `***` wherever a server may have
echoed it. It refuses to judge whether a value "looks secret": all of them go, except from names,
where words that everybody writes stay.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

MASK = "***"
SHORTEST_SECRET = 4
"""Shorter values (`1`, `on`) would blank out ordinary text and hide nothing."""

_SCHEMES = frozenset({"bearer", "basic", "token", "digest"})
_PLAIN_WORDS = frozenset(
    {
        "true",
        "false",
        "null",
        "none",
        "info",
        "debug",
        "warn",
        "warning",
        "error",
        "trace",
        "production",
        "development",
        "staging",
        "test",
        "local",
        "localhost",
        "default",
        "read",
        "write",
        "json",
        "text",
        "stdio",
        "http",
        "https",
        "string",
        "number",
        "integer",
        "boolean",
        "object",
        "array",
        "required",
        "properties",
        "date",
        "email",
        "user",
        "admin",
        "name",
        "path",
        "main",
        "master",
        "enabled",
        "disabled",
        "auto",
    }
)
"""Configuration values that are no secret and occur in tool names and schema keywords."""
_KEYWORDS = frozenset({"type", "$ref", "required", "format", "name"})
"""Places whose strings are names: only values that are not plain words are replaced there."""


class Redactor:
    """Replaces every form of a set of secret values. Built once per server; holds the values, never
    shows them.
    """

    __slots__ = ("_everywhere", "_in_names")

    def __init__(self, secrets: Iterable[str]) -> None:
        """Args: secrets: raw values; each is also matched in its usual encodings."""
        forms = {form for secret in secrets for form in _forms(secret)}
        self._everywhere = _pattern(forms)
        self._in_names = _pattern({form for form in forms if form.lower() not in _PLAIN_WORDS})

    def text(self, text: str) -> str:
        """Return prose without any of the values."""
        return self._everywhere.sub(MASK, text) if self._everywhere else text

    def name(self, text: str) -> str:
        """Return a name or keyword without any of the values, plain words excepted."""
        return self._in_names.sub(MASK, text) if self._in_names else text

    def value(self, value: Any, *, is_name: bool = False) -> Any:
        """Return a JSON value with every string in it, keys too, cleaned."""
        if isinstance(value, str):
            return self.name(value) if is_name else self.text(value)
        if isinstance(value, Mapping):
            return {
                self.name(str(key)): self.value(item, is_name=key in _KEYWORDS and _is_name(item))
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.value(item, is_name=is_name) for item in value]
        return value


def _is_name(item: Any) -> bool:
    return isinstance(item, str) or (
        isinstance(item, (list, tuple)) and all(isinstance(part, str) for part in item)
    )


def _pattern(forms: set[str]) -> re.Pattern[str] | None:
    if not forms:
        return None
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    return re.compile("|".join(re.escape(form) for form in longest_first), re.IGNORECASE)


def _forms(secret: str) -> set[str]:
    """The value itself, its words, and the encodings in which a program is likely to print it."""
    words = [word for word in secret.split() if word.lower() not in _SCHEMES]
    parts = {secret, secret.strip(), *words} if len(words) <= 2 else {secret, secret.strip()}
    forms: set[str] = set()
    for part in parts:
        if len(part) < SHORTEST_SECRET:
            continue
        raw = part.encode("utf-8", "surrogatepass")
        forms |= {part, quote(raw, safe=""), json.dumps(part)[1:-1], repr(part)[1:-1]}
        encoded = base64.b64encode(raw).decode()
        forms |= {encoded, encoded.rstrip("="), raw.hex()}
    return {form for form in forms if len(form) >= SHORTEST_SECRET}
