"""What a server lists, made into a spec: names that can be called, schemas that can be compiled.

Owns the mending of messy `tools/list` answers. It refuses to guess what a tool does. One bad tool
never costs its server: it is left out with a note, or its schema is mended where JSON Schema leaves
one meaning only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.sources.redaction import Redactor
from components.errors import SpecError
from components.records.frozen import FrozenDict, canonical_json, freeze
from components.records.spec import ServiceSpec, ToolSpec

MAX_POLICY_NAME = 64
"""Longest `<service>__<tool>` that common model APIs take."""
MAX_SERVICE_NAME = 24
_MAX_DEPTH = 40
_MAX_SCHEMA_BYTES = 200_000
_MAX_DESCRIPTION = 8_000

_TYPES = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})
_TYPE_ALIASES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "list": "array",
    "tuple": "array",
    "none": "null",
}
_SCHEMA_MAPS = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
_SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS = frozenset(
    {
        "items",
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "unevaluatedProperties",
        "unevaluatedItems",
    }
)
_COUNTS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
)
_DROPPED = frozenset(
    {
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$dynamicAnchor",
        "$dynamicRef",
        "$vocabulary",
        "additionalItems",
    }
)
"""They change how references resolve, or make a validator fetch something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A spec and what had to be mended or left out to make it."""

    spec: ServiceSpec
    notes: tuple[str, ...] = ()


def service_name(name: str, taken: Iterable[str] = ()) -> str:
    """Return `name` as `[a-z][a-z0-9_]*`, different from all in `taken`.

    Example:
        >>> service_name("My Server (v2)"), service_name("9-lives", ["s_9_lives"])
        ('my_server_v2', 's_9_lives_2')
    """
    base = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not base or not base[0].isalpha():
        base = f"s_{base}".rstrip("_")
    return _unique(base[:MAX_SERVICE_NAME].rstrip("_"), frozenset(taken))


def spec_from_listing(
    service: str,
    tools: Any,
    *,
    title: str = "",
    description: str = "",
    source: str = "file:listing",
    redactor: Redactor | None = None,
) -> Listing:
    """Make a spec of a raw `tools/list` answer.

    Args:
        service: name, already normalised and unique.
        tools: the answer's `tools` as JSON, however messy.
        redactor: removes the values that the server was started with from all that it says.

    Raises:
        SpecError: there is no list, or no tool of it can be used.
    """
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise SpecError(f"{service}: the server's answer has no list of tools")
    redactor = redactor or Redactor(())
    found: dict[str, ToolSpec] = {}
    seen: set[str] = set()
    notes: list[str] = []
    for index, raw in enumerate(tools):
        place = f"tool {index + 1}"
        name = raw.get("name") if isinstance(raw, Mapping) else None
        if not isinstance(name, str) or not name.strip():
            notes.append(f"{place}: left out, it has no name")
            continue
        if name in seen:
            notes.append(f"{place}: left out, its name was listed before")
            continue
        seen.add(name)
        try:
            tool = _tool(service, redactor.value(raw), frozenset(found))
        except (RecursionError, ValueError):
            notes.append(f"{place}: left out, its schema is too deep, too large or no JSON")
            continue
        found[tool.name] = tool
    if not found:
        raise SpecError(f"{service}: the server lists no tool that can be used")
    spec = ServiceSpec(
        service=service,
        title=redactor.text(title or service)[:200],
        domain="external",
        description=redactor.text(description)[:_MAX_DESCRIPTION],
        source=redactor.name(source),
        tools=FrozenDict(found),
    )
    return Listing(spec=spec, notes=tuple(notes))


def _tool(service: str, raw: Mapping[str, Any], taken: frozenset[str]) -> ToolSpec:
    schema = clean_schema(raw.get("inputSchema", raw.get("input_schema")), is_root=True)
    output = raw.get("outputSchema", raw.get("output_schema"))
    description = raw.get("description")
    annotations = raw.get("annotations")
    if len(canonical_json(schema)) > _MAX_SCHEMA_BYTES:
        raise ValueError("schema too large")
    return ToolSpec(
        name=tool_name(service, raw["name"], taken),
        description=description.strip()[:_MAX_DESCRIPTION] if isinstance(description, str) else "",
        input_schema=freeze(schema),
        output_schema=freeze(clean_schema(output, is_root=True))
        if isinstance(output, Mapping)
        else None,
        annotations=freeze(
            {key: item for key, item in annotations.items() if isinstance(item, (bool, str))}
            if isinstance(annotations, Mapping)
            else {}
        ),
    )


def tool_name(service: str, name: str, taken: frozenset[str]) -> str:
    """Return a name of letters, digits, `_` and `-` that fits behind `<service>__`, unlike all in
    `taken`.
    """
    base = re.sub(r"[^A-Za-z0-9_-]+", "_", name.strip()).strip("_") or "tool"
    room = MAX_POLICY_NAME - len(service) - 2
    if len(base) > room:
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
        base = f"{base[: room - 9]}_{digest}"
    return _unique(base, taken)


def _unique(base: str, taken: frozenset[str]) -> str:
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name


def clean_schema(schema: Any, *, is_root: bool = False) -> dict[str, Any]:
    """Return a JSON Schema (2020-12) that means what the messy one can only have meant.

    `properties: null`, boolean schemas, unknown types, arrays without `items`, tuple `items`,
    draft-4 exclusive bounds, `required: true` on a property, references to nowhere or to the
    network: all occur in real servers.
    """
    document = schema if isinstance(schema, Mapping) else {}
    cleaned = _clean(schema, document, 0)
    if is_root:
        if cleaned.get("type") in (None, "null") or isinstance(cleaned.get("type"), list):
            cleaned["type"] = "object"
        cleaned.setdefault("properties", {})
    return cleaned


def _clean(schema: Any, document: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise ValueError("schema too deep")
    if schema is False:
        return {"not": {}}
    if not isinstance(schema, Mapping):
        return {}
    cleaned: dict[str, Any] = {}
    for key, item in schema.items():
        if key in _DROPPED and not (key == "id" and isinstance(item, Mapping)):
            continue
        if key in _SCHEMA_MAPS:
            if isinstance(item, Mapping):
                cleaned[key] = {
                    name: _clean(part, document, depth + 1) for name, part in item.items()
                }
        elif key in _SCHEMA_LISTS:
            if isinstance(item, Sequence) and not isinstance(item, str) and item:
                cleaned[key] = [_clean(part, document, depth + 1) for part in item]
        elif key == "items" and isinstance(item, Sequence) and not isinstance(item, str):
            cleaned["prefixItems"] = [_clean(part, document, depth + 1) for part in item]
        elif key in _SCHEMAS:
            if isinstance(item, bool) and key not in ("items", "not"):
                cleaned[key] = item
            elif item is not None:
                cleaned[key] = _clean(item, document, depth + 1)
        else:
            _keyword(cleaned, key, item, document)
    _bounds(cleaned)
    _required(cleaned, schema)
    return cleaned


def _keyword(cleaned: dict[str, Any], key: str, item: Any, document: Mapping[str, Any]) -> None:
    """Copy one plain keyword when its value is of the right kind."""
    if key == "type":
        names = item if isinstance(item, (list, tuple)) else [item]
        known = [_TYPE_ALIASES.get(str(name).lower(), str(name).lower()) for name in names]
        known = [name for name in dict.fromkeys(known) if name in _TYPES]
        if known:
            cleaned["type"] = known if len(known) > 1 else known[0]
    elif key == "enum":
        if isinstance(item, (list, tuple)) and item:
            cleaned["enum"] = [part for index, part in enumerate(item) if part not in item[:index]]
    elif key == "$ref":
        if isinstance(item, str) and resolve_pointer(document, item) is not None:
            cleaned["$ref"] = item
    elif key == "pattern":
        if isinstance(item, str) and _compiles(item):
            cleaned["pattern"] = item
    elif key == "required":
        if isinstance(item, (list, tuple)):
            cleaned["required"] = list(
                dict.fromkeys(part for part in item if isinstance(part, str))
            )
    elif key in _COUNTS:
        if _is_number(item) and item >= 0 and item == int(item):
            cleaned[key] = int(item)
    elif key in ("minimum", "maximum", "multipleOf"):
        if _is_number(item) and (key != "multipleOf" or item > 0):
            cleaned[key] = item
    elif key in ("description", "title", "format", "$comment"):
        if isinstance(item, str):
            cleaned[key] = item
    elif key in ("exclusiveMinimum", "exclusiveMaximum"):
        if isinstance(item, (bool, int, float)):
            cleaned[key] = item
    elif key == "uniqueItems":
        if isinstance(item, bool):
            cleaned[key] = item
    elif key in ("dependentRequired", "dependencies", "minContains", "maxContains"):
        return
    else:
        cleaned[key] = item


def _bounds(cleaned: dict[str, Any]) -> None:
    """Draft 4 wrote `exclusiveMinimum: true` beside `minimum`."""
    for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(cleaned.get(exclusive), bool):
            is_exclusive = cleaned.pop(exclusive)
            if is_exclusive and plain in cleaned:
                cleaned[exclusive] = cleaned.pop(plain)


def _required(cleaned: dict[str, Any], schema: Mapping[str, Any]) -> None:
    """Draft 3 wrote `required: true` inside the property; a required name needs a property of its
    own.
    """
    properties = schema.get("properties")
    inside = [
        name
        for name, part in (properties.items() if isinstance(properties, Mapping) else ())
        if isinstance(part, Mapping) and part.get("required") is True
    ]
    names = list(dict.fromkeys([*cleaned.get("required", []), *inside]))
    if names and "properties" in cleaned:
        cleaned["required"] = names
        for name in names:
            cleaned["properties"].setdefault(name, {})


def resolve_pointer(document: Mapping[str, Any], reference: str) -> Any:
    """Return what a local reference (`#/...`) points at, or None; other documents are never
    fetched.
    """
    if not reference.startswith("#"):
        return None
    value: Any = document
    for part in reference[1:].split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def _is_number(item: Any) -> bool:
    return isinstance(item, (int, float)) and not isinstance(item, bool) and item == item


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
