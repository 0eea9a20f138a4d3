"""Kinds of fault of the evaluator."""

from __future__ import annotations

from attribution.faults.kinds import FaultKind

KINDS: tuple[FaultKind, ...] = ()
