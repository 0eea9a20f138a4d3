"""Parameters whose names model APIs refuse, renamed, and the way back.

Anthropic's API, and others behind it, refuse a whole request for one parameter at the top level
whose name is not `[A-Za-z0-9_.-]{1,64}`; names inside objects are free. So only those are renamed,
in everything that speaks of the same object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.sources.names import PARAMETER_RULE, valid_names
from components.environment.sources.records import QuarantineReason
from components.environment.sources.references import (
    Parts,
    pointer_parts,
    reference_to,
    walk_schemas,
)
from components.environment.sources.schema_values import SchemaRefused

_NAME_RULES = ("patternProperties", "propertyNames")


def rename_parameters(schema: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a tool's schema with valid parameter names, and new name -> old name of the renamed.

    Args:
        schema: mended, an object at its root.

    Raises:
        SchemaRefused: a rule of the schema hangs on the names themselves.
    """
    names = valid_names(schema["properties"], PARAMETER_RULE)
    renamed = {old: new for old, new in names.items() if old != new}
    if not renamed:
        return schema, {}
    work = _Renaming(schema, renamed)
    changed = work.schema(schema, (), is_same=True)
    return work.references(changed), {new: old for old, new in renamed.items()}


class _Renaming:
    """One renaming. `is_same` says that a schema speaks of the arguments themselves."""

    def __init__(self, document: dict[str, Any], renamed: Mapping[str, str]) -> None:
        self._document = document
        self._renamed = renamed
        self._maps: set[Parts] = set()
        """Places of `properties` whose names were changed."""

    def schema(self, schema: Any, at: Parts, *, is_same: bool) -> Any:
        if not isinstance(schema, Mapping):
            return schema
        if is_same and any(key in schema for key in _NAME_RULES):
            raise self._refused("its rules speak of names of parameters that had to change")
        if is_same and at and "$ref" in schema:
            raise self._refused("its root refers to rules about parameters that had to change")
        changed: dict[str, Any] = {}
        for key, item in schema.items():
            place = (*at, key)
            if key == "properties" and is_same:
                self._maps.add(place)
                changed[key] = {self._name(name): part for name, part in item.items()}
            elif key == "required" and is_same:
                changed[key] = [self._name(name) for name in item]
            elif key == "dependentRequired" and is_same:
                changed[key] = {
                    self._name(name): [self._name(other) for other in others]
                    for name, others in item.items()
                }
            elif key == "dependentSchemas" and is_same:
                changed[key] = {
                    self._name(name): self.schema(part, (*place, name), is_same=True)
                    for name, part in item.items()
                }
                self._maps.add(place)
            elif key in ("allOf", "anyOf", "oneOf") and is_same:
                changed[key] = [
                    self.schema(part, (*place, str(index)), is_same=True)
                    for index, part in enumerate(item)
                ]
            elif key in ("not", "if", "then", "else") and is_same:
                changed[key] = self.schema(item, place, is_same=True)
            else:
                changed[key] = item
        return changed

    def references(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Point references through the new names, in place."""
        for part in walk_schemas(schema):
            if "$ref" in part:
                part["$ref"] = self._moved(part["$ref"])
        return schema

    def _moved(self, reference: str) -> str:
        parts = pointer_parts(reference) or ()
        moved = tuple(
            self._name(part) if parts[:index] in self._maps else part
            for index, part in enumerate(parts)
        )
        return reference_to(moved)

    def _name(self, name: str) -> str:
        return self._renamed.get(name, name)

    def _refused(self, detail: str) -> SchemaRefused:
        return SchemaRefused(QuarantineReason.PARAMETER_NAMES, detail)
