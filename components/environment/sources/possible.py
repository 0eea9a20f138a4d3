"""Whether any value at all can be valid for a schema.

Owns a plain answer: False only where it is certain. A tool without possible arguments cannot be
called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.sources.references import resolve_pointer

_MAX_LOOKS = 5_000
_MAX_CHAIN = 150
_BOUNDS = (
    ("minLength", "maxLength", {"string"}),
    ("minItems", "maxItems", {"array"}),
    ("minProperties", "maxProperties", {"object"}),
    ("minimum", "maximum", {"number", "integer"}),
)
"""Lower bound, upper bound, and the types that they are about."""


def is_possible(schema: dict[str, Any]) -> bool:
    """Return False when no value is valid for a mended schema, whole document.

    An object that requires one like itself, without end, is not possible.
    """
    return _Look(schema).possible(schema)


class _Look:
    """Looks through one document. What is too large to look through is taken for possible."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._open: set[int] = set()
        self._looks = 0

    def possible(self, schema: Any) -> bool:
        if not isinstance(schema, Mapping):
            return schema is not False
        self._looks += 1
        if self._looks > _MAX_LOOKS or len(self._open) > _MAX_CHAIN:
            return True
        if id(schema) in self._open:
            return False
        self._open.add(id(schema))
        try:
            return self._possible(schema)
        finally:
            self._open.discard(id(schema))

    def _possible(self, schema: Mapping[str, Any]) -> bool:
        if schema.get("not") == {} or not _some_literal_fits(schema):
            return False
        kinds = _kinds(schema)
        for least, most, allowed in _BOUNDS:
            low, high = schema.get(least), schema.get(most)
            if kinds and kinds <= allowed and low is not None and high is not None and low > high:
                return False
        if "$ref" in schema and not self.possible(
            resolve_pointer(self._document, str(schema["$ref"]))
        ):
            return False
        if not all(self.possible(part) for part in schema.get("allOf", ())):
            return False
        for key in ("anyOf", "oneOf"):
            parts = schema.get(key)
            if parts and not any(self.possible(part) for part in parts):
                return False
        if kinds == {"object"}:
            properties = schema.get("properties", {})
            return all(
                self.possible(properties[name])
                for name in schema.get("required", ())
                if name in properties
            )
        if kinds == {"array"} and schema.get("minItems", 0) > 0 and "prefixItems" not in schema:
            return self.possible(schema.get("items", True))
        return True


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    kind = schema.get("type")
    return set() if kind is None else {kind} if isinstance(kind, str) else set(kind)


def _some_literal_fits(schema: Mapping[str, Any]) -> bool:
    kinds = _kinds(schema)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not values or not kinds:
        return True
    return any(_kinds_of(value) & kinds for value in values)


def _kinds_of(value: Any) -> set[str]:
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int):
        return {"integer", "number"}
    if isinstance(value, float):
        return {"number", "integer"} if value.is_integer() else {"number"}
    if isinstance(value, str):
        return {"string"}
    return {"array"} if isinstance(value, (list, tuple)) else {"object"}
