"""The schemas of one OpenAPI document: what they refer to, in requests and in answers.

Owns references inside the document, and what differs from JSON Schema: what only the server may set
is no argument, and what it never tells is no part of an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.environment.sources.references import Parts, pointer_parts, value_at

MAX_SHARED = 120
"""Schemas that one operation may refer to, directly or not; what lies beyond is left open."""
_MAX_DEPTH = 60
_LITERALS = frozenset({"default", "example", "examples", "enum", "const", "required"})


class OpenApiSchemas:
    """Built once a document; keeps what it has rewritten, since operations share most of it."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Args: document: the whole document."""
        self._document = document
        self._rewritten: dict[tuple[Parts, bool], tuple[Any, frozenset[Parts]]] = {}
        self._names: dict[Parts, str] = {}
        self._taken: set[str] = set()

    def resolved(self, item: Any) -> Mapping[str, Any]:
        """Return what a reference leads to, through any number of them; {} where to nothing."""
        seen: set[str] = set()
        while isinstance(item, Mapping) and isinstance(item.get("$ref"), str):
            reference = item["$ref"]
            if reference in seen:
                return {}
            seen.add(reference)
            parts = pointer_parts(reference)
            item = None if parts is None else value_at(self._document, parts)
        return item if isinstance(item, Mapping) else {}

    def is_read_only(self, schema: Any) -> bool:
        """Return whether a property is set by the server alone."""
        if isinstance(schema, Mapping) and schema.get("readOnly") is True:
            return True
        return self.resolved(schema).get("readOnly") is True

    def with_shared(self, schema: dict[str, Any], *, is_request: bool) -> dict[str, Any]:
        """Return a schema that holds all that it refers to, in `$defs`.

        Args:
            schema: refers into the document.
            is_request: leave out what only the server sets; else what it never tells.
        """
        whole, wanted = self._rewrite(schema, is_request)
        shared: dict[str, Any] = {}
        queue = sorted(wanted)
        done = set(queue)
        while queue:
            parts = queue.pop(0)
            name = self._name(parts)
            if len(shared) >= MAX_SHARED:
                shared[name] = {}
                continue
            key = (parts, is_request)
            if key not in self._rewritten:
                self._rewritten[key] = self._rewrite(value_at(self._document, parts), is_request)
            shared[name], more = self._rewritten[key]
            queue.extend(sorted(more - done))
            done |= more
        return {**whole, "$defs": shared} if shared else whole

    def _rewrite(self, schema: Any, is_request: bool) -> tuple[Any, frozenset[Parts]]:
        """Return a schema whose references lead to `$defs`, and the places that they meant."""
        wanted: set[Parts] = set()
        return self._changed(schema, is_request, wanted, 0), frozenset(wanted)

    def _changed(self, value: Any, is_request: bool, wanted: set[Parts], depth: int) -> Any:
        if depth > _MAX_DEPTH:
            return {}
        if isinstance(value, list):
            return [self._changed(item, is_request, wanted, depth + 1) for item in value]
        if not isinstance(value, Mapping):
            return value
        changed: dict[str, Any] = {}
        hidden = set(self._hidden(value, is_request))
        for key, item in value.items():
            if key == "$ref" and isinstance(item, str):
                parts = pointer_parts(item)
                if parts is not None and value_at(self._document, parts) is not None:
                    wanted.add(parts)
                    changed[key] = f"#/$defs/{self._name(parts)}"
                else:
                    changed[key] = item  # it leads out of the document; mending says so
            elif key in _LITERALS:
                changed[key] = item
            elif key == "properties" and isinstance(item, Mapping):
                changed[key] = {
                    name: self._changed(part, is_request, wanted, depth + 1)
                    for name, part in item.items()
                    if name not in hidden
                }
            else:
                changed[key] = self._changed(item, is_request, wanted, depth + 1)
        if hidden and isinstance(changed.get("required"), list):
            changed["required"] = [name for name in changed["required"] if name not in hidden]
        return changed

    def _hidden(self, schema: Mapping[str, Any], is_request: bool) -> Iterator[str]:
        properties = schema.get("properties")
        for name, part in properties.items() if isinstance(properties, Mapping) else ():
            mark = "readOnly" if is_request else "writeOnly"
            if isinstance(part, Mapping) and (
                part.get(mark) is True or self.resolved(part).get(mark) is True
            ):
                yield name

    def _name(self, parts: Parts) -> str:
        """A name in `$defs` for a place: its last step, and more where that is taken."""
        if parts not in self._names:
            base = "".join(c if c.isascii() and c.isalnum() else "_" for c in parts[-1:][0])[:60]
            name, number = base or "schema", 1
            while name in self._taken:
                number += 1
                name = f"{base}_{number}"
            self._taken.add(name)
            self._names[parts] = name
        return self._names[parts]
