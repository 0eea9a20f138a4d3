"""What a request says beyond its steps, held against the run that its certificate records.

Owns the comparison of clauses: a forbidden call that comes out otherwise, a condition that is not
as it was, a write for every row that no longer names the rows that the words mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attribution.evidence import evidence, place_of
from attribution.records import Evidence, EvidenceKind, Party
from components.records.frozen import thaw
from components.records.task import Certificate, Condition, Every, Restraint, Ruled, Task
from components.task.clause_gates import every_problem, holds, restrained
from components.task.provenance import ProvenanceError, clock_of, derive_arguments


def observed_by(task: Task, certificate: Certificate) -> dict[str, Any]:
    """Return the certified answers' `data`, by step, and the clock for a task that needs it."""
    answers = {name: call.envelope.get("data") for name, call in certificate.gold_run.items()}
    return {**clock_of(task), **answers}


def _ruled_problem(
    task: Task, certificate: Certificate, observed: dict[str, Any], name: str, clause: Ruled
) -> str:
    """Return why what is asked is not what was certified, or its rule no longer decides it."""
    found = derive_arguments(clause.asked, task.instruction, observed)
    call = certificate.gold_run.get(clause.place)
    wanted = certificate.forbidden.get(name) or (None if call is None else call.arguments)
    if wanted is None or thaw(found) != thaw(wanted):
        return f"it asks for a call with {thaw(found)}; certified was {thaw(wanted)}"
    if clause.asker != certificate.asker:
        return "it is asked by somebody else than certified"
    return "" if clause.allows is (name not in certificate.forbidden) else "its rule is turned"


def broken_clauses(task: Task, certificate: Certificate) -> Iterator[Evidence]:
    """Yield what of a task's clauses does not fit its certified run."""
    observed = observed_by(task, certificate)
    for name in sorted({*task.clauses, *certificate.forbidden}):
        problem = _problem(task, certificate, observed, name)
        if problem:
            place = place_of(f"task/{task.task_id}", "clauses", name)
            statement = f"clause {name}: {problem}"
            yield evidence(
                EvidenceKind.DERIVATION, Party.TASK, place, statement, task_id=task.task_id
            )


def _problem(task: Task, certificate: Certificate, observed: dict[str, Any], name: str) -> str:
    clause = task.clauses.get(name)
    if clause is None:
        return "it forbade a call, and is gone"
    if not 0 <= clause.start < clause.end <= len(task.instruction):
        return "it is no span of the instruction"
    try:
        match clause:
            case Restraint():
                wanted = certificate.forbidden.get(name)
                found = restrained(task, clause, observed)
                if wanted is None or thaw(found) != thaw(wanted):
                    return f"it forbids a call with {thaw(found)}; certified was {thaw(wanted)}"
            case Ruled():
                return _ruled_problem(task, certificate, observed, name, clause)
            case Condition():
                if holds(task, clause, observed) is not clause.holds:
                    return f"it is {'not ' if clause.holds else ''}so in the certified answers"
            case Every():
                return every_problem(task, clause, observed)
    except ProvenanceError as error:
        return f"it cannot be derived: {error}"
    return ""
