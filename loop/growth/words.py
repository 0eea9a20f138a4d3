"""What grew, in lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from loop.growth.records import GrowthRound


def growth_lines(record: GrowthRound) -> Iterator[str]:
    """Yield a line for each thing that grew, or was asked for in vain; none where nothing was."""
    if record.services:
        yield f"grow: services came in: {', '.join(record.services)}"
    for step in record.steps:
        added = f"{len(step.admitted)} of {step.wanted} tasks"
        yield f"grow: {added} for {step.rule.value} ({step.subject}): {step.why}"
    if record.retired:
        yield (
            f"grow: {len(record.retired)} solved task"
            f"{'' if len(record.retired) == 1 else 's'} made room"
        )
    if record.note and record.looked_at is not None:
        yield f"grow: {record.note}"
