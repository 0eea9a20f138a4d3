"""Kinds of fault of the environment."""

from __future__ import annotations

from attribution.faults import (
    environment_effects,
    environment_queries,
    environment_reactions,
    environment_reads,
    environment_rows,
    environment_rules,
)
from attribution.faults.kinds import FaultKind

KINDS: tuple[FaultKind, ...] = (
    *environment_effects.KINDS,
    *environment_reads.KINDS,
    *environment_queries.KINDS,
    *environment_rules.KINDS,
    *environment_reactions.KINDS,
    *environment_rows.KINDS,
)
