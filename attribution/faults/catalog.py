"""All built-in kinds of fault."""

from __future__ import annotations

from functools import cache

from attribution.faults import environment, evaluator, harness, task
from attribution.faults.kinds import FaultKind


@cache
def all_kinds() -> tuple[FaultKind, ...]:
    """Return the built-in kinds, component by component, in the order of their names."""
    kinds = (*environment.KINDS, *task.KINDS, *harness.KINDS, *evaluator.KINDS)
    return tuple(sorted(kinds, key=lambda kind: kind.key))
