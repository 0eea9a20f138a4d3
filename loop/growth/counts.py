"""What grew, in counts, for the summary of a round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from components.records.system import System
from components.task.measures import difficulty_of
from loop.context import live_tasks
from loop.growth.mixes import tools_of
from loop.growth.records import GrowthRound, Rule
from loop.growth.shapes import shape_of
from loop.summary import GrowthCounts


def growth_counts(system: System, record: GrowthRound) -> GrowthCounts:
    """Count what grew, and measure the live tasks.

    Args:
        system: that the first pass of the round ran on.
        record: what grew.
    """
    added: Counter[Rule] = Counter()
    for step in record.steps:
        added[step.rule] += len(step.admitted)
    tools, tasks = tools_of(system), [system.tasks[name] for name in live_tasks(system)]
    shapes = [shape_of(task) for task in tasks]
    return GrowthCounts(
        complexity=added[Rule.COMPLEXITY],
        breadth=added[Rule.BREADTH],
        diversity=added[Rule.DIVERSITY],
        made_room=len(record.retired),
        services=len(record.services),
        k=_mean([shape.k for shape in shapes]),
        walk_length=_mean([shape.walk_length for shape in shapes]),
        distractors=_mean([shape.distractors for shape in shapes]),
        difficulty=_mean([difficulty_of(task, tools) for task in tasks]),
    )


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), 4) if values else 0.0
