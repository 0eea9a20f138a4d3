"""The keywords of JSON Schema, of all drafts, and how the value of each plain one is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from components.environment.sources.schema_values import (
    read_count,
    read_flag,
    read_number,
    read_pattern,
    read_value,
)
from components.environment.sources.text import clean_line, clean_text

MAX_SCHEMA_TEXT = 4_000
"""Characters of a description inside a schema."""

MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
SCHEMAS = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
     "unevaluatedProperties", "unevaluatedItems"}
)  # fmt: skip
_LEAST = frozenset({"minLength", "minItems", "minProperties", "minContains"})
_MOST = frozenset({"maxLength", "maxItems", "maxProperties", "maxContains"})
_NUMBERS = frozenset({"minimum", "maximum", "multipleOf"})
_FLAGS = frozenset({"uniqueItems", "deprecated", "readOnly", "writeOnly"})
_LINES = frozenset({"title", "format", "contentEncoding", "contentMediaType"})
KEYWORDS = (
    MAPS | LISTS | SCHEMAS | _LEAST | _MOST | _NUMBERS | _FLAGS | _LINES
    | {"type", "enum", "const", "default", "examples", "example", "description", "pattern",
       "required", "dependentRequired", "dependencies", "exclusiveMinimum", "exclusiveMaximum",
       "additionalItems", "divisibleBy", "nullable", "$ref", "$recursiveRef", "$dynamicRef",
       "$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$vocabulary"}
)  # fmt: skip
"""Keywords that mean something here; any other is left out, as a validator would."""


Reading = tuple[str, tuple[Any] | None]
"""Name that the keyword has now, and its value in a tuple of one; None: it can mean nothing."""


def _lines(key: str, item: Any) -> Reading:
    return key, (clean_line(item),) if isinstance(item, str) else None


def _counts(key: str, item: Any) -> Reading:
    count = read_count(item, is_least=key in _LEAST)
    return key, None if count is None else (count,)


def _numbers(key: str, item: Any) -> Reading:
    name = "multipleOf" if key == "divisibleBy" else key
    if name.startswith("exclusive") and isinstance(item, bool):
        return name, (item,)
    number = read_number(item)
    return name, None if number is None or (name == "multipleOf" and number <= 0) else (number,)


def _flags(key: str, item: Any) -> Reading:
    flag = read_flag(item)
    return key, None if flag is None else (flag,)


def _values(key: str, item: Any) -> Reading:
    return key, read_value(item)


def _patterns(key: str, item: Any) -> Reading:
    pattern = read_pattern(item) if isinstance(item, str) else None
    return key, None if pattern is None else (pattern,)


def _descriptions(key: str, item: Any) -> Reading:
    return key, (clean_text(item, MAX_SCHEMA_TEXT),) if isinstance(item, str) else None


READERS: dict[str, Callable[[str, Any], Reading]] = {
    **dict.fromkeys(_LINES, _lines),
    **dict.fromkeys(_LEAST | _MOST, _counts),
    **dict.fromkeys(_NUMBERS | {"exclusiveMinimum", "exclusiveMaximum", "divisibleBy"}, _numbers),
    **dict.fromkeys(_FLAGS, _flags),
    "const": _values,
    "default": _values,
    "pattern": _patterns,
    "description": _descriptions,
}
