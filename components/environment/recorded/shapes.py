"""JSON Schemas of values that were seen.

Owns the joining of types. A schema says only what all values bear out: a property is required where
it was always there, a type is given where there is one, and a closed set of values is never
guessed. Short values are kept as examples; never those of a field that is called like a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.environment.names import tokens
from components.environment.sources.redaction import MASK

MOST_EXAMPLES = 8
"""Values that are kept of one field."""
_LONGEST_EXAMPLE = 60
_DEEPEST = 6
_PLACEHOLDER = "{tmp}"
_SECRETS = frozenset(
    {"password", "passwd", "passphrase", "secret", "token", "credential", "credentials", "cookie",
     "authorization", "auth", "otp", "pin", "signature", "apikey"}
)  # fmt: skip
_KEYS = frozenset({"api", "access", "private", "secret", "session", "encryption"})


def joined_schema(values: Sequence[Any], name: str = "", depth: int = 0) -> dict[str, Any]:
    """Return a schema that all of these values fit; an empty one where they have no common type.

    Args:
        values: JSON values.
        name: of the field that holds them; empty: no field.
        depth: how many objects and lists they are in.

    Example:
        >>> joined_schema([{"n": 1}, {"n": 2.5, "m": True}])["required"]
        ['n']
    """
    known = [value for value in values if value is not None]
    kinds = {_kind(value) for value in known}
    if kinds == {"integer", "number"}:
        kinds = {"number"}
    if len(kinds) != 1 or depth > _DEEPEST:
        return {}
    (kind,) = kinds
    schema: dict[str, Any] = {"type": kind if len(known) == len(values) else [kind, "null"]}
    if kind == "object":
        schema |= _object(known, depth)
    elif kind == "array":
        items = [item for value in known for item in value]
        schema |= {"items": joined_schema(items, name, depth + 1)} if items else {}
    elif kind != "boolean" and (examples := examples_in(known, name)):
        schema["examples"] = examples
    return schema


def _object(values: Sequence[Mapping[str, Any]], depth: int) -> dict[str, Any]:
    names = list(dict.fromkeys(name for value in values for name in value))
    always = sorted(name for name in names if all(name in value for value in values))
    if len(values) > 1 and len(names) > 1 and not always:
        return {}  # names that are data: a map, of which nothing more is known
    parts = {
        name: joined_schema([value[name] for value in values if name in value], name, depth + 1)
        for name in names
    }
    # Of what was only null nothing is known, not even that a likeness of it must be there.
    return {"properties": parts, "required": [name for name in always if parts[name]]}


def examples_in(values: Sequence[Any], name: str) -> list[Any]:
    """Return the short texts and the numbers among values of a field, each once, the first ones;
    none of a field that is called like a secret.
    """
    if is_called_secret(name):
        return []
    found: dict[Any, None] = {}
    for value in values:
        if isinstance(value, str):
            is_short = 0 < len(value.strip()) <= _LONGEST_EXAMPLE and "\n" not in value
            if is_short and MASK not in value and _PLACEHOLDER not in value:
                found.setdefault(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found.setdefault(value)
    return list(found)[:MOST_EXAMPLES]


def is_called_secret(name: str) -> bool:
    """True for a field whose values must not be kept, by its name.

    Example:
        >>> is_called_secret("apiKey"), is_called_secret("primary_key")
        (True, False)
    """
    words = set(tokens(name))
    return bool(words & _SECRETS) or ("key" in words and bool(words & _KEYS))


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"
