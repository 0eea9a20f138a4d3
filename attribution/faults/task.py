"""Kinds of fault of the task."""

from __future__ import annotations

from attribution.faults.kinds import FaultKind

KINDS: tuple[FaultKind, ...] = ()
