"""Kinds of fault of the task: its words, its gold solution, its answer, its world."""

from __future__ import annotations

from attribution.faults import (
    task_answer,
    task_demands,
    task_gold,
    task_rules,
    task_values,
    task_world,
)
from attribution.faults.kinds import FaultKind

KINDS: tuple[FaultKind, ...] = (
    *task_values.KINDS,
    *task_demands.KINDS,
    *task_gold.KINDS,
    *task_answer.KINDS,
    *task_world.KINDS,
    *task_rules.KINDS,
)
