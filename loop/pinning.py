"""What a round adds to the regression set, and what no longer binds after it.

An entry is retired by a record that names its evidence; it is never edited or removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attribution.records import Regression
from attribution.regressions import one_a_task, pinned_later
from components.records.system import System
from loop.blame import Blamed
from loop.context import RoundContext, live_tasks
from loop.decided import Fate
from loop.guard_records import GuardRound, Retirement, Undone, live_entries
from loop.repair import Repaired
from loop.rollouts import Rolled


@dataclass(frozen=True, slots=True)
class Passed:
    """The first pass and its verdicts."""

    before: Rolled
    blamed: Blamed


def entries_of(system: System, passed: Passed, repaired: Repaired) -> list[Regression]:
    """Return the entries of the kept patches: made with them, or, where another defect stood in the
    way then, with all patches of the round.
    """
    modes = {mode.mode_id: mode for mode in passed.blamed.modes}
    found: list[Regression] = []
    for item in repaired.decisions:
        if item.fate is not Fate.KEPT:
            continue
        made = item.acceptance.regressions
        there = {entry.task_id for entry in made}
        names = modes[item.mode_id].rollouts if item.mode_id in modes else ()
        later = [
            pinned_later(
                system,
                item.patch.patch_id,
                passed.before.trajectories[name],
                passes=not passed.before.scored[name].passed,
            )
            for name in names
            if passed.before.trajectories[name].task_id not in there
        ]
        found += [*made, *one_a_task(entry for entry in later if entry is not None)]
    return found


def with_regressions(
    context: RoundContext, system: System, pinned: Sequence[Regression], record: GuardRound
) -> GuardRound:
    """Return the record with what the round pinned, and what no longer binds."""
    entries = {item.entry_id: item for item in live_entries(context.folder, context.number)}
    entries |= {item.entry_id: item for item in pinned}
    gone = {it.patch_id for it in record.rollbacks if it.how is not Undone.STANDS}
    live, retirements = {*live_tasks(system)}, []
    for key, entry in entries.items():
        if entry.patch_id in gone:
            reason, evidence = "its patch was taken back", entry.patch_id
        elif entry.task_id not in live:
            reason = "its task was retired"
            evidence = system.retired.get(entry.task_id, "the task is gone")
        else:
            continue
        retirements.append(Retirement(entry_id=key, reason=reason, evidence=evidence))
    return record.model_copy(
        update={
            "pinned": tuple(pinned),
            "retirements": tuple(retirements),
            "live": len(entries) - len(retirements),
        }
    )
