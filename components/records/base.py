"""The base of every record: frozen, closed to unknown fields, hashed by content."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from components.records.frozen import content_hash


class Record(BaseModel):
    """Data that crosses a boundary. Never behaviour; never half filled."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


R = TypeVar("R", bound=Record)


def assembled(kind: type[R], fields: dict[str, Any]) -> R:
    """Return a record of parts that are right already, without looking at them again.

    For the engine's inner loop, where validating a change costs more than making it.

    Args:
        kind: the record's class.
        fields: every field of it, deeply frozen; the dict becomes the record's own.
    """
    record = kind.__new__(kind)
    put = object.__setattr__
    put(record, "__dict__", fields)
    put(record, "__pydantic_fields_set__", set(fields))
    put(record, "__pydantic_extra__", None)
    put(record, "__pydantic_private__", None)
    return record


def to_json(record: Record) -> dict[str, Any]:
    """Return the record as plain JSON values."""
    return record.model_dump(mode="json", by_alias=True)


def hash_record(record: Record) -> str:
    """Return the content hash (64 hex digits) of a record."""
    return content_hash(to_json(record))
