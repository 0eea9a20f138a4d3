"""Kinds of fault of the harness."""

from __future__ import annotations

from attribution.faults import harness_answers, harness_limits, harness_prompts
from attribution.faults.kinds import FaultKind

KINDS: tuple[FaultKind, ...] = (
    *harness_limits.KINDS,
    *harness_prompts.KINDS,
    *harness_answers.KINDS,
)
