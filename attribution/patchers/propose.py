"""From a failure mode to patches, bound to the artifacts as they are."""

from __future__ import annotations

from collections.abc import Sequence

from attribution.change import applicable, bind
from attribution.evidence import split_place
from attribution.facts import reviewed
from attribution.patchers.candidates import candidate_changes
from attribution.records import Evidence, FailureMode, Party
from attribution.remedies import fitting_changes, hides
from components.errors import BoundaryError, SynthesisError, boundary
from components.records.patch import Patch
from components.records.system import System

_MAX_TASKS = 4
"""Most tasks that a candidate is tried on before it is proposed; acceptance tries it on all."""


def propose(
    system: System, mode: FailureMode, evidence: Sequence[Evidence], patches_per_mode: int = 3
) -> tuple[Patch, ...]:
    """Return candidate patches for a failure mode, the most promising first.

    Those come first after which the evidence is gone. Taking the tool or the task out comes last,
    and only where it is what is left.

    Args:
        system: the system with the defect.
        mode: what is to be repaired.
        evidence: evidence of the round; only what speaks against the place is read, and where
            nothing does, it is looked for again.
        patches_per_mode: most patches to return.
    """
    if mode.party is Party.POLICY:
        return ()
    try:
        with boundary(SynthesisError, f"propose for {mode.mode_id}"):
            return _proposed(system, mode, evidence, patches_per_mode)
    except BoundaryError:  # a mode that nothing can be written for stays open, and ends no round
        return ()


def _proposed(
    system: System, mode: FailureMode, evidence: Sequence[Evidence], patches_per_mode: int
) -> tuple[Patch, ...]:
    facts = facts_against(system, mode, evidence)
    if not facts:
        return ()
    named = {item.task_id for item in facts if item.task_id is not None}
    tasks = sorted(named & set(system.tasks)) or sorted(system.tasks)
    chosen = fitting_changes(
        system, mode.party, mode.place, facts, tasks[:_MAX_TASKS], patches_per_mode
    )
    candidates = applicable(system, candidate_changes(system, mode.party, mode.place, facts))
    last = [change for change, _after in candidates if hides(change)]
    return tuple(bind(system, change) for change in [*chosen, *last][:patches_per_mode])


def facts_against(
    system: System, mode: FailureMode, evidence: Sequence[Evidence]
) -> list[Evidence]:
    """Return what speaks against the place of a mode, each fact once, by id; where the evidence has
    nothing of it, it is looked for again."""
    facts = [item for item in evidence if item.against and item.place == mode.place]
    facts = facts or _found_again(system, mode)
    return sorted({item.evidence_id: item for item in facts}.values(), key=lambda f: f.evidence_id)


def _found_again(system: System, mode: FailureMode) -> list[Evidence]:
    """Look for the evidence in new reviews: a mode that no rollout met brings none along."""
    name = split_place(mode.place)[0].partition("/")[2]
    tasks = [name] if name in system.tasks else sorted(system.tasks)
    for task_id in tasks:
        review = reviewed(system, task_id, mode.party)
        found = [item for item in review if item.against and item.place == mode.place]
        if found:
            return found
    return []
