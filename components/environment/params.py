"""A tool's parameters, as far as JSON Schema makes them plain.

Owns the reading of schemas: references resolved, nullable unions unwrapped, one type each. A
parameter that can hold values of several kinds has no type here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jsonschema_rs

from components.environment.names import singular, snake
from components.environment.sources.references import resolve_pointer
from components.records.blueprint import FieldType
from components.records.frozen import FrozenDict, freeze, thaw
from components.records.spec import ToolSpec

WRITTEN_BY = "x-written-by"
"""Keyword of observed schemas: the argument that a property shows, where it is called otherwise."""
_PROSE = frozenset(
    {"body", "content", "contents", "description", "text", "note", "notes", "message", "comment",
     "details", "summary", "bio", "observation", "observations", "reason"}
)  # fmt: skip
_MOST_TOLD = 400
_ROOT_LOGIC = ("anyOf", "oneOf", "allOf", "if", "not", "dependentSchemas", "patternProperties")
_FIELD_TYPES = {
    "string": FieldType.STRING,
    "integer": FieldType.INTEGER,
    "number": FieldType.NUMBER,
    "boolean": FieldType.BOOLEAN,
    "array": FieldType.ARRAY,
    "object": FieldType.OBJECT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter of a tool, or one property of an object."""

    name: str
    word: str
    """Name in snake_case; of an observed property that shows an argument of another name, its."""
    type: str
    """JSON type; empty when it can be several."""
    schema: Mapping[str, Any]
    """Its own schema, unwrapped."""
    document: Mapping[str, Any]
    """Whole schema that references in `schema` point into."""
    is_required: bool
    is_nullable: bool = False
    has_default: bool = False
    default: Any = None
    description: str = ""

    @property
    def enum(self) -> tuple[str, ...] | None:
        """Values of a text enum, or None."""
        values = self.schema.get("enum")
        if self.type != "string" or not values or not all(isinstance(item, str) for item in values):
            return None
        return tuple(values)

    @property
    def default_fits(self) -> bool:
        """False for a default that the parameter's own schema would refuse; null stands for `not
        given`.
        """
        if self.default is None:
            return True
        kind = {str: "string", bool: "boolean", int: "integer", float: "number", tuple: "array"}
        found = kind.get(type(self.default), "object")
        fits = found == self.type or (found, self.type) == ("integer", "number")
        return fits and (self.enum is None or self.default in self.enum)

    @property
    def items(self) -> Mapping[str, Any]:
        """Schema of an array's items, unwrapped."""
        return unwrap(self.schema.get("items"), self.document)[0]

    @property
    def properties(self) -> dict[str, Param]:
        """Properties of an object, by name."""
        return properties_of(self.schema, self.document)

    @property
    def item_properties(self) -> dict[str, Param]:
        """Properties of an array's items when they are objects."""
        return properties_of(self.items, self.document)


class SchemaProblem(ValueError):
    """A schema that a blueprint cannot honour; the text is the rest of a sentence."""


def read_params(tool: ToolSpec) -> dict[str, Param]:
    """Return the parameters of a tool by name.

    Raises:
        SchemaProblem: the schema is invalid, or its rules cross parameters.
    """
    schema = tool.input_schema
    try:
        jsonschema_rs.validator_for(thaw(schema))
    except (ValueError, RecursionError, jsonschema_rs.ReferencingError):
        raise SchemaProblem("has a schema that is no valid JSON Schema") from None
    crossing = [key for key in _ROOT_LOGIC if key in schema]
    if crossing:
        raise SchemaProblem(f"has a schema whose rules cross parameters ({crossing[0]})")
    if schema.get("type", "object") != "object":
        raise SchemaProblem("takes something else than an object")
    return {
        name: param if param.description else replace(param, description=_told(name, tool))
        for name, param in properties_of(schema, schema).items()
    }


def _told(name: str, tool: ToolSpec) -> str:
    """Return what a tool's own description says of a parameter, in the form of a docstring."""
    found = re.search(
        rf"(?m)^[ \t]*[-*]?[ \t]*`?{re.escape(name)}`?[ \t]*(?:\([^)\n]*\))?[ \t]*[:-][ \t]*(.+)$",
        tool.description,
    )
    return found.group(1)[:_MOST_TOLD] if found else ""


def properties_of(schema: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Param]:
    """Return the properties of an object schema by name, in the order of `property_names`."""
    properties = schema.get("properties") or {}
    required = frozenset(schema.get("required") or ())
    return {
        name: _param(name, properties[name], document, name in required)
        for name in property_names(schema)
    }


def property_names(schema: Mapping[str, Any]) -> list[str]:
    """Return the names of an object schema's properties: those that are required in the order in
    which the schema says so, then the others by name. What is kept as canonical JSON has no other
    order, so none may matter.
    """
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return []
    required = schema.get("required")
    said = required if isinstance(required, (list, tuple)) else ()
    first = [name for name in dict.fromkeys(map(str, said)) if name in properties]
    return [*first, *sorted(set(properties) - set(first))]


def unwrap(
    schema: Any, document: Mapping[str, Any], depth: int = 0
) -> tuple[Mapping[str, Any], bool]:
    """Return a schema without references and without its null branch, and whether it had one."""
    if not isinstance(schema, Mapping) or depth > 8:
        return FrozenDict(), False
    if "$ref" in schema:
        target = resolve_pointer(document, str(schema["$ref"]))
        return unwrap(target, document, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(key)
        if not branches:
            continue
        real = [
            part
            for part in branches
            if not (isinstance(part, Mapping) and part.get("type") == "null")
        ]
        if len(real) != 1:
            return FrozenDict(), len(real) < len(branches)
        inner, nullable = unwrap(real[0], document, depth + 1)
        outer = {name: part for name, part in schema.items() if name != key}
        return FrozenDict({**inner, **outer}), nullable or len(real) < len(branches)
    kind = schema.get("type")
    if isinstance(kind, (list, tuple)):
        names = [name for name in kind if name != "null"]
        only = names[0] if len(names) == 1 else None
        return FrozenDict({**schema, "type": only}), "null" in kind
    return schema, False


def _param(name: str, schema: Any, document: Mapping[str, Any], is_required: bool) -> Param:
    found, nullable = unwrap(schema, document)
    kind = found.get("type")
    if kind is None and found.get("enum") and all(isinstance(item, str) for item in found["enum"]):
        kind = "string"
    if kind is None and isinstance(found.get("properties"), Mapping):
        kind = "object"
    outer = schema if isinstance(schema, Mapping) else {}
    description = outer.get("description") or found.get("description") or ""
    return Param(
        name=name,
        word=snake(str(found.get(WRITTEN_BY, name))),
        type=kind if isinstance(kind, str) and kind in _FIELD_TYPES else "",
        schema=found,
        document=document,
        is_required=is_required,
        is_nullable=nullable,
        has_default="default" in outer,
        default=freeze(outer.get("default")),
        description=description if isinstance(description, str) else "",
    )


def is_storable(name: str) -> bool:
    """True for names that an expression can reach and a row can have as a field."""
    return bool(name) and "." not in name and not name.startswith("_") and name != "model_config"


def is_free_text(word: str) -> bool:
    """True for names of fields that hold prose."""
    return word in _PROSE or word.rpartition("_")[2] in _PROSE


def singular_word(param: Param) -> str:
    """Return a parameter's name in snake_case and singular."""
    return singular(param.word)
