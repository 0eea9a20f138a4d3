"""Words that the hand-written tools are built of."""

from __future__ import annotations

from typing import Any

KEPT, MENDED = "kept", "mended"
TEXT = {"type": "string"}


def object_of(**properties: Any) -> dict[str, Any]:
    """Return an object with these properties."""
    return {"type": "object", "properties": properties}


def nested(levels: int, kind: str = "properties") -> dict[str, Any]:
    """Return a schema with this many levels in it."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        if kind == "properties":
            schema = {"type": "object", "properties": {"inner": schema}}
        elif kind == "items":
            schema = {"type": "array", "items": schema}
        else:
            schema = {kind: [schema]}
    return schema


def wrapped(text: str, levels: int, core: Any) -> Any:
    """Return a value this many objects deep."""
    value = core
    for _ in range(levels):
        value = {text: value}
    return value


TREE = {"type": "object", "properties": {"value": TEXT, "kids": {"type": "array",
         "items": {"$ref": "#/$defs/tree"}}}}  # fmt: skip
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}


def with_defs(use: Any, **definitions: Any) -> dict[str, Any]:
    """Return an object whose `value` is a schema, with definitions."""
    return {"type": "object", "properties": {"value": use}, "$defs": definitions}


def ref_to(name: str) -> dict[str, str]:
    """Return a reference to a definition."""
    return {"$ref": f"#/$defs/{name}"}
