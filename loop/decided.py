"""What became of a candidate patch: the gates' decision, and whether it waits for a person."""

from __future__ import annotations

from enum import StrEnum

from attribution.records import AcceptanceRecord
from components.records.base import Record
from components.records.patch import Patch
from loop.units import UnitLog

STAGE = "repair"


class Fate(StrEnum):
    """What a round made of a patch."""

    KEPT = "kept"
    HELD = "held"
    """It passes every gate, and waits for `accept` or `reject`; the round goes on without it."""
    ROLLED_BACK = "rolled back"


class Decided(Record):
    """One candidate patch and what became of it."""

    mode_id: str
    patch: Patch
    acceptance: AcceptanceRecord
    """What the gates say, whoever has the last word."""
    is_from_model: bool = False
    """True: a model proposed it (`attribution.patcher`); False: a rule did."""
    is_held: bool = False
    """True: it passes every gate and waits for a person."""

    @property
    def fate(self) -> Fate:
        """What the round made of it."""
        if not self.acceptance.accepted:
            return Fate.ROLLED_BACK
        return Fate.HELD if self.is_held else Fate.KEPT


def decisions_of(units: UnitLog) -> tuple[Decided, ...]:
    """Return every decision of a round, in the order in which they were made."""
    found = units.record_lists(STAGE, Decided)
    return tuple(item for key in sorted(found) for item in found[key])


def is_removal(patch: Patch) -> bool:
    """Return whether a patch only takes a tool or a task out of service."""
    return patch.artifact == "retired" or any(
        operation.op == "add" and operation.path.startswith("/quarantined/")
        for operation in patch.operations
    )
