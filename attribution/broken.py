"""Who is to blame where a boundary broke: its owner, or the defect without which it would not have.

The policy's endpoint is nobody's fault in the system, so nobody is blamed for it.
"""

from __future__ import annotations

from attribution.evidence import evidence, place_of
from attribution.interventions.runs import arm_of, replay, texts_of
from attribution.records import Attribution, Blame, Decision, EvidenceKind, Party, Verdict
from attribution.remedies import Suspect, repair_for_task, repaired_by
from components.errors import SelvageError
from components.records.system import System
from components.records.trajectory import Trajectory

_SURE = 0.95
_BOUNDARY_PARTY = {
    "environment": (Party.ENVIRONMENT, "reactions"),
    "tool": (Party.ENVIRONMENT, "reactions"),
    "harness": (Party.HARNESS, "harness"),
    "user": (Party.TASK, "task"),
    "synthesis": (Party.TASK, "task"),
}


def broken_boundary(system: System, trajectory: Trajectory) -> Attribution:
    """Return the verdict on a rollout that ended as a failure."""
    failure = trajectory.failure
    assert failure is not None
    known = _BOUNDARY_PARTY.get(failure.boundary)
    party, artifact = known or (Party.POLICY, "provider")
    place = place_of(artifact) if artifact != "task" else place_of(f"task/{trajectory.task_id}")
    suspects: tuple[Suspect, ...] = ()
    if known is not None and trajectory.task_id in system.reference.certificates:
        try:
            suspects = repair_for_task(system, trajectory.task_id).suspects
        except SelvageError:
            suspects = ()
        menders = [item for item in suspects if _mends_boundary(system, trajectory, item)]
        for suspect in menders or [item for item in suspects if item.party is party]:
            party, place = suspect.party, suspect.place
            break
    fact = evidence(
        EvidenceKind.BOUNDARY,
        party,
        place,
        f"the {failure.boundary} boundary broke: {failure.message}",
        against=known is not None,
        task_id=trajectory.task_id,
        rollout_id=trajectory.rollout_id,
        boundary=failure.boundary,
    )
    facts = (*(item for suspect in suspects for item in suspect.evidence), fact)
    blame = Blame(party=party, place=place, confidence=_SURE)
    verdict = Verdict(
        rollout_id=trajectory.rollout_id,
        task_id=trajectory.task_id,
        decision=Decision.NOT_JUDGED if known is None else Decision.BLAMED,
        blamed=() if known is None else (blame,),
        evidence_ids=tuple(item.evidence_id for item in facts),
    )
    return Attribution(verdict=verdict, evidence=facts)


def _mends_boundary(system: System, trajectory: Trajectory, suspect: Suspect) -> bool:
    """Whether the same texts break nothing once this one defect is repaired, and do before."""

    def breaks(tried: System) -> bool:
        try:
            run = replay(arm_of(tried, trajectory.task_id), texts_of(trajectory), trajectory.seed)
        except SelvageError:
            return True
        return run.trajectory.failure is not None

    if suspect.change is None:
        return False
    return breaks(system) and not breaks(repaired_by(system, suspect.change))
