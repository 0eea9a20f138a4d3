"""What the gates would refuse of a walk, seen while the walk is made, so that no draft is lost.

Owns no rule: gates decide. A walk that is left here because of them could not become a task.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from components.task.graph import ToolGraph
from components.task.known import Known
from components.task.steps import WalkStep


def is_told(graph: ToolGraph, steps: Sequence[WalkStep], step: WalkStep) -> bool:
    """Return whether a value that a step uses can be had of another answer too, which the gate of
    provenance refuses.

    Args:
        graph: says what values mean.
        steps: those before.
        step: the step.
    """
    return any(
        item.source is not None
        and item.source.step != earlier.name
        and earlier.tells(graph, item.source)
        for item in step.arguments
        for earlier in steps
    )


def is_outdated(steps: Sequence[WalkStep], facts: Iterable[Known]) -> bool:
    """Return whether a value, or one by which it was found, is another one by now: whoever reads it
    when its sentence is due finds something else, which the gate of order refuses.

    Args:
        steps: all that was done so far.
        facts: values that are used now.
    """
    names = [step.name for step in steps]
    left, seen = list(facts), set[tuple[str, object]]()
    while left:
        fact = left.pop()
        if (fact.step, fact.path) in seen:
            continue
        seen.add((fact.step, fact.path))
        place = names.index(fact.step)
        if steps[place].shape.is_write:
            continue  # what a write has answered is not asked again
        if _is_changed(steps[place + 1 :], fact):
            return True
        left += [item.source for item in steps[place].arguments if item.source is not None]
    return False


def _is_changed(steps: Sequence[WalkStep], fact: Known) -> bool:
    """Return whether steps have left another value where one was read."""
    found = [
        change
        for step in steps
        for change in step.changes
        if change.service == fact.row.service
        and change.row_id == fact.row.row_id
        and change.table == fact.row.table
    ]
    if not found:
        return False
    after = found[-1].after
    return after is None or after.get(fact.place.field) != fact.value
