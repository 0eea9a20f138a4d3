"""References inside one JSON Schema: pointers, anchors and ids, and loops that never end.

Owns what a `$ref` points at. Other documents are never fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote, urljoin

from components.environment.sources.records import QuarantineReason
from components.environment.sources.schema_keywords import LISTS, MAPS, SCHEMAS
from components.environment.sources.schema_values import SchemaRefused

Parts = tuple[str, ...]
"""A JSON pointer, one entry a step."""

MAX_CHAIN = 60
"""References that may be followed one after the other without a step into a value."""
MAX_STEPS = 20_000
"""Schemas that may be looked at for one value at one place."""
_SAME_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_SAME_PLACE = ("not", "if", "then", "else")


def resolve_pointer(document: Any, reference: str) -> Any:
    """Return what a local reference (`#/...`) points at, or None; other documents are never
    fetched.
    """
    parts = pointer_parts(reference)
    return None if parts is None else value_at(document, parts)


def pointer_parts(reference: str) -> Parts | None:
    """Return the steps of a local pointer, None for any other reference."""
    if not reference.startswith("#"):
        return None
    text = unquote(reference[1:])
    if text and not text.startswith("/"):
        return None
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])


def reference_to(parts: Parts) -> str:
    """Return the reference to a place, as a URI fragment."""
    steps = (part.replace("~", "~0").replace("/", "~1") for part in parts)
    return "#" + "".join(
        f"/{quote(step, safe='~!$&()*+,;=:@', errors='replace')}" for step in steps
    )


def value_at(document: Any, parts: Parts) -> Any:
    """Return what stands at a place, or None."""
    value = document
    for part in parts:
        if isinstance(value, Mapping):
            if part not in value:
                return None
            value = value[part]
        elif isinstance(value, (list, tuple)) and part.isascii() and part.isdigit():
            if len(part) > 9 or int(part) >= len(value):
                return None
            value = value[int(part)]
        else:
            return None
    return value


class Addresses:
    """Where the anchors and ids of one document stand. Built once a document."""

    def __init__(self, document: Any) -> None:
        """Args: document: a whole schema, as it came."""
        self._document = document
        self._base = _own_id(document)
        self._by_name: dict[str, Parts] = {}
        self._resources: list[Parts] = []
        for parts, schema in _mappings(document):
            name = _own_id(schema)
            if name:
                for form in (name, urljoin(self._base, name)):
                    self._by_name.setdefault(form.rstrip("#"), parts)
                if parts and not name.startswith("#"):
                    self._resources.append(parts)
            for key in ("$anchor", "$dynamicAnchor"):
                anchor = schema.get(key)
                if isinstance(anchor, str):
                    self._by_name.setdefault(f"#{anchor}", parts)

    def find(self, reference: str, at: Parts) -> Parts | None:
        """Return the place that a reference at a place means, or None when it is not in here."""
        base, _, fragment = reference.partition("#")
        starts: list[Parts] = []
        if base:
            for form in (base, urljoin(self._base, base)):
                if form in self._by_name:
                    starts.append(self._by_name[form])
                elif self._base and form == self._base.rstrip("#"):
                    starts.append(())
        else:
            if f"#{fragment}" in self._by_name:
                return self._by_name[f"#{fragment}"]
            around = [parts for parts in self._resources if at[: len(parts)] == parts]
            starts = [*sorted(around, key=len, reverse=True), ()]
        steps = pointer_parts(f"#{fragment}")
        for start in starts:
            if fragment and steps is None:
                return self._by_name.get(f"#{fragment}")
            found = (*start, *(steps or ()))
            if value_at(self._document, found) is not None:
                return found
        return None


def _own_id(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return ""
    for key in ("$id", "id"):
        name = schema.get(key)
        if isinstance(name, str) and len(name) < 2_000:
            try:
                urljoin(name, "x")
            except ValueError:
                continue
            return name
    return ""


def _mappings(document: Any) -> Iterator[tuple[Parts, Mapping[str, Any]]]:
    """Every object of a document, with its place."""
    stack: list[tuple[Parts, Any]] = [((), document)]
    while stack:
        parts, value = stack.pop()
        if len(parts) > 200:
            continue
        if isinstance(value, Mapping):
            yield parts, value
            stack.extend(((*parts, str(key)), item) for key, item in value.items())
        elif isinstance(value, (list, tuple)):
            stack.extend(((*parts, str(at)), item) for at, item in enumerate(value))


def walk_schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return a mended schema and every schema in it; literal values are none."""
    stack: list[Any] = [schema]
    while stack:
        value = stack.pop()
        if not isinstance(value, dict):
            continue
        yield value
        for key, item in value.items():
            if key in MAPS and isinstance(item, dict):
                stack.extend(item.values())
            elif key in LISTS and isinstance(item, list):
                stack.extend(item)
            elif key in SCHEMAS:
                stack.append(item)


def cut_endless(document: dict[str, Any]) -> list[str]:
    """Take out, in place, references that lead back to themselves without a step into the value.

    Such a reference says nothing: it holds whenever it holds.

    Args:
        document: a cleaned schema, whose references are all local and resolve.

    Returns:
        The references that were taken out.

    Raises:
        SchemaRefused: checking one value at one place would take too many steps.
    """
    walk = _Loops(document)
    for schema in walk_schemas(document):
        walk.count(schema, 0)
    return walk.cut


class _Loops:
    """Counts, for each schema, the schemas that one value is checked against at its place."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._counted: dict[int, tuple[int, int]] = {}
        """Schema -> schemas looked at, and longest chain of them."""
        self._open: set[int] = set()
        self.cut: list[str] = []

    def count(self, schema: Any, above: int) -> tuple[int, int]:
        if not isinstance(schema, Mapping):
            return 1, 1
        key = id(schema)
        if key in self._counted:
            return self._counted[key]
        if above > MAX_CHAIN:
            raise SchemaRefused(
                QuarantineReason.TOO_TANGLED, "its schema chains too many references"
            )
        self._open.add(key)
        parts = [self.count(part, above + 1) for part in _at_same_place(schema)]
        reference = schema.get("$ref")
        if isinstance(reference, str) and isinstance(schema, dict):
            target = resolve_pointer(self._document, reference)
            if id(target) in self._open:
                self.cut.append(reference)
                del schema["$ref"]
            else:
                parts.append(self.count(target, above + 1))
        self._open.discard(key)
        steps = 1 + sum(part[0] for part in parts)
        chain = 1 + max((part[1] for part in parts), default=0)
        if steps > MAX_STEPS or chain > MAX_CHAIN:
            raise SchemaRefused(
                QuarantineReason.TOO_TANGLED,
                "the alternatives and references of its schema multiply",
            )
        self._counted[key] = (steps, chain)
        return steps, chain


def _at_same_place(schema: Mapping[str, Any]) -> Iterator[Any]:
    for key in _SAME_PLACE_LISTS:
        parts = schema.get(key)
        if isinstance(parts, (list, tuple)):
            yield from parts
    for key in _SAME_PLACE:
        if key in schema:
            yield schema[key]
    parts = schema.get("dependentSchemas")
    if isinstance(parts, Mapping):
        yield from parts.values()
