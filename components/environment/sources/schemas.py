"""JSON Schemas of strangers, of any draft, made into valid ones (2020-12) that mean the same.

Owns the mending: what JSON Schema, or plain habit, leaves one meaning for is rewritten, and each
rewriting that touches a meaning is told. It refuses to guess. What comes out is small, finite and
local (no reference leaves it), and can be compiled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from components.environment.sources.possible import is_possible
from components.environment.sources.records import QuarantineReason
from components.environment.sources.references import (
    Addresses,
    Parts,
    cut_endless,
    reference_to,
    value_at,
)
from components.environment.sources.root import as_document, flatten_root
from components.environment.sources.schema_keywords import (
    KEYWORDS,
    LISTS,
    MAPS,
    MAX_SCHEMA_TEXT,
    READERS,
    SCHEMAS,
)
from components.environment.sources.schema_values import (
    SchemaRefused,
    distinct,
    read_flag,
    read_pattern,
    read_type,
    read_value,
)
from components.environment.sources.text import clean_line, clean_text
from components.environment.values import valid_text

MAX_DEPTH = 40
"""Schemas inside each other."""
MAX_NODES = 20_000
"""Schemas and listed values in one schema."""
_MAX_MENDS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class MendedSchema:
    """A schema that can be compiled, and what was changed to make it so."""

    schema: dict[str, Any]
    mends: tuple[tuple[str, str], ...]
    """(JSON pointer into the schema as it came, what was done)."""


def clean_schema(schema: Any, *, is_root: bool = False) -> dict[str, Any]:
    """Return a JSON Schema (2020-12) that means what the messy one can only have meant.

    Raises:
        SchemaRefused: it can be used by no mending.
    """
    return mend_schema(schema, is_root=is_root).schema


def mend_schema(schema: Any, *, is_root: bool = True) -> MendedSchema:
    """Return the schema in the one form, and what was changed.

    Args:
        schema: anything that stands where a schema should.
        is_root: it is about a tool's arguments, which are an object.

    Raises:
        SchemaRefused: it can be used by no mending.
    """
    mender = _Mender()
    document = as_document(schema, mender.tell) if is_root else schema
    cleaned = mender.document(document)
    if is_root:
        cleaned = flatten_root(cleaned, mender.tell)
    for reference in cut_endless(cleaned):
        mender.tell((), f"{clean_line(reference, 80)} leads back to itself; left out")
    if is_root and not is_possible(cleaned):
        raise SchemaRefused(QuarantineReason.UNCALLABLE, "no arguments can be valid for it")
    return MendedSchema(schema=cleaned, mends=mender.mends())


@dataclass(slots=True)
class _Mender:
    """Mends one document. Lives while it is read."""

    raw: Any = None
    addresses: Addresses = field(default_factory=lambda: Addresses({}))
    told: dict[tuple[str, str], None] = field(default_factory=dict)
    placed: dict[Parts, Parts] = field(default_factory=dict)
    """Where a schema of the document stands in the mended one."""
    references: list[tuple[dict[str, Any], Parts]] = field(default_factory=list)
    """References as they are met, with the place they mean in the document."""
    nodes: int = 0

    def tell(self, at: Parts, what: str) -> None:
        """Note one change of meaning."""
        if len(self.told) <= _MAX_MENDS:
            self.told[clean_line(reference_to(at)), clean_line(what)] = None

    def mends(self) -> tuple[tuple[str, str], ...]:
        """Return what was told, the first of it where it is very much."""
        found = tuple(self.told)
        return found if len(found) <= _MAX_MENDS else (*found[:_MAX_MENDS], ("#", "and more"))

    def document(self, document: Any) -> dict[str, Any]:
        """Mend a whole schema, and bring what its references mean inside it."""
        self.raw, self.addresses = document, Addresses(document)
        cleaned = self.schema(document, (), (), 0)
        done = 0
        while done < len(self.references):
            holder, target = self.references[done]
            done += 1
            if target not in self.placed:
                self._bring(cleaned, target)
            holder["$ref"] = reference_to(self.placed[target])
        return cleaned

    def _bring(self, cleaned: dict[str, Any], target: Parts) -> None:
        """Put a schema that stood under no keyword into `$defs`."""
        shared = cleaned.setdefault("$defs", {})
        name = base = target[-1] if target else "root"
        number = 1
        while name in shared:
            number += 1
            name = f"{base}_{number}"
        place = ("$defs", name)
        shared[name] = {}
        shared[name] = self.schema(value_at(self.raw, target), target, place, 1)

    def count(self, more: int = 1) -> None:
        """Refuse what is too large before it costs time."""
        self.nodes += more
        if self.nodes > MAX_NODES:
            raise SchemaRefused(
                QuarantineReason.TOO_LARGE, f"its schema has more than {MAX_NODES} parts"
            )

    def schema(self, schema: Any, at: Parts, out: Parts, depth: int) -> dict[str, Any]:
        """Mend one schema.

        Args:
            at: its place in the document.
            out: its place in the mended document.
            depth: schemas around it.
        """
        if depth > MAX_DEPTH:
            raise SchemaRefused(
                QuarantineReason.TOO_DEEP, f"its schema is more than {MAX_DEPTH} levels deep"
            )
        self.count()
        self.placed.setdefault(at, out)
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, Mapping):
            return self._shorthand(schema, at)
        node = _Node(self, schema, at, out, depth)
        for key, item in schema.items():
            if key in KEYWORDS:
                node.keyword(key, item)
        node.settle()
        return node.cleaned

    def _shorthand(self, schema: Any, at: Parts) -> dict[str, Any]:
        """A type or a description where a schema should stand."""
        if schema is True or schema is None or schema in ({}, []):
            return {}
        kind = read_type(schema)
        if kind is not None:
            self.tell(at, f"{_shown(schema)} taken for its type")
            return kind
        if isinstance(schema, str):
            self.tell(at, "a text in place of a schema taken for its description")
            return {"description": clean_text(schema, MAX_SCHEMA_TEXT)}
        self.tell(at, f"{_shown(schema)} is no schema; anything is allowed")
        return {}


@dataclass(slots=True)
class _Node:
    """One schema while it is mended."""

    mender: _Mender
    raw: Mapping[str, Any]
    at: Parts
    out: Parts
    depth: int
    cleaned: dict[str, Any] = field(default_factory=dict)

    def keyword(self, key: str, item: Any) -> None:
        """Take over one keyword."""
        if key in MAPS:
            self._map(key, item)
        elif key in LISTS:
            self._list(key, item)
        elif key == "items" and isinstance(item, (list, tuple)):
            if not isinstance(self.raw.get("prefixItems"), (list, tuple)):
                self._list("prefixItems", item, source="items")
        elif key in SCHEMAS:
            self._schema(key, item)
        elif key in READERS:
            name, value = READERS[key](key, item)
            if value is not None:
                self.cleaned[name] = value[0]
            elif item is not None:
                self._tell(key, f"{key} {_shown(item)} cannot be; left out")
        else:
            special = _SPECIAL.get(key)
            if special is not None:
                special(self, item)

    def settle(self) -> None:
        """Bring the keywords into agreement when all are there."""
        cleaned = self.cleaned
        for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            is_flag = isinstance(cleaned.get(exclusive), bool)  # draft 4
            if is_flag and cleaned.pop(exclusive) and plain in cleaned:
                cleaned[exclusive] = cleaned.pop(plain)
        self._required()
        if self.raw.get("nullable") is True and "null" not in _listed(cleaned.get("type", "null")):
            cleaned["type"] = [*_listed(cleaned["type"]), "null"]
            if "enum" in cleaned and None not in cleaned["enum"]:
                cleaned["enum"] = [*cleaned["enum"], None]
            self._tell("nullable", "nullable taken for a type with null")

    def _tell(self, key: str, what: str) -> None:
        self.mender.tell((*self.at, key), what)

    def _part(self, item: Any, source: Parts, target: Parts) -> dict[str, Any]:
        return self.mender.schema(item, (*self.at, *source), (*self.out, *target), self.depth + 1)

    def _map(self, key: str, item: Any) -> None:
        if key == "properties" and isinstance(item, (list, tuple)) and item:
            item = _listed_properties(item)
            self._tell(key, "a list of properties taken for properties by name")
        if not isinstance(item, Mapping):
            if item not in (None, [], ()):
                self._tell(key, f"{key} {_shown(item)} cannot be; left out")
            return
        parts: dict[str, Any] = {}
        for name, part in item.items():
            if key == "properties" and self._is_misplaced(name, part, item):
                continue
            if key == "patternProperties":
                pattern = read_pattern(name)
                if pattern is None:
                    self._tell(key, f"{_shown(name)} is no regular expression; left out")
                    continue
                parts[pattern] = self._part(part, (key, name), (key, pattern))
                continue
            if key == "dependentSchemas" and isinstance(part, (list, tuple)):
                continue  # it is read with `dependentRequired`
            plain = valid_text(str(name))
            parts[plain] = self._part(part, (key, name), (key, plain))
        self.cleaned[key] = {**self.cleaned.get(key, {}), **parts}

    def _is_misplaced(self, name: str, part: Any, properties: Mapping[str, Any]) -> bool:
        """A keyword of the object itself that stands among its properties."""
        if name == "required" and isinstance(part, (list, tuple)):
            self._tell("properties", "`required` among the properties taken for the object's")
            known = [item for item in part if isinstance(item, str) and item in properties]
            self.cleaned["required"] = distinct([*self.cleaned.get("required", []), *known])
            return True
        is_keyword = (
            (name == "type" and part == "object")
            or (name == "additionalProperties" and isinstance(part, bool))
            or (name == "$schema" and isinstance(part, str))
        )
        if is_keyword:
            self._tell("properties", f"`{name}` among the properties taken for the object's")
        return is_keyword

    def _list(self, key: str, item: Any, *, source: str = "") -> None:
        source = source or key
        if isinstance(item, Mapping):
            self._tell(source, f"{key} of one schema, no list, taken for a list of it")
            self.cleaned[key] = [self._part(item, (source,), (key, "0"))]
        elif isinstance(item, (list, tuple)) and item:
            self.cleaned[key] = [
                self._part(part, (source, str(at)), (key, str(at))) for at, part in enumerate(item)
            ]
        elif item not in (None, [], ()):
            self._tell(source, f"{key} {_shown(item)} cannot be; left out")

    def _schema(self, key: str, item: Any) -> None:
        if key != "items" and read_flag(item) is not None and key != "not":
            self.cleaned[key] = read_flag(item)
            self.mender.placed.setdefault((*self.at, key), (*self.out, key))
        elif item is not None:
            self.cleaned[key] = self._part(item, (key,), (key,))

    def type_(self, item: Any) -> None:
        """A type, in any writing; draft 3 had whole schemas among them."""
        if isinstance(item, (list, tuple)) and any(isinstance(part, Mapping) for part in item):
            parts = [part if isinstance(part, Mapping) else {"type": part} for part in item]
            self._list("anyOf", parts, source="type")
            return
        kind = read_type(item)
        if kind is None:
            if item is not None:
                self._tell("type", f"type {_shown(item)} is none of JSON's; any is allowed")
            return
        given = item if not isinstance(item, tuple) else list(item)
        if kind["type"] != given and [kind["type"]] != given:
            self._tell("type", f"type {_shown(item)} taken for {_shown(kind['type'])}")
        for key, value in kind.items():
            if key == "type" or key not in self.raw:
                self.cleaned[key] = value

    def enum(self, item: Any) -> None:
        """Allowed values; a mapping's names are its values."""
        if isinstance(item, Mapping) and item:
            self._tell("enum", "enum as an object taken for its names")
            item = list(item)
        if not isinstance(item, (list, tuple)) or not item:
            if item is not None:
                self._tell("enum", f"enum {_shown(item)} allows nothing; left out")
            return
        self.mender.count(len(item))
        values = [found[0] for found in map(read_value, item) if found is not None]
        if len(values) < len(item):
            self._tell("enum", "values that JSON cannot hold left out")
        if values:
            self.cleaned["enum"] = distinct(values)

    def required(self, item: Any) -> None:
        """Names that must be there."""
        if isinstance(item, str) and read_flag(item) is None:
            self._tell("required", "required as a text taken for a list of it")
            item = [item]
        if isinstance(item, (list, tuple)):
            names = [valid_text(part) for part in item if isinstance(part, str)]
            if len(names) < len(item):
                self._tell("required", "names that are no texts left out")
            self.cleaned["required"] = distinct([*self.cleaned.get("required", []), *names])

    def depends(self, item: Any) -> None:
        """`dependencies` of older drafts, `dependentRequired`, and both in the wrong place."""
        if not isinstance(item, Mapping):
            return
        for name, part in item.items():
            plain = valid_text(str(name))
            if isinstance(part, (list, tuple, str)):
                names = [part] if isinstance(part, str) else part
                known = [valid_text(other) for other in names if isinstance(other, str)]
                self.cleaned.setdefault("dependentRequired", {})[plain] = distinct(known)
            elif isinstance(part, (Mapping, bool)):
                target = ("dependentSchemas", plain)
                mended = self._part(part, ("dependencies", name), target)
                self.cleaned.setdefault("dependentSchemas", {})[plain] = mended

    def reference(self, item: Any) -> None:
        """A reference, if what it means is in the document."""
        target = self.mender.addresses.find(item, self.at) if isinstance(item, str) else None
        if target is None:
            self._tell("$ref", f"reference {_shown(item)} leads nowhere here; anything is allowed")
            return
        if "$ref" not in self.cleaned:
            self.cleaned["$ref"] = ""
            self.mender.references.append((self.cleaned, target))

    def rest_items(self, item: Any) -> None:
        """What follows a tuple's items, as older drafts said it."""
        if isinstance(self.raw.get("items"), (list, tuple)) and item is not None:
            if isinstance(item, bool):
                self.cleaned["items"] = {} if item else {"not": {}}
            else:
                self.cleaned["items"] = self._part(item, ("additionalItems",), ("items",))

    def example(self, item: Any) -> None:
        """OpenAPI's one example."""
        found = read_value(item)
        if found is not None and "examples" not in self.raw:
            self.cleaned["examples"] = [found[0]]

    def examples(self, item: Any) -> None:
        """Examples: a list, or OpenAPI's mapping of them."""
        if isinstance(item, Mapping):
            item = [part.get("value") if isinstance(part, Mapping) else part
                    for part in item.values()]  # fmt: skip
        if isinstance(item, (list, tuple)):
            self.mender.count(len(item))
            values = [found[0] for found in map(read_value, item) if found is not None]
            if values:
                self.cleaned["examples"] = values

    def _required(self) -> None:
        """Draft 3 wrote `required: true` in the property; a required name needs a property."""
        cleaned, properties = self.cleaned, self.raw.get("properties")
        inside = [
            valid_text(str(name))
            for name, part in (properties.items() if isinstance(properties, Mapping) else ())
            if isinstance(part, Mapping) and read_flag(part.get("required")) is True
        ]
        names = distinct([*cleaned.get("required", []), *inside])
        if inside:
            self._tell("properties", "`required: true` in a property taken for a required name")
        if names:
            cleaned["required"] = names
        elif "required" in cleaned:
            del cleaned["required"]
        if names and "properties" in cleaned:
            missing = [name for name in names if name not in cleaned["properties"]]
            if missing and cleaned.get("additionalProperties") is False:
                self._tell("required", f"{_shown(missing[0])} is required, so it is allowed")
            for name in missing:
                cleaned["properties"][name] = {}


_SPECIAL: dict[str, Callable[[_Node, Any], None]] = {
    "type": _Node.type_,
    "enum": _Node.enum,
    "required": _Node.required,
    "dependencies": _Node.depends,
    "dependentRequired": _Node.depends,
    "$ref": _Node.reference,
    "$recursiveRef": _Node.reference,
    "$dynamicRef": _Node.reference,
    "additionalItems": _Node.rest_items,
    "example": _Node.example,
    "examples": _Node.examples,
}


def _listed_properties(items: list[Any] | tuple[Any, ...]) -> dict[str, Any]:
    """`[{"name": "a", "type": ...}, "b"]` by name."""
    found: dict[str, Any] = {}
    for item in items:
        if isinstance(item, str):
            found.setdefault(item, {})
        elif isinstance(item, Mapping) and isinstance(item.get("name"), str):
            inner = item.get("schema")
            rest = {key: part for key, part in item.items() if key not in ("name", "schema")}
            found.setdefault(
                item["name"], {**rest, **inner} if isinstance(inner, Mapping) else rest
            )
    return found


def _listed(item: Any) -> list[Any]:
    return list(item) if isinstance(item, (list, tuple)) else [item]


def _shown(item: Any) -> str:
    try:
        text = json.dumps(item, default=str)
    except (ValueError, RecursionError):
        text = type(item).__name__
    return clean_line(text, 60)
