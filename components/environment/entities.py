"""Entity models, the frozen Pydantic class of each table, and ids for new rows."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

import orjson
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    InstanceOf,
    PydanticUserError,
    StrictBool,
    StrictStr,
    create_model,
)

from components.environment.state import MAX_ROW_BYTES
from components.errors import SynthesisError
from components.records.blueprint import EntityBlueprint, FieldType
from components.records.frozen import FrozenDict

_INT64 = 2**63
_Integer = Annotated[int, Field(strict=True, ge=-_INT64, lt=_INT64)]
_Number = _Integer | Annotated[float, Field(strict=True, allow_inf_nan=False)]
_TYPES: dict[FieldType, Any] = {
    FieldType.STRING: StrictStr,
    FieldType.INTEGER: _Integer,
    FieldType.NUMBER: _Number,
    FieldType.BOOLEAN: StrictBool,
    FieldType.TIMESTAMP: Annotated[
        str, Field(strict=True, pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")
    ],
    # Values are settled before they come here: what is in an array or object is frozen JSON.
    FieldType.ARRAY: InstanceOf[tuple[Any, ...]],
    FieldType.OBJECT: InstanceOf[FrozenDict[str, Any]],
    FieldType.JSON: Any,
}


def entity_model(service: str, table: str, entity: EntityBlueprint) -> type[BaseModel]:
    """Return the frozen model that every row of the table must pass.

    Raises:
        SynthesisError: a field's name cannot be used (it begins with an underscore, say).
    """
    shape = [
        [name, field.type, field.enum, field.nullable]
        for name, field in sorted(entity.fields.items())
    ]
    return _row_model(f"{service}.{table}", orjson.dumps(shape))


@lru_cache(maxsize=2048)
def _row_model(title: str, shape: bytes) -> type[BaseModel]:
    """Return the model of rows with these fields; making one takes a millisecond or more.

    Args:
        title: service and table.
        shape: name, type, enum and nullability of each field, as JSON: 1 and true are two.
    """
    fields: dict[str, Any] = {
        name: (_field_type(FieldType(kind), tuple(enum or ()), is_nullable), ...)
        for name, kind, enum, is_nullable in orjson.loads(shape)
    }
    config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())
    try:
        with warnings.catch_warnings():
            # A field may be called `copy` or `json`: rows are only read through their values.
            warnings.simplefilter("ignore", UserWarning)
            return create_model(title, __config__=config, **fields)
    except (NameError, PydanticUserError) as error:
        raise SynthesisError(f"{title}: a field's name cannot be used: {error}") from error


def _field_type(kind: FieldType, enum: tuple[Any, ...], is_nullable: bool) -> Any:
    value: Any = Literal[enum] if enum else _TYPES[kind]
    return value | None if is_nullable else value


def new_id(table: str, prefix: str, values: Mapping[str, Any], taken: Container[str]) -> str:
    """Return a new row's id: a short hash of its content and of its occurrence.

    The same whatever the order of calls, and not guessable from other ids. Without a prefix it
    consists of digits.

    Raises:
        ValueError: the row is larger than any row may be.
    """
    occurrence = 0
    while True:
        body = orjson.dumps((table, values, occurrence), option=orjson.OPT_SORT_KEYS)
        if len(body) > MAX_ROW_BYTES:
            raise ValueError(f"a new row of {table} would have {len(body)} bytes")
        # Eight digits: with fewer, two contents collide in a large table, and order decides.
        digest = hashlib.blake2b(body, digest_size=4)
        row_id = f"{prefix}_{digest.hexdigest()}"
        if not prefix:
            row_id = str(int.from_bytes(digest.digest(), "big"))
        if row_id not in taken:
            return row_id
        occurrence += 1
