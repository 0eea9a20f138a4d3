"""Which gold arguments a rubric constrains, how, and why the others are free.

Read off the blueprint: an argument reaches the fields whose expressions name it, directly or
through a lookup, and it reaches a row when it selects the row. Owns no opinion on what should be
constrained. Effects that an argument has through a reaction alone are not followed: such an
argument is called free although a change of it may fail; the probes of a certificate show that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from components.environment.world import World
from components.evaluator.compile import names_of_rows, surviving_changes
from components.evaluator.created import Place
from components.evaluator.facts import holds_fact, text_of
from components.evaluator.gold_facts import value_at
from components.evaluator.reach import reach_of
from components.records.calls import CallRecord, RowChange
from components.records.rubric import Equivalence, RowFields, Rubric
from components.records.task import Task


class Constraint(StrEnum):
    """How a rubric constrains an argument."""

    VALUE = "value"
    """Another value, outside the equivalence class, fails."""
    FACTS = "facts"
    """The text is free but for the facts in it."""
    NONE = "none"
    """Any value that the tool accepts passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentConstraint:
    """One argument of gold."""

    step: str
    pointer: str
    constraint: Constraint
    facts: tuple[str, ...] = ()
    """The facts that it must hold, when it is constrained by facts."""
    reason: str = ""
    """Why it is free, when it is."""


def argument_constraints(
    task: Task, gold_run: Sequence[CallRecord], world: World, rubric: Rubric
) -> tuple[ArgumentConstraint, ...]:
    """Return how each gold argument is constrained, by step and pointer.

    A changed value of a `VALUE` argument must fail, so must a `FACTS` argument without one of its
    facts; variants of a `NONE` argument must pass. A step that only reads has `NONE` throughout.

    Args:
        task: the task.
        gold_run: the executed calls of gold, in step order.
        world: the world that gold ran in.
        rubric: as `compile_rubric` made it, or a patched one: rows are found by their criterion's
        name.
    """
    reader = _Reader(gold_run, world, rubric)
    return tuple(
        reader.constraint(step, call, pointer)
        for step, call in zip(sorted(task.gold), gold_run, strict=True)
        for pointer in sorted(task.gold[step].arguments)
    )


def unconstrained_arguments(
    task: Task, gold_run: Sequence[CallRecord], world: World, rubric: Rubric
) -> tuple[str, ...]:
    """Return what a certificate lists as not constrained: `<step><pointer>: <reason>`."""
    return tuple(
        f"{item.step}{item.pointer}: {item.reason}"
        for item in argument_constraints(task, gold_run, world, rubric)
        if item.constraint is Constraint.NONE
    )


class _Reader:
    def __init__(self, gold_run: Sequence[CallRecord], world: World, rubric: Rubric) -> None:
        self._world, self._rubric = world, rubric
        self._names = names_of_rows(gold_run, world)
        self._final = {
            Place(change.service, change.table, change.row_id): change
            for change in surviving_changes(gold_run)
        }

    def constraint(self, step: str, call: CallRecord, pointer: str) -> ArgumentConstraint:
        if not call.changes:
            return _free(step, pointer, "the call changes nothing")
        tool = self._world.services[call.service].blueprint.tools[call.tool]
        reached = reach_of(tool, pointer.split("/")[1])
        reason, facts = "it reaches no row that is compared", list[str]()
        text = text_of(value_at(call.arguments, pointer))
        for change in call.changes:
            label, _, name = change.cause.partition(":")
            reach = reached.get(name) if label == "effect" else None
            if reach is None or not (reach.selects or reach.fields):
                continue
            end = self._final.get(Place(change.service, change.table, change.row_id))
            if end is None:
                reason = "its effect does not survive"
                continue
            if reach.selects or self._is_compared(change, end, reach.fields):
                return ArgumentConstraint(step=step, pointer=pointer, constraint=Constraint.VALUE)
            facts += [
                fact
                for fact in self._facts(end, reach.fields)
                if holds_fact(text, fact, Equivalence())
            ]
            reason = self._reason(change, end, reach.fields)
        if facts:
            return ArgumentConstraint(
                step=step,
                pointer=pointer,
                constraint=Constraint.FACTS,
                facts=tuple(dict.fromkeys(facts)),
            )
        return _free(step, pointer, reason)

    def _criterion(self, change: RowChange) -> RowFields | None:
        name = self._names[Place(change.service, change.table, change.row_id)]
        found = self._rubric.criteria.get(name)
        return found if isinstance(found, RowFields) else None

    def _is_compared(self, change: RowChange, end: RowChange, fields: frozenset[str]) -> bool:
        criterion = self._criterion(end)
        if criterion is None or change.after is None or end.after is None:
            return False
        compared = {*criterion.fields, *(criterion.where if criterion.new_only else ())}
        return any(change.after[field] == end.after[field] for field in fields & compared)

    def _facts(self, end: RowChange, fields: frozenset[str]) -> list[str]:
        criterion = self._criterion(end)
        if criterion is None:
            return []
        return [fact for field in sorted(fields) for fact in criterion.facts.get(field, ())]

    def _reason(self, change: RowChange, end: RowChange, fields: frozenset[str]) -> str:
        if end.after is None or change.after is None:
            return "its effect does not survive"
        entity = self._world.services[end.service].blueprint.entities[end.table]
        if all(entity.fields[field].free_text for field in fields):
            return "free text without a fact"
        if all(change.after[field] != end.after[field] for field in fields):
            return "it is overwritten later"
        return "no criterion compares what it sets"


def _free(step: str, pointer: str, reason: str) -> ArgumentConstraint:
    return ArgumentConstraint(step=step, pointer=pointer, constraint=Constraint.NONE, reason=reason)
