"""Candidate repairs of a place, whichever component owns it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attribution.change import Change
from attribution.patchers.environment import environment_changes
from attribution.patchers.evaluator import evaluator_changes
from attribution.patchers.harness import harness_changes
from attribution.patchers.task import task_changes
from attribution.records import Evidence, Party
from components.records.system import System


def candidate_changes(
    system: System, party: Party, place: str, evidence: Sequence[Evidence]
) -> Iterator[Change]:
    """Yield candidate repairs of one place, smallest first; none for the policy.

    Args:
        system: the system with the defect.
        party: who owns the place.
        place: where the defect is.
        evidence: what speaks against that place.
    """
    match party:
        case Party.ENVIRONMENT:
            yield from environment_changes(system, place, evidence)
        case Party.TASK:
            yield from task_changes(system, place, evidence)
        case Party.HARNESS:
            yield from harness_changes(system, place, evidence)
        case Party.EVALUATOR:
            yield from evaluator_changes(system, place)
        case Party.POLICY:
            return
