"""The base of every record: frozen, closed to unknown fields, hashed by content."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from components.records.frozen import content_hash


class Record(BaseModel):
    """Data that crosses a boundary. Never behaviour; never half filled."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


def to_json(record: Record) -> dict[str, Any]:
    """Return the record as plain JSON values."""
    return record.model_dump(mode="json", by_alias=True)


def hash_record(record: Record) -> str:
    """Return the content hash (64 hex digits) of a record."""
    return content_hash(to_json(record))
