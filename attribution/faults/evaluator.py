"""Kinds of fault of the evaluator: what criteria want, where they look, what they leave out."""

from __future__ import annotations

from attribution.faults import evaluator_rows, evaluator_scope, evaluator_values
from attribution.faults.kinds import FaultKind

KINDS: tuple[FaultKind, ...] = (
    *evaluator_values.KINDS,
    *evaluator_rows.KINDS,
    *evaluator_scope.KINDS,
)
