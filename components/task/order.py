"""The gate of order: a request is done sentence by sentence, and must mean the same done so.

Gold may read early what a later write needs. A reader who takes the sentences in turn reads it when
the write's turn comes, after the writes that stand before it. If that finds another row or another
value, the request says something else than gold does, and whoever follows it to the letter would be
failed for it. Words that say which moment is meant (an answer's `..._before`) are exempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.engine import execute
from components.environment.state import WorldState
from components.environment.world import World
from components.records.task import FromRule, Task
from components.task.gates import steps_of
from components.task.gold import Gold, referent_problem
from components.task.provenance import (
    ProvenanceError,
    derive_answer,
    derive_arguments,
    observations_of,
)
from components.task.reasons import Reason, Rejection

_BEFORE = "_before"
"""Ending of the answer's fields that ask for a value as it was."""


def check_order(world: World, task: Task, gold: Gold) -> Rejection | None:
    """Check that each write, and the answer, comes out the same when its reads are made late."""
    begins = {step: steps_of(item)[0] for item in task.clauses.values() for step in steps_of(item)}
    for place, name in enumerate(gold.names):
        if place == 0 or not gold.records[name].changes:
            continue
        # Writes for the rows of one list are one sentence, for which the list is read once.
        turn = gold.states[gold.names.index(begins.get(name, name))]
        try:
            observed = _read_late(world, task, gold, _sources(task, name), turn)
            late = derive_arguments(task.gold[name], task.instruction, observed)
        except (_Otherwise, ProvenanceError) as problem:
            return _no(f"{name}: {problem}")
        if late != gold.records[name].arguments:
            return _no(f"{name}: {dict(late)} instead of {dict(gold.records[name].arguments)}")
    return _answer_problem(world, task, gold)


def _answer_problem(world: World, task: Task, gold: Gold) -> Rejection | None:
    asked = [
        field
        for field, source in task.answer.items()
        if not is_before(field) and not isinstance(source, FromRule)
    ]
    steps = {place.step for field in asked for place in observations_of(task.answer[field])}
    try:
        observed = _read_late(world, task, gold, steps, gold.final)
        late = derive_answer(task, observed)
    except (_Otherwise, ProvenanceError) as problem:
        return _no(f"answer: {problem}")
    for field in asked:
        if late[field] != gold.answer[field]:
            return _no(f"answer: {field} {late[field]!r} instead of {gold.answer[field]!r}")
    return None


def is_before(field: str) -> bool:
    """Return whether a field of the answer asks for a value as it was at the start."""
    return field.endswith(_BEFORE)


class _Otherwise(Exception):
    """A read that is refused, or finds other rows, when it is made late."""


def _read_late(
    world: World, task: Task, gold: Gold, steps: set[str], state: WorldState
) -> Mapping[str, Any]:
    """Return what is observed when the reads behind `steps` are made again on `state`."""
    needed, open_steps = set[str](), set(steps)
    while open_steps:
        name = open_steps.pop()
        if name not in needed and not gold.records[name].changes:
            needed.add(name)
            open_steps |= _sources(task, name)
    observed = dict(gold.observed)
    for name in sorted(needed):
        step = task.gold[name]
        arguments = derive_arguments(step, task.instruction, observed)
        envelope = execute(world, state, step.service, step.tool, arguments).envelope
        if not envelope["ok"]:
            raise _Otherwise(f"{name} read late: {envelope['error']['message']}")
        problem = referent_problem(task, name, envelope["data"])
        if problem:
            raise _Otherwise(f"{name} read late: {problem}")
        observed[name] = envelope["data"]
    return observed


def _sources(task: Task, name: str) -> set[str]:
    return {
        place.step
        for source in task.gold[name].arguments.values()
        for place in observations_of(source)
    }


def _no(detail: str) -> Rejection:
    return Rejection(reason=Reason.OUT_OF_ORDER, detail=detail)
