"""The root of a tool's schema: an object of named arguments, whatever stands in its place.

Owns what is peculiar to the root: models must see the parameters there, so references and
conjunctions at the root are resolved into it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from components.environment.sources.records import QuarantineReason
from components.environment.sources.references import (
    Parts,
    pointer_parts,
    value_at,
    walk_schemas,
)
from components.environment.sources.schema_keywords import KEYWORDS, MAPS, SCHEMAS
from components.environment.sources.schema_values import SchemaRefused, distinct, read_type

Tell = Callable[[Parts, str], None]
"""Notes a change of meaning at a place."""

_HINTS = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "properties", "const"})
"""Keywords by which an object is known for a schema."""
_HOLDERS = MAPS | SCHEMAS | {"dependencies", "dependentRequired", "default", "const", "example"}
"""Keywords whose value may be an object."""
_ABOUT = frozenset({"title", "description", "examples", "default", "deprecated"})
"""Keywords that constrain nothing."""
_CROSSING = frozenset(
    {"if", "then", "else", "unevaluatedProperties", "unevaluatedItems", "contains", "minContains",
     "maxContains", "prefixItems"}
)  # fmt: skip
"""Keywords that mean something else beside others of another schema."""


def as_document(schema: Any, tell: Tell) -> Any:
    """Return what can only be meant as a tool's schema, in the shape of a schema.

    Raises:
        SchemaRefused: nothing like it is meant.
    """
    if isinstance(schema, str):
        schema = _decoded(schema, tell)
    if schema is False:
        raise SchemaRefused(QuarantineReason.UNCALLABLE, "its schema allows no arguments at all")
    if isinstance(schema, (list, tuple)) and schema:
        if all(isinstance(item, str) or _is_named(item) for item in schema):
            tell((), "a list of parameters taken for an object of them")
            return {"type": "object", "properties": list(schema)}
        raise SchemaRefused(QuarantineReason.NOT_AN_OBJECT, "its schema is a list")
    if not isinstance(schema, Mapping):
        if schema not in (None, True, [], ()):
            tell((), "what stands for its schema is none; no parameters are known")
        return {}
    properties = schema.get("properties")
    bare = {
        name: part
        for name, part in schema.items()
        if isinstance(part, Mapping) and name not in _HOLDERS and _HINTS & part.keys()
    }
    if properties or not bare:
        return schema
    is_object = read_type(schema.get("type")) == {"type": "object"}
    if len(bare) == len(schema) or is_object or isinstance(schema.get("required"), (list, tuple)):
        tell((), "parameters beside the keywords taken for properties")
        rest = {name: part for name, part in schema.items() if name not in bare}
        return {**rest, "properties": bare}
    return schema


def _decoded(text: str, tell: Tell) -> Any:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        return 0
    if isinstance(schema, (Mapping, list)):
        tell((), "a schema written as text was decoded")
        return schema
    return 0


def _is_named(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("name"), str)


def flatten_root(schema: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Return a mended schema as an object with its parameters in `properties`.

    Raises:
        SchemaRefused: its arguments are something else than an object.
    """
    for _ in range(16):
        joined = _without_reference(schema) or _without_conjunction(schema)
        if joined is None:
            break
        tell((), "what its root refers to was joined into it")
        schema = joined
    kind = schema.get("type")
    names = kind if isinstance(kind, list) else [kind]
    if "object" not in names:
        if kind not in (None, "null") and not schema.get("properties"):
            raise SchemaRefused(
                QuarantineReason.NOT_AN_OBJECT, f"its arguments are of type {names[0]}"
            )
        if kind is not None:
            tell(("type",), "arguments are an object")
    schema["type"] = "object"
    properties = schema.setdefault("properties", {})
    for name in schema.get("required", ()):
        properties.setdefault(name, {})
    return schema


def _without_reference(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The root with what it refers to in its place; None where that changes a meaning."""
    reference = schema.get("$ref")
    parts = pointer_parts(reference) if isinstance(reference, str) else None
    if not parts:
        return None
    target = value_at(schema, parts)
    rest = {key: item for key, item in schema.items() if key != "$ref"}
    return _joined(rest, target) if isinstance(target, Mapping) else None


def _without_conjunction(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The root with the parts of a conjunction, or of a choice of one, in it."""
    for key in ("allOf", "anyOf", "oneOf"):
        parts = schema.get(key)
        if not parts or (key != "allOf" and len(parts) > 1) or _is_referred_to(schema, key):
            continue
        joined: dict[str, Any] | None = {name: item for name, item in schema.items() if name != key}
        for part in parts:
            joined = None if joined is None else _joined(joined, part)
        if joined is not None:
            return joined
    return None


def _is_referred_to(schema: dict[str, Any], key: str) -> bool:
    return any(str(part.get("$ref", "")).startswith(f"#/{key}/") for part in walk_schemas(schema))


def _joined(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return one schema that holds where both do; None where no plain one does."""
    if not right.keys() <= KEYWORDS or _CROSSING & {*left.keys(), *right.keys()}:
        return None
    joined = dict(left)
    for key, item in right.items():
        if key not in joined or joined[key] == item:
            joined[key] = item
        elif key in ("properties", "$defs", "definitions"):
            if any(joined[key].get(name, part) != part for name, part in item.items()):
                return None
            joined[key] = {**joined[key], **item}
        elif key == "required":
            joined[key] = distinct([*joined[key], *item])
        elif key not in _ABOUT:
            return None
    for one, other in ((left, right), (right, left)):
        own = one.get("properties", {})
        is_closed = one.get("additionalProperties", True) not in (True, {})
        if is_closed and (one.get("patternProperties") or other.get("patternProperties")):
            return None
        if is_closed and not own.keys() >= other.get("properties", {}).keys():
            return None
    return joined
