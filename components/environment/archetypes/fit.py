"""Values made to fit a JSON Schema, as far as they can without losing what they mean.

A value that does not fit is first bent (its type, its bounds, its length), then drawn again from
the schema alone.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from components.environment.seeds.sample_values import SchemaSampler
from components.records.frozen import FrozenDict, canonical_json

_DRAWS = 8
_LOCAL = ("$defs", "definitions")


def fitted(
    value: Any,
    schema: Mapping[str, Any],
    rng: random.Random,
    document: Mapping[str, Any] = FrozenDict(),
) -> Any:
    """Return a value that fits, the given one where it does.

    Args:
        schema: of the field.
        document: the whole schema that its references point into.

    Returns:
        The value as given where nothing that fits was found (a schema that allows nothing, say).
    """
    whole = {**schema, **{key: document[key] for key in _LOCAL if key in document}}
    validator = _validator(canonical_json(whole))
    if validator is None or validator.is_valid(value):
        return value
    for bent in _bent(value, schema):
        if validator.is_valid(bent):
            return bent
    sampler = SchemaSampler(document or schema, rng)
    for _ in range(_DRAWS):
        drawn = sampler.value(schema)
        if validator.is_valid(drawn):
            return drawn
    given = [schema.get("default"), *(schema.get("examples") or ())]
    return next((item for item in given if item is not None and validator.is_valid(item)), value)


@lru_cache(maxsize=4096)
def _validator(schema: bytes) -> jsonschema_rs.Validator | None:
    """Return the compiled schema; None where it does not compile: then nothing can be said."""
    try:
        return jsonschema_rs.validator_for(json.loads(schema), validate_formats=True)
    except (ValueError, RecursionError, jsonschema_rs.ReferencingError):
        return None


def _bent(value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, (list, tuple)) else (kinds,):
        cast = _as_type(value, kind)
        if cast is None:
            continue
        yield cast
        if isinstance(cast, str):
            yield from _bent_text(cast, schema)
        elif isinstance(cast, (int, float)) and not isinstance(cast, bool):
            yield from _bent_number(cast, schema)
        elif isinstance(cast, list) and isinstance(schema.get("maxItems"), int):
            yield cast[: schema["maxItems"]]


def _as_type(value: Any, kind: Any) -> Any:
    if kind == "string" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if kind == "string" and isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if kind == "array" and not isinstance(value, list):
        return [value]
    if kind == "integer" and isinstance(value, float) and math.isfinite(value):
        return round(value)
    if kind in ("integer", "number") and isinstance(value, str):
        digits = "".join(char for char in value if char.isdigit())[:6]
        return int(digits) if digits else None
    return value


def _bent_text(text: str, schema: Mapping[str, Any]) -> Iterator[str]:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if isinstance(most, int) and len(text) > most:
        yield text[:most].rstrip()
        yield text[:most]
    if isinstance(least, int) and 0 < len(text) < least:
        yield (f"{text} " * (least // len(text) + 1))[: max(least, 1)].rstrip().ljust(least, ".")
    yield from (text.lower(), text.upper(), text.replace(" ", "-").lower())


def _bent_number(number: float, schema: Mapping[str, Any]) -> Iterator[float]:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low < high:
        share = math.fmod(abs(number) * 0.6180339887, 1.0)
        inside = low + share * (high - low)
        yield round(inside)
        yield round(inside, 2)
        yield inside
    elif isinstance(low, (int, float)):
        yield low + abs(number)
        yield low + math.ceil(abs(number)) + 1
    elif isinstance(high, (int, float)):
        yield high - abs(number)
        yield high - math.ceil(abs(number)) - 1
    step = schema.get("multipleOf")
    if isinstance(step, (int, float)) and step > 0:
        yield step * round(number / step)
