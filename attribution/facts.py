"""Facts held against a system again: whether a piece of evidence still speaks against it."""

from __future__ import annotations

from attribution.interventions.promises import check_step, promised_reactions
from attribution.interventions.reading import is_read, is_shown_whole
from attribution.interventions.runs import Arm, arm_of
from attribution.interventions.steps import run_steps
from attribution.kept import kept
from attribution.records import Evidence, EvidenceKind, Party
from attribution.review import review_task
from components.errors import HarnessError, SynthesisError
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict
from components.records.system import System


def still_holds(system: System, fact: Evidence) -> bool:
    """Return whether the fact, looked for again in this system, is still there.

    A fact of a task's review is looked for in a new review, one of a rollout by replaying what it
    carries.
    """
    if fact.task_id is not None and fact.task_id not in system.tasks:
        return False
    if fact.task_id is None or fact.rollout_id is None:
        names = sorted(system.reference.certificates) if fact.task_id is None else [fact.task_id]
        return any(
            item.place == fact.place
            for name in names[:1]
            if name in system.tasks
            for item in reviewed(system, name, fact.party)
        )
    try:
        arm = arm_of(system, fact.task_id)
    except SynthesisError:
        return True
    if fact.kind is EvidenceKind.PARSER:
        return not is_read(arm, str(fact.data["text"]), int(fact.data["turn"]))
    if fact.kind is EvidenceKind.RENDERING and "envelope" in fact.data:
        return not _is_shown(system, fact)
    if "calls" in fact.data:
        return _breaks_again(arm, fact)
    if fact.kind is EvidenceKind.BUDGET and "needed" in fact.data:
        limit = getattr(system.harness.limits, str(fact.data["setting"]))
        return bool(limit < fact.data["needed"])
    return False


def _is_shown(system: System, fact: Evidence) -> bool:
    name, call_id = str(fact.data["name"]), str(fact.data["call_id"])
    try:
        return is_shown_whole(system.harness, name, call_id, fact.data["envelope"])
    except HarnessError:
        return False


def _breaks_again(arm: Arm, fact: Evidence) -> bool:
    calls = [
        CallRecord(service=service, tool=tool, arguments=arguments, envelope=FrozenDict())
        for service, tool, arguments in fact.data["calls"]
    ]
    _final, steps = run_steps(arm.world, arm.world.initial, calls)
    promised = promised_reactions(arm.world, arm.system.reference.contract)
    broken = check_step(arm.world, promised, steps[-1])
    return any(item.place == fact.place for item in broken)


def reviewed(system: System, task_id: str, until: Party = Party.HARNESS) -> tuple[Evidence, ...]:
    """Return a task's review, made once for each system."""
    if until is Party.POLICY:
        until = Party.HARNESS
    return kept(f"review:{task_id}:{until}", (system,), lambda: review_task(system, task_id, until))
