"""Values drawn from a JSON Schema with a seed: arguments for gates, rows for seeds.

Owns the drawing. It is no validator: the caller checks what it draws and leaves out what does not
fit. The same generator state gives the same values.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from components.environment.sources.references import resolve_pointer

MAX_DEPTH = 6
_WORDS = (
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "iris", "juniper",
    "kestrel", "lagoon", "maple", "nectar", "orchid", "pebble", "quartz", "river", "sierra",
)  # fmt: skip
_TEXT_FORMATS = {
    "date-time": "2026-01-0{d}T09:00:00Z",
    "date": "2026-01-0{d}",
    "time": "09:0{d}:00Z",
    "email": "{w}@example.com",
    "uri": "https://example.com/{w}",
    "url": "https://example.com/{w}",
    "uri-reference": "/{w}",
    "hostname": "{w}.example.com",
    "ipv4": "192.0.2.{d}",
    "ipv6": "2001:db8::{d}",
    "uuid": "00000000-0000-4000-8000-00000000000{d}",
    "duration": "P{d}D",
    "regex": "{w}",
}


class SchemaSampler:
    """Draws values from schemas of one document."""

    def __init__(self, document: Mapping[str, Any], rng: random.Random) -> None:
        """Args: document: schema that local references point into; rng: source of every choice."""
        self._document = document
        self._rng = rng

    def value(self, schema: Any, *, optional: bool = True, depth: int = 0) -> Any:
        """Return one value.

        Args:
            schema: any schema, however incomplete; one that allows nothing gives null.
            optional: draw optional properties of objects too.
        """
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
            return None if schema is False else self._word()
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self._rng.choice(list(schema["enum"]))
        if "$ref" in schema:
            target = resolve_pointer(self._document, str(schema["$ref"]))
            return self.value(target, optional=optional and depth < 2, depth=depth + 1)
        for key in ("anyOf", "oneOf"):
            branches = [part for part in schema.get(key) or () if not _is_null(part)]
            if branches:
                rest = {name: part for name, part in schema.items() if name != key}
                return self.value(_merged(rest, branches[0]), optional=optional, depth=depth + 1)
        if schema.get("allOf"):
            whole: Mapping[str, Any] = {
                name: item for name, item in schema.items() if name != "allOf"
            }
            for part in schema["allOf"]:
                if isinstance(part, Mapping) and "$ref" in part:
                    part = resolve_pointer(self._document, str(part["$ref"]))
                whole = _merged(whole, part)
            return self.value(whole, optional=optional, depth=depth + 1)
        return self._typed(schema, optional=optional, depth=depth)

    def _typed(self, schema: Mapping[str, Any], *, optional: bool, depth: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, (list, tuple)):
            kind = next((name for name in kind if name != "null"), "null")
        if kind is None:
            kind = (
                "object" if "properties" in schema else "array" if "items" in schema else "string"
            )
        match kind:
            case "string":
                return self._text(schema)
            case "integer":
                return self._integer(schema)
            case "number":
                return self._number(schema)
            case "boolean":
                return self._rng.random() < 0.5
            case "array":
                return self._array(schema, depth)
            case "object":
                return self._object(schema, optional, depth)
            case _:
                return None

    def _word(self) -> str:
        return self._rng.choice(_WORDS)

    def _text(self, schema: Mapping[str, Any]) -> str:
        least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
        if schema.get("format") in _TEXT_FORMATS:
            text = _TEXT_FORMATS[schema["format"]]
            return text.format(d=self._rng.randint(1, 9), w=self._word())
        if isinstance(schema.get("pattern"), str):
            found = self._of_pattern(schema)
            if found is not None:
                return found
        text = f"{self._word()} {self._word()}"
        while len(text) < least:
            text += f" {self._word()}"
        return text if most is None else text[: int(most)].strip() or "x" * max(least, 1)

    def _of_pattern(self, schema: Mapping[str, Any]) -> str | None:
        pattern = schema["pattern"]
        given = [*(schema.get("examples") or ()), schema.get("default")]
        for text in given:
            if isinstance(text, str) and re.search(pattern, text):
                return text
        for _ in range(8):
            text = _PatternReader(pattern, self._rng).draw()
            if text is not None and re.search(pattern, text):
                return text
        return None

    def _integer(self, schema: Mapping[str, Any]) -> int:
        low, high = _bounds(schema)
        step = schema.get("multipleOf")
        if step and step == int(step):
            first = -(-low // int(step))
            return int(step) * self._rng.randint(
                int(first), max(int(first), int(high // int(step)))
            )
        return self._rng.randint(int(low), max(int(low), int(high)))

    def _number(self, schema: Mapping[str, Any]) -> float:
        low, high = _bounds(schema)
        if low == int(low) and int(low) + 1 <= high:
            return float(self._rng.randint(int(low), int(min(high, low + 50))))
        return float((low + high) / 2)

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        fixed = [self.value(part, depth=depth + 1) for part in schema.get("prefixItems") or ()]
        least = int(schema.get("minItems", 1))
        most = int(schema.get("maxItems", max(least, 2)))
        count = self._rng.randint(min(least, most), most) if depth < 3 else least
        items: list[Any] = list(fixed)
        tries = 0
        while len(items) < max(count, len(fixed)) and tries < 20:
            tries += 1
            item = self.value(schema.get("items", {}), depth=depth + 1)
            if not schema.get("uniqueItems") or item not in items:
                items.append(item)
        return items

    def _object(self, schema: Mapping[str, Any], optional: bool, depth: int) -> dict[str, Any]:
        required = frozenset(schema.get("required") or ())
        properties = schema.get("properties") or {}
        found = {}
        for name, part in sorted(properties.items()):
            if name in required or (optional and depth < 2 and part != {"not": {}}):
                found[name] = self.value(part, optional=optional, depth=depth + 1)
        for name in sorted(required - set(properties)):
            found[name] = self._word()
        return found


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _merged(left: Mapping[str, Any], right: Any) -> Mapping[str, Any]:
    if not isinstance(right, Mapping):
        return left
    merged = {**left, **right}
    for key in ("properties",):
        if key in left and key in right:
            merged[key] = {**left[key], **right[key]}
    if "required" in left and "required" in right:
        merged["required"] = [*left["required"], *right["required"]]
    return merged


def _bounds(schema: Mapping[str, Any]) -> tuple[float, float]:
    low = schema.get("minimum")
    if "exclusiveMinimum" in schema:
        low = max(schema["exclusiveMinimum"] + 1, low if low is not None else float("-inf"))
    high = schema.get("maximum")
    if "exclusiveMaximum" in schema:
        high = min(schema["exclusiveMaximum"] - 1, high if high is not None else float("inf"))
    if low is None:
        low = 1 if high is None or high >= 1 else high - 50
    if high is None:
        high = low + 50
    if low > high:
        high = low = (
            schema.get("exclusiveMinimum", low) + schema.get("exclusiveMaximum", high)
        ) / 2
    return low, high


_CLASSES = {"d": "0123456789", "w": "abcdefghij0123456789", "s": " "}


class _PatternReader:
    """Draws a text from a simple regular expression: literals, classes, groups, alternatives,
    counts.
    """

    def __init__(self, pattern: str, rng: random.Random) -> None:
        self._pattern = pattern
        self._rng = rng
        self._place = 0

    def draw(self) -> str | None:
        """Return a text, or None when the pattern holds more than this reads."""
        self._place = 0
        try:
            text = self._alternatives()
        except (IndexError, ValueError):
            return None
        return text if self._place >= len(self._pattern) else None

    def _alternatives(self) -> str:
        branches = [self._sequence()]
        while self._place < len(self._pattern) and self._pattern[self._place] == "|":
            self._place += 1
            branches.append(self._sequence())
        return self._rng.choice(branches)

    def _sequence(self) -> str:
        text = ""
        while self._place < len(self._pattern) and self._pattern[self._place] not in "|)":
            if self._pattern[self._place] in "^$":
                self._place += 1
                continue
            start = self._place
            first = self._atom()
            end = self._place
            for index in range(self._count()):
                if index == 0:
                    text += first
                    continue
                after, self._place = self._place, start
                text += self._atom()
                assert self._place == end
                self._place = after
        return text

    def _atom(self) -> str:
        char = self._pattern[self._place]
        self._place += 1
        if char == "(":
            if self._pattern.startswith("?:", self._place):
                self._place += 2
            elif self._pattern[self._place] == "?":
                raise ValueError("lookaround")
            text = self._alternatives()
            if self._pattern[self._place] != ")":
                raise ValueError("open group")
            self._place += 1
            return text
        if char == "[":
            return self._class()
        if char == "\\":
            char = self._pattern[self._place]
            self._place += 1
            if char in _CLASSES:
                return self._rng.choice(_CLASSES[char])
            if char.isalnum():
                raise ValueError("escape")
            return char
        return "a" if char == "." else char

    def _class(self) -> str:
        if self._pattern[self._place] == "^":
            raise ValueError("negated class")
        chars = ""
        while self._pattern[self._place] != "]":
            char = self._pattern[self._place]
            self._place += 1
            if char == "\\":
                char = self._pattern[self._place]
                self._place += 1
                chars += _CLASSES.get(char, char)
                continue
            if self._pattern[self._place] == "-" and self._pattern[self._place + 1] != "]":
                last = self._pattern[self._place + 1]
                self._place += 2
                chars += "".join(chr(code) for code in range(ord(char), ord(last) + 1))
                continue
            chars += char
        self._place += 1
        return self._rng.choice(chars)

    def _count(self) -> int:
        rest = self._pattern[self._place :]
        found = re.match(r"\{(\d+)(,(\d*))?\}|[*+?]", rest)
        if found is None:
            return 1
        self._place += found.end()
        if rest[self._place :][:1] == "?" and found[0] in "*+?":
            self._place += 1
        if found[1] is None:
            return {"*": 1, "+": 2, "?": 1}[found[0]]
        least = int(found[1])
        most = least if found[2] is None else int(found[3] or least + 2)
        return self._rng.randint(least, min(most, least + 6))
