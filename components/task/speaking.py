"""Who speaks in a longer request, and what a reaction of its walk has made.

Whoever writes, posts or approves something is the one who speaks, where that is one person whom the
walk leaves where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from components.task.filling import Argument
from components.task.graph import Place
from components.task.known import Known
from components.task.longer import longer
from components.task.phrases import slot_name
from components.task.steps import Walk, WalkStep


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
