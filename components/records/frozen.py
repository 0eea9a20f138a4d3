"""Immutable JSON values and their one canonical form.

Owns `FrozenDict` (the mapping inside every record), `freeze`, canonical bytes and content hashes.
Two values that are equal as JSON have the same bytes and the same hash on every machine, whatever
the locale or hash seed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NoReturn, TypeVar, get_args

from pydantic import AfterValidator, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dict that cannot change. `FrozenDict[str, Any]` also freezes the JSON inside it."""

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("a FrozenDict cannot change; build a new one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __deepcopy__(self, _memo: object) -> FrozenDict[K, V]:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        key_type, value_type = get_args(source) or (str, Any)
        if value_type is Any:
            return core_schema.no_info_after_validator_function(
                freeze, core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
            )
        return core_schema.no_info_after_validator_function(
            cls,
            handler.generate_schema(dict[key_type, value_type]),  # type: ignore[valid-type]
        )


JsonObject = FrozenDict[str, Any]
"""A JSON object, deeply frozen: lists are tuples, objects are `FrozenDict`s."""


def freeze(value: Any) -> Any:
    """Return `value` with every list a tuple and every mapping a `FrozenDict`, at any depth."""
    if isinstance(value, FrozenDict):
        return value
    if isinstance(value, Mapping):
        return FrozenDict({str(key): freeze(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(freeze(item) for item in value)
    return value


JsonValue = Annotated[Any, AfterValidator(freeze)]
"""Any JSON value, deeply frozen."""


def thaw(value: Any) -> Any:
    """Return a plain, changeable copy of a frozen JSON value (dicts and lists)."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(item) for item in value]
    return value


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value, those of objects by their keys' order; keys are none."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts_in(item)


def canonical_json(value: Any) -> bytes:
    """Return the one byte form of a JSON value: sorted keys, no spaces, UTF-8, no NaN."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8", "surrogatepass")


def content_hash(value: Any) -> str:
    """Return the SHA-256 (64 hex digits) of a JSON value's canonical form."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
