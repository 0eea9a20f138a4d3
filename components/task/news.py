"""What a longer request tells of its own making: what reactions change, and who is speaking.

Owns the reading of a walk for both. A value that a reaction has changed, and that is used later, is
told where it changes, so that `the new approver` is nobody unknown. Whoever writes, posts or
approves something is the one who speaks, where that is one person whom the walk leaves where they
are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from components.task.filling import Argument
from components.task.graph import Place
from components.task.known import Known, RowKey
from components.task.longer import longer
from components.task.phrases import phrases, slot_name
from components.task.steps import Walk, WalkStep

Changed = tuple[RowKey, str]
"""A row and a field of it."""


def cause_of(walk: Walk, fact: Known) -> WalkStep | None:
    """Return the step whose reaction made a value before it was read."""
    for step in walk.steps:
        for change in step.changes:
            if (
                change.cause.startswith("reaction:")
                and (change.service, change.table, change.row_id)
                == (fact.row.service, fact.row.table, fact.row.row_id)
                and change.before is not None
                and change.before.get(fact.place.field) != fact.value
                and step.name < fact.step
            ):
                return step
    return None


def news_of(walk: Walk) -> Mapping[str, Sequence[Known]]:
    """Return, by step, the values that its reactions made and that are used later.

    Of two that a request would call the same, neither is among them.
    """
    found: dict[Changed, tuple[str, Known]] = {}
    for fact in used_facts(walk):
        step = cause_of(walk, fact)
        if step is not None:
            found.setdefault((fact.row, fact.place.field), (step.name, fact))
    names = [name_of(fact) for _step, fact in found.values()]
    told: dict[str, list[Known]] = {}
    for step_name, fact in found.values():
        if names.count(name_of(fact)) == 1:
            told.setdefault(step_name, []).append(fact)
    return told


def used_facts(walk: Walk) -> Sequence[Known]:
    """Return the values that arguments and the answer are taken from, in their order."""
    found = [item.source for step in walk.steps for item in step.arguments]
    return [fact for fact in (*found, *walk.answer.values()) if fact is not None]


def name_of(fact: Known) -> str:
    """Return what a value is called once its change has been told."""
    return longer().called(fact.place) or phrases().noun(fact.place)


def speaker_of(
    walk: Walk, address_of: Callable[[Place, Any], str]
) -> tuple[WalkStep, Argument] | None:
    """Return who acts in the walk, as the argument that names them first; None where that is
    nobody, more than one, somebody who is one of several rows, or somebody whom the walk has put
    there.

    Args:
        walk: as found.
        address_of: the address of the person whom a value names.
    """
    found = acting(walk)
    people = {
        (address_of(item.parameter.means, item.value) or item.value, item.source is None)
        for _step, item in found
        if item.parameter.means is not None
    }
    if len(people) != 1:
        return None
    step, item = found[0]
    group = walk.clauses.group
    fact = item.source
    if item.template or (fact is not None and cause_of(walk, fact) is not None):
        return None
    if group is not None and fact is not None and fact.step == group.part.step:
        return None
    return step, item


def acting(walk: Walk) -> Sequence[tuple[WalkStep, Argument]]:
    """Return the arguments that say in whose name something is written or decided."""
    return [
        (step, item)
        for step in walk.steps
        for item in step.arguments
        if step.shape.is_write and slot_name(item.parameter.pointer) == longer().actor(step.shape)
    ]
