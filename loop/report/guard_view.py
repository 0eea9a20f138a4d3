"""The guard as the page shows it: a row a look, and the rollbacks in words."""

from __future__ import annotations

from dataclasses import dataclass

from attribution.records import Guard, GuardVerdict
from loop.guard_records import GuardRound, Rollback, Undone

SAYS = {
    GuardVerdict.KEPT: "costs less than the margin",
    GuardVerdict.HARMFUL: "harmful",
    GuardVerdict.TOO_FEW: "too few pairs to tell",
}
"""What a verdict of the guard means."""
_HOW = {
    Undone.BY_PATCH: "was taken back by a patch that undoes it",
    Undone.WITH_ROUND: "was taken back with all patches of its round",
    Undone.STANDS: "is harmful, and stands",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRow:
    """One patch in one look."""

    guard: Guard
    passes: str
    """Which passes are compared."""
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardView:
    """All of it."""

    rows: tuple[GuardRow, ...]
    of: dict[str, list[str]]
    """Patch -> a line on each look of this round's two passes."""
    rollbacks: tuple[str, ...]
    margin: float
    num_void: int


def guard_view(record: GuardRound) -> GuardView:
    """Return what a round's guard found as the page shows it."""
    whole = () if record.whole is None else (record.whole,)
    own = [_row(item, "this round's two") for item in (*record.guards, *whole)]
    late = [_row(item, "the first of this round and the one before") for item in record.earlier]
    return GuardView(
        rows=(*own, *late),
        of={item.patch_id: [guard_line(item)] for item in record.guards},
        rollbacks=tuple(rollback_line(item) for item in record.rollbacks),
        margin=own[0].guard.margin if own else late[0].guard.margin if late else 0.0,
        num_void=len(record.void),
    )


def guard_line(item: Guard) -> str:
    """Return what pairs say of a patch as one line of text."""
    return (
        f"{item.pairs} pairs, {item.lost} lost, {item.won} won; p {item.p:.2g} of no harm, "
        f"{item.margin_p:.2g} of a fall by {item.margin:.0%} or more, alpha {item.alpha:.2g}, "
        f"power {item.power:.0%}: {SAYS[item.verdict]}"
    )


def rollback_line(item: Rollback) -> str:
    """Return what became of a harmful patch as one line of text."""
    return f"{item.patch_id} of round {item.accepted_in} {_HOW[item.how]}: {item.reason}"


def _row(item: Guard, passes: str) -> GuardRow:
    return GuardRow(guard=item, passes=passes, says=SAYS[item.verdict])
