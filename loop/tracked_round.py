"""What of a finished round goes to tracking: its tables, its data, and its checkpoint if any."""

from __future__ import annotations

import json
from collections.abc import Iterator

from components.records.base import to_json
from components.records.system import System
from loop.blame import Blamed
from loop.context import RoundContext
from loop.data_file import write_data
from loop.decided import Fate
from loop.fault_score import FaultScore
from loop.growth.records import GrowthRound
from loop.repair import Repaired
from loop.reporting import RoundReport
from loop.rollouts import Rolled
from loop.tracking import TrackedContent, TrackedTable, is_to_be_tracked, track_round


def track_seed(context: RoundContext, report: RoundReport, system: System) -> None:
    """Log round 0, where it is to be logged."""
    _track(context, report, {"seed": system}, ())


def track(
    context: RoundContext,
    report: RoundReport,
    system: System,
    before: Rolled,
    blamed: Blamed,
    repaired: Repaired,
    after: Rolled,
) -> None:
    """Log a round, where it is to be logged.

    Args:
        context: the round; its stages are finished.
        report: what it came to.
        system: the system that the first pass ran on.
        before: the first pass.
        blamed: verdicts of the first pass.
        repaired: the system after the accepted patches, and every decision.
        after: the second pass.
    """
    tables = (
        *_tables(system, before, after, blamed, repaired, report.score),
        _growth(report.summary.grown),
    )
    _track(context, report, {"rollout": system, "reeval": repaired.system}, tables)


def _track(
    context: RoundContext,
    report: RoundReport,
    passes: dict[str, System],
    tables: tuple[TrackedTable, ...],
) -> None:
    folder, number = context.folder, context.number
    if not is_to_be_tracked(context.config, folder.path):
        return
    training = report.summary.training
    kept = None if training is None else training.checkpoint
    content = TrackedContent(
        summary=report.summary,
        tables=tables,
        data=write_data(folder, passes),
        checkpoint=None if kept is None else folder.path / kept,
    )
    parent = folder.earlier_path(number - 1) if number else None
    line = track_round(context.config, content, folder.path, parent)
    if line is not None and number:
        context.console.line(line)


def _growth(record: GrowthRound) -> TrackedTable:
    return TrackedTable(
        name="growth",
        columns=("rule", "subject", "why", "wanted", "drafted", "admitted", "rejected"),
        rows=[
            (
                step.rule.value,
                step.subject,
                step.why,
                step.wanted,
                step.drafted,
                len(step.admitted),
                ", ".join(f"{reason} {count}" for reason, count in step.rejected.items()),
            )
            for step in record.steps
        ],
    )


def _tables(
    system: System,
    before: Rolled,
    after: Rolled,
    blamed: Blamed,
    repaired: Repaired,
    score: FaultScore,
) -> Iterator[TrackedTable]:
    def passes(rolled: Rolled, task_id: str) -> str:
        group = [item.passed for item in rolled.scored.values() if item.task_id == task_id]
        return f"{group.count(True)}/{len(group)}"

    yield TrackedTable(
        name="tasks",
        columns=("task", "instruction", "steps", "passed before", "passed after"),
        rows=[
            (key, task.instruction, len(task.gold), passes(before, key), passes(after, key))
            for key, task in system.tasks.items()
        ],
    )
    yield TrackedTable(
        name="verdicts",
        columns=("rollout", "decision", "blamed", "place"),
        rows=[
            (
                key,
                item.verdict.decision.value,
                ", ".join(blame.party.value for blame in item.verdict.blamed),
                ", ".join(blame.place for blame in item.verdict.blamed),
            )
            for key, item in blamed.attributions.items()
        ],
    )
    yield TrackedTable(
        name="patches",
        columns=("patch", "component", "artifact", "accepted", "reason", "operations"),
        rows=[
            (
                item.patch.patch_id,
                item.patch.component.value,
                item.patch.artifact,
                item.fate is Fate.KEPT,
                item.acceptance.reason,
                json.dumps([to_json(operation) for operation in item.patch.operations]),
            )
            for item in repaired.decisions
        ],
    )
    yield TrackedTable(
        name="faults",
        columns=("component", "place", "what", "found", "repaired"),
        rows=[
            (
                item.fault.component.value,
                item.fault.place,
                item.fault.reason,
                item.mode is not None,
                item.repair is not None,
            )
            for item in score.outcomes
        ],
    )
