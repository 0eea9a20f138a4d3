"""From a failure mode to patches, bound to the artifacts as they are."""

from __future__ import annotations

from collections.abc import Sequence

from attribution.change import applicable, bind
from attribution.patchers.candidates import candidate_changes
from attribution.records import Evidence, FailureMode, Party
from attribution.remedies import hides, ranked_changes
from components.records.patch import Patch
from components.records.system import System

_MAX_TASKS = 4
"""Most tasks that a candidate is tried on before it is proposed; acceptance tries it on all."""


def propose(
    system: System, mode: FailureMode, evidence: Sequence[Evidence], patches_per_mode: int = 3
) -> tuple[Patch, ...]:
    """Return candidate patches for a failure mode, the most promising first.

    Those come first after which the evidence is gone. Taking the tool or the task out comes last, and only where
    it is what is left.

    Args:
        system: the system with the defect.
        mode: what is to be repaired.
        evidence: all evidence of the round; only what speaks against the mode's place is read.
        patches_per_mode: most patches to return.
    """
    facts = [item for item in evidence if item.against and item.place == mode.place]
    if mode.party is Party.POLICY or not facts:
        return ()
    facts = sorted({item.evidence_id: item for item in facts}.values(), key=lambda f: f.evidence_id)
    named = {item.task_id for item in facts if item.task_id is not None}
    tasks = sorted(named & set(system.tasks)) or sorted(system.tasks)
    chosen = ranked_changes(
        system, mode.party, mode.place, facts, tasks[:_MAX_TASKS], patches_per_mode
    )
    candidates = applicable(system, candidate_changes(system, mode.party, mode.place, facts))
    last = [change for change, _after in candidates if hides(change)]
    return tuple(bind(system, change) for change in [*chosen, *last][:patches_per_mode])
