"""A tool's top-level parameters, as far as their schemas can be read at a glance.

Owns what a parameter looks like: its words, type, requiredness. What it is for is in `roles.py`.
Whatever a schema holds, reading it never fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.environment.params import property_names
from components.environment.reading.words import singular, tokens
from components.environment.sources.references import resolve_pointer
from components.records.spec import ToolSpec

_MAX_HOPS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One top-level parameter."""

    name: str
    words: tuple[str, ...]
    type: str
    """JSON type; empty when it can be several or is not said."""
    is_required: bool
    has_default: bool
    enum: tuple[str, ...]
    """Text values that it is limited to; empty when it is not."""
    description: str
    format: str
    item_type: str
    """Type of an array's items; empty for others."""
    inner: tuple[str, ...]
    """Names of the properties of an object, or of an array's items."""

    @property
    def snake(self) -> str:
        """Name in snake_case."""
        return "_".join(self.words)

    @property
    def is_scalar(self) -> bool:
        """Text or number (or not said)."""
        return self.type in ("string", "integer", "number", "")


def unwrap(schema: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with references followed and nullable unions taken apart.

    A union of several kinds gives what is written beside it, without a type.
    """
    for _hop in range(_MAX_HOPS):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = resolve_pointer(document, reference)
            if not isinstance(target, Mapping):
                return schema
            schema = {**target, **{key: schema[key] for key in schema if key != "$ref"}}
            continue
        for key in ("anyOf", "oneOf", "allOf"):
            options = schema.get(key)
            if isinstance(options, (list, tuple)):
                kinds = [
                    part
                    for part in options
                    if isinstance(part, Mapping) and part.get("type") != "null"
                ]
                if len(kinds) == 1:
                    beside = {name: schema[name] for name in schema if name != key}
                    schema = {**kinds[0], **beside}
                    break
        else:
            return schema
    return schema if isinstance(schema, Mapping) else {}


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, (list, tuple)):
        kinds = [item for item in kind if item != "null"]
        kind = kinds[0] if len(kinds) == 1 else ""
    if isinstance(kind, str):
        return kind
    if isinstance(schema.get("properties"), Mapping):
        return "object"
    enum = schema.get("enum")
    if isinstance(enum, (list, tuple)) and enum and all(isinstance(item, str) for item in enum):
        return "string"
    return ""


def _inner(schema: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(property_names(schema)[:60])


def read_params(tool: ToolSpec) -> tuple[Param, ...]:
    """Return the top-level parameters of a tool, in the order of `property_names`."""
    document = tool.input_schema
    root = unwrap(document, document)
    properties = root.get("properties")
    required = root.get("required")
    needed = frozenset(
        item
        for item in (required if isinstance(required, (list, tuple)) else ())
        if isinstance(item, str)
    )
    if not isinstance(properties, Mapping):
        return ()
    return tuple(
        _param(name, properties[name], document, name in needed) for name in property_names(root)
    )


def _param(name: str, raw: Any, document: Mapping[str, Any], needed: bool) -> Param:
    schema = unwrap(raw, document)
    kind = _type(schema)
    items = unwrap(schema.get("items"), document) if kind == "array" else {}
    enum = schema.get("enum")
    text = schema.get("description")
    form = schema.get("format")
    parts = tokens(name)
    return Param(
        name=name,
        words=(*parts[:-1], singular(parts[-1])) if parts and kind == "array" else parts,
        type=kind,
        is_required=needed,
        has_default="default" in schema,
        enum=tuple(item for item in enum if isinstance(item, str))
        if isinstance(enum, (list, tuple))
        else (),
        description=text if isinstance(text, str) else "",
        format=form if isinstance(form, str) else "",
        item_type=_type(items),
        inner=_inner(items if kind == "array" else schema),
    )
