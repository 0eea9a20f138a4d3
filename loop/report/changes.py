"""What a turn did to the world: which fields of which rows, from what to what, and by whom.

Reads the changes that the engine recorded with each call; compares no states of its own. A call
that was refused, answered with an error or only read has none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from components.records.calls import CallRecord, RowChange
from components.records.trajectory import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field of one row. The value that is not there (before a create, after a delete) is
    None."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """One row before and after a call, field by field."""

    service: str
    table: str
    row_id: str
    kind: Literal["created", "updated", "deleted"]
    by: Literal["effect", "reaction"]
    """`effect`: the tool itself; `reaction`: a rule of the world that the tool's change set off."""
    cause: str
    """Name of the effect or reaction."""
    fields: tuple[FieldChange, ...]
    """By name; of an update only the fields that differ."""

    @property
    def place(self) -> str:
        """`service.table row`, as people name the row."""
        return f"{self.service}.{self.table} {self.row_id}"


def turn_changes(turn: Turn) -> dict[str, tuple[StateChange, ...]]:
    """Return what each call of a turn changed, by call id, in the order of the calls."""
    return {item.call_id: call_changes(item.call) for item in turn.observations}


def call_changes(call: CallRecord | None) -> tuple[StateChange, ...]:
    """Return what one executed call changed, the tool's own changes and those of reactions."""
    return () if call is None else tuple(_state_change(change) for change in call.changes)


def change_line(change: StateChange) -> str:
    """Return a change as one line of text."""
    fields = ", ".join(_field_text(change, field) for field in change.fields)
    return f"{change.kind} {change.place}: {fields} ({change.by} {change.cause})"


def value_text(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _state_change(change: RowChange) -> StateChange:
    before: Mapping[str, Any] = change.before or {}
    after: Mapping[str, Any] = change.after or {}
    by, _, name = change.cause.partition(":")
    return StateChange(
        service=change.service,
        table=change.table,
        row_id=change.row_id,
        kind="created" if not before else "deleted" if not after else "updated",
        by="reaction" if by == "reaction" else "effect",
        cause=name,
        fields=tuple(
            FieldChange(name=name, before=before.get(name), after=after.get(name))
            for name in sorted({*before, *after})
            if before.get(name) != after.get(name)
        ),
    )


def _field_text(change: StateChange, field: FieldChange) -> str:
    match change.kind:
        case "created":
            return f"{field.name}={value_text(field.after)}"
        case "deleted":
            return f"{field.name}={value_text(field.before)}"
        case "updated":
            return f"{field.name}: {value_text(field.before)} -> {value_text(field.after)}"
