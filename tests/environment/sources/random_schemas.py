"""Random tools from a seed: schemas of all drafts, half of them broken in some way."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

_NAMES = (
    "id", "name", "from", "class", "user-id", "a b", "filter[x]", "$top", "", "\u03b1\u03b2",
        "x" * 90,
    "type", "required", "properties", "$ref", "item.name", "__proto__", "\u202ename", "limit",
)  # fmt: skip
_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null", "str", "any",
    "int[]",
          "STRING", "date", "string|null", "widget", "")  # fmt: skip
_PATTERNS = (
    "^a+$",
    "(",
    "\\p{L}",
    "[\\w-.]",
    "(?<y>\\d)",
    "\\Z",
    "(a+)+",
    "[",
    "^$",
    "(?=a)b",
    "a{2,1}",
)
_JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 2.5, 10**30, float("nan"), float("inf"), "", "x", "true", "7", [], {},
    [1], ["a"], {"a": 1}, [None], "\ud800", "\x00", [[]], {"": {}}, {"type": "string"},
)  # fmt: skip
_POINTERS = ("#", "#/properties/id", "#/$defs/a", "#/$defs/b", "#/definitions/a", "#/x/y",
    "other.json",
             "#a", "#/properties/name/items/0", "https://schema.invalid/x", "#/$defs", "#/%zz",
             "#/properties/id/anyOf/0", "#/$defs/a/properties/id", "urn:x:y", "#/~2")  # fmt: skip


class RandomSchemas:
    """Draws tools. The same seed draws the same."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def listing(self) -> list[Any]:
        """Return the `tools` of one server."""
        return [self.tool() for _ in range(self._rng.randint(1, 6))]

    def tool(self) -> Any:
        """Return one item of such a list."""
        rng = self._rng
        if rng.random() < 0.03:
            return rng.choice(_JUNK)
        name: Any = rng.choice(
            ("get_item", "update item", "list.items", "x" * 80, "\u9805", "a", "b-c")
        )
        if rng.random() < 0.05:
            name = rng.choice(_JUNK)
        tool: dict[str, Any] = {"name": name, "inputSchema": self.schema(5)}
        if rng.random() < 0.6 and isinstance(tool["inputSchema"], dict):
            tool["inputSchema"].setdefault("type", "object")
        for key in ("description", "annotations", "outputSchema", "title"):
            if rng.random() < 0.2:
                tool[key] = self.schema(2) if key == "outputSchema" else rng.choice(_JUNK)
        return tool

    def schema(self, depth: int) -> Any:
        """Return something that stands where a schema should."""
        rng = self._rng
        if rng.random() < 0.06:
            return rng.choice(_JUNK)
        found: dict[str, Any] = {}
        for _ in range(rng.randint(0, 4)):
            key = rng.choice(_KEYS)
            found[key] = rng.choice(_JUNK) if rng.random() < 0.15 else _DRAWS[key](self, depth - 1)
        return found

    def schemas(self, depth: int) -> Any:
        """Return a list of schemas."""
        return [self.schema(depth) for _ in range(self._rng.randint(0, 3) if depth > 0 else 0)]

    def named(self, depth: int) -> Any:
        """Return schemas by name."""
        count = self._rng.randint(0, 4) if depth > 0 else 0
        return {self._rng.choice(_NAMES): self.schema(depth) for _ in range(count)}

    def definitions(self, depth: int) -> Any:
        """Return definitions that references may find."""
        return {name: self.schema(depth) for name in ("a", "b")} if depth > 0 else {}

    def one(self, depth: int) -> Any:
        """Return a schema, or the end of the nesting."""
        return self.schema(depth) if depth > 0 else {}

    def any_of(self, choices: tuple[Any, ...]) -> Any:
        """Return one of some values."""
        return self._rng.choice(choices)

    def some_of(self, choices: tuple[Any, ...]) -> list[Any]:
        """Return a few of some values, repetitions too."""
        return [self._rng.choice(choices) for _ in range(self._rng.randint(0, 3))]


_Draw = Callable[[RandomSchemas, int], Any]
_DRAWS: dict[str, _Draw] = {
    "type": lambda draw, _: draw.any_of(
        (draw.any_of(_TYPES), draw.some_of(_TYPES), "object", "string")
    ),
    "properties": RandomSchemas.named,
    "patternProperties": lambda draw, depth: {draw.any_of(_PATTERNS): draw.one(depth)},
    "$defs": RandomSchemas.definitions,
    "definitions": RandomSchemas.definitions,
    "dependentSchemas": RandomSchemas.named,
    "dependencies": lambda draw, depth: {
        draw.any_of(_NAMES): draw.any_of((draw.some_of(_NAMES), draw.one(depth)))
    },
    "dependentRequired": lambda draw, _: {draw.any_of(_NAMES): draw.some_of(_NAMES)},
    "anyOf": RandomSchemas.schemas,
    "oneOf": RandomSchemas.schemas,
    "allOf": RandomSchemas.schemas,
    "prefixItems": RandomSchemas.schemas,
    "items": lambda draw, depth: draw.any_of((draw.one(depth), draw.schemas(depth))),
    "additionalItems": RandomSchemas.one,
    "additionalProperties": RandomSchemas.one,
    "unevaluatedProperties": RandomSchemas.one,
    "propertyNames": RandomSchemas.one,
    "contains": RandomSchemas.one,
    "not": RandomSchemas.one,
    "if": RandomSchemas.one,
    "then": RandomSchemas.one,
    "else": RandomSchemas.one,
    "required": lambda draw, _: draw.some_of(_NAMES),
    "enum": lambda draw, _: draw.some_of(_JUNK),
    "const": lambda draw, _: draw.any_of(_JUNK),
    "default": lambda draw, _: draw.any_of(_JUNK),
    "examples": lambda draw, _: draw.some_of(_JUNK),
    "$ref": lambda draw, _: draw.any_of(_POINTERS),
    "$dynamicRef": lambda draw, _: draw.any_of(_POINTERS),
    "$id": lambda draw, _: draw.any_of(("https://schema.invalid/x", "a", "#a", "urn:x:y", "[",
        "//[")),
    "$anchor": lambda draw, _: draw.any_of(("a", "b", "1 2")),
    "pattern": lambda draw, _: draw.any_of(_PATTERNS),
    "format": lambda draw, _: draw.any_of(("date", "uri", "x")),
    "nullable": lambda draw, _: draw.any_of((True, False)),
    **{
        key: (lambda draw, _: draw.any_of((0, 1, 5, -1, 10**12, "3", 2.5, True)))
        for key in (
            "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
            "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
                "minContains",
            "uniqueItems", "divisibleBy",
        )
    },
}  # fmt: skip
_KEYS = (*_DRAWS, *("type", "properties") * 6, *("$ref", "$defs", "anyOf", "items", "required") * 2)
