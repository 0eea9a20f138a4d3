"""One tool call: its answer in the one envelope, and the changes that it made."""

from __future__ import annotations

from enum import StrEnum

from components.records.base import Record
from components.records.frozen import JsonObject


class ErrorCode(StrEnum):
    """The fixed set of codes in an error envelope."""

    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    PRECONDITION_FAILED = "precondition_failed"
    PERMISSION_DENIED = "permission_denied"
    UNKNOWN_TOOL = "unknown_tool"
    UNSUPPORTED = "unsupported"
    INTERNAL = "internal"


class RowChange(Record):
    """One row before and after a call. `before` None: created. `after` None: deleted."""

    service: str
    table: str
    row_id: str
    before: JsonObject | None
    after: JsonObject | None
    cause: str
    """`effect:<name>` for the tool's own change, `reaction:<name>` for a reaction's."""


class CallRecord(Record):
    """One executed call with everything that it did."""

    service: str
    tool: str
    arguments: JsonObject
    envelope: JsonObject
    """`{"ok": true, "data": ...}` or `{"ok": false, "error": {"code", "message", "details"}}`."""
    changes: tuple[RowChange, ...] = ()
    state_before: str = ""
    """Hash of the world's state before the call."""
    state_after: str = ""
    """Hash of the world's state after the call."""
