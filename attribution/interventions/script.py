"""The user's script of a multi-turn task, read again: what is never said, or at the wrong time.

Owns the facts that speak against the script. What a user says counts as visible from then on, so a
value of gold that stands in words which are never said cannot be derived.
"""

from __future__ import annotations

from collections.abc import Iterator

from attribution.evidence import evidence, place_of
from attribution.records import Evidence, EvidenceKind, Party
from components.errors import SimulatorError
from components.records.task import Certificate, Task
from components.task.provenance import UNSAID
from components.task.user import is_said, next_move, said_by, script_problems


def broken_script(task: Task, certificate: Certificate) -> Iterator[Evidence]:
    """Yield what of a user's script does not fit its task, or keeps gold from being derived."""
    found = list(script_problems(task)) or list(_unsaid(task, certificate))
    for parts, statement in found:
        yield evidence(
            EvidenceKind.DERIVATION,
            Party.TASK,
            place_of(f"task/{task.task_id}", "user", *parts),
            statement,
            task_id=task.task_id,
        )


def _unsaid(task: Task, certificate: Certificate) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what a policy that always writes in vain hears too late, or never."""
    if task.user is None:
        return
    made: list[str] = []
    try:
        while (move := next_move(task.user, made, "")) is not None:
            made.append(move)
    except SimulatorError as error:
        yield ("moves",), str(error)
        return
    said = said_by(task, made)
    for name in sorted(certificate.gold_run):
        if name in task.gold and not is_said(task, name, said):
            yield ("moves",), f"the user never says all that gold step {name} needs"
    for name, demand in sorted(task.demands.items()):
        if demand.step == "answer" and UNSAID in said[demand.start : demand.end]:
            yield ("moves",), f"the user never says what demand {name} asks for"
