"""What the round before shows of the live tasks: which of them the policy has solved, and which
runs they pin. Reads the ledger; decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from attribution.records import Attribution
from components.records.system import System
from components.records.trajectory import ScoredTrajectory
from loop.blame import STAGE as ATTRIBUTE
from loop.context import RoundContext, live_tasks
from loop.guard_records import live_entries
from loop.units import UnitLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The last pass of the round before, by task."""

    number: int
    solved: frozenset[str]
    """Live tasks in which every rollout passed, and rightly so."""
    played: frozenset[str]
    """Live tasks with at least one rollout that was scored."""
    pinned: frozenset[str]
    """Tasks that an entry of the regression set is of."""


def before_of(context: RoundContext, system: System) -> Before | None:
    """Return what the round before shows; None where none was played before this one.

    The pass on its repaired system counts. A success counts as none where a verdict holds the same
    rollout of its first pass for a false one. Where another policy is configured now, nothing is
    known of what it has solved.

    Args:
        context: the open round.
        system: its live tasks are looked at.
    """
    number = context.number - 1
    if number < 1:
        return None
    folder = context.folder
    changes = folder.manifest.config_changes
    is_other = any(change.key.partition(".")[0] == "policy" for change in changes)
    outcomes: dict[str, list[bool | None]] = {}
    if not is_other:
        with UnitLog(folder.earlier_path(number) / "units.sqlite", read_only=True) as units:
            groups = units.record_lists("reeval.score", ScoredTrajectory).values()
            verdicts = units.records(ATTRIBUTE, Attribution)
        wrongly = {key for key, item in verdicts.items() if item.verdict.is_false_pass}
        for item in (item for group in groups for item in group):
            passed = False if item.passed and item.rollout_id in wrongly else item.passed
            outcomes.setdefault(item.task_id, []).append(passed)
    live = set(live_tasks(system))
    return Before(
        number=number,
        solved=frozenset(key for key, group in outcomes.items() if key in live and all(group)),
        played=frozenset(
            key
            for key, group in outcomes.items()
            if key in live and any(passed is not None for passed in group)
        ),
        pinned=frozenset(entry.task_id for entry in live_entries(folder, context.number)),
    )
