"""What a round's guard found and did, as it is recorded: appended round by round, never edited.

Owns the records, and reads those of earlier rounds. What is live in the regression set is what
rounds have pinned, less what later records retire.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from attribution.records import Guard, Regression
from components.records.base import Record
from components.records.patch import Patch
from loop.ledger import RoundFolder
from loop.reviews import Judgement, read_reviews

STAGE = "guard"


class Undone(StrEnum):
    """How a harmful patch was taken back."""

    BY_PATCH = "by_patch"
    """By a patch that undoes it alone; the same change is not accepted again."""
    WITH_ROUND = "with_round"
    """With all others of its round: together they cost passes. Each may be proposed again."""
    STANDS = "stands"
    """Not: a later patch changed the same place."""


class Rollback(Record):
    """A patch that the gates let through and the guard found harmful."""

    patch_id: str
    accepted_in: int = Field(ge=1)
    """Round that kept it, or that began with it after a review."""
    artifact: str
    change: str
    """What the patch changes, whatever its base (`change_key`)."""
    how: Undone
    reason: str
    undo: Patch | None = None
    """For `by_patch`: what was appended."""


class Retirement(Record):
    """An entry of the regression set that no longer binds, with the evidence."""

    entry_id: str
    reason: str
    evidence: str
    """The rolled back patch, or why the task was retired."""


class GuardRound(Record):
    """What the guard of one round came to."""

    schema_version: int = Field(default=1, ge=1, le=1)
    guards: tuple[Guard, ...] = ()
    """Patches of this round: first pass against second, same seeds."""
    whole: Guard | None = None
    """Of all of them together; None where none was kept."""
    earlier: tuple[Guard, ...] = ()
    """Patches that came between the first pass of the round before and this one's, by these two;
    empty where another policy played."""
    rollbacks: tuple[Rollback, ...] = ()
    void: tuple[str, ...] = ()
    """Rollouts of the first pass that count in no pair: they passed, and should not have."""
    left_out: tuple[str, ...] = ()
    """Tasks of harmful patches: nothing is learned from their rollouts."""
    pinned: tuple[Regression, ...] = ()
    """Entries that this round's patches brought to the regression set: examples that came out right
    with the patch, or with all of the round."""
    retirements: tuple[Retirement, ...] = ()
    live: int = 0
    """Entries that bind from here on."""


def guard_of(folder: RoundFolder, number: int) -> GuardRound | None:
    """Return what the guard of an earlier, finished round came to; None where it had none."""
    result = folder.earlier_result(number, STAGE)
    return None if result is None else GuardRound.model_validate(result["record"])


def rolled_back(folder: RoundFolder, number: int) -> tuple[Rollback, ...]:
    """Return the rollbacks of the rounds before `number`, in order."""
    records = (guard_of(folder, earlier) for earlier in range(1, number))
    return tuple(item for record in records if record is not None for item in record.rollbacks)


def taken_back_changes(folder: RoundFolder, number: int) -> dict[str, str]:
    """Return the changes that are not to be accepted again, with the reason, by `change_key`."""
    return {
        item.change: f"the guard took it back: {item.reason}"
        for item in rolled_back(folder, number)
        if item.how is Undone.BY_PATCH
    }


def taken_back(rollbacks: tuple[Rollback, ...], accepted_in: int) -> set[str]:
    """Return the patches of a round that the system goes on without."""
    return {
        item.patch_id
        for item in rollbacks
        if item.accepted_in == accepted_in and item.how is not Undone.STANDS
    }


def live_entries(folder: RoundFolder, number: int) -> tuple[Regression, ...]:
    """Return the entries of the regression set that bind when round `number` begins to repair.

    Args:
        folder: any round of the run.
        number: the round; those before it are finished.
    """
    retired: set[str] = set()
    found: dict[str, Regression] = {}
    for earlier in range(1, number):
        record = guard_of(folder, earlier)
        if record is not None:
            retired |= {item.entry_id for item in record.retirements}
            found |= {entry.entry_id: entry for entry in record.pinned}
    for review in read_reviews(folder.path.parent):
        if review.round < number and review.judgement is Judgement.ACCEPTED:
            entries = review.decided.acceptance.regressions
            found |= {entry.entry_id: entry for entry in entries}
    return tuple(entry for key, entry in found.items() if key not in retired)
