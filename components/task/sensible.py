"""Sense of one more write in a walk, as far as it can be seen while the walk is made.

Owns what a purpose does not say: who acts is one person, nobody is given what they have anyway,
nobody who is sent away is named again, and nothing is found by a chain of others.
"""

from __future__ import annotations

from collections.abc import Sequence

from components.environment.state import WorldState
from components.task.filling import Arguments
from components.task.graph import ToolGraph, ToolShape
from components.task.known import Known, RowKey, address_of, names_of_row
from components.task.longer import longer
from components.task.phrases import phrases, slot_name
from components.task.purposes import purposes
from components.task.steps import WalkStep

MOST_HOPS = 2
"""Links that lead from what the request names to anything that it uses."""


def gives_anew(steps: Sequence[WalkStep], write: WalkStep) -> bool:
    """Return whether a write gives something to somebody whom its row names already: an invitation
    to an event, for its organizer.
    """
    actor = longer().actor(write.shape)
    named = [item for item in write.arguments if item.parameter.names_row]
    given = {
        (item.parameter.means, item.value)
        for item in named
        if slot_name(item.parameter.pointer) != actor
    }
    rows = {
        RowKey(item.parameter.means.service, item.parameter.means.table, str(item.value))
        for item in named
        if item.parameter.means is not None
    }
    return any(
        fact.row in rows and fact.place != fact.means and (fact.means, fact.value) in given
        for step in steps
        for fact in step.known
    )


def names_the_absent(
    graph: ToolGraph, state: WorldState, steps: Sequence[WalkStep], step: WalkStep
) -> bool:
    """Return whether somebody who is sent away by one write is named by another."""
    writes = [item for item in (*steps, step) if item.shape.is_write]
    for one in writes:
        pointer = purposes().sends_away(one.shape)
        for item in one.arguments:
            if item.parameter.pointer != pointer or item.parameter.means is None:
                continue
            names = names_of_row(graph, state, item.parameter.means, item.value)
            others = [other for other in writes if other is not one]
            if any(arg.value in names for other in others for arg in other.arguments):
                return True
    return False


def is_far(steps: Sequence[WalkStep], step: WalkStep) -> bool:
    """Return whether a call uses something that a chain of others leads to."""
    hops: dict[str, int] = {}
    for one in (*steps, step):
        found = [_hops_of(hops, item.source) for item in one.arguments if item.source is not None]
        # Whoever is looked up by their own number is as near as the number.
        is_found_by = not one.shape.is_write and any(
            fact.place != fact.means
            and any(
                item.source is not None
                and item.source.means == fact.means
                and item.value == fact.value
                for item in one.arguments
            )
            for fact in one.known
        )
        hops[one.name] = max(found, default=0) + is_found_by
        if one is step and hops[one.name] > MOST_HOPS:
            return True
    return False


def _hops_of(hops: dict[str, int], fact: Known) -> int:
    return hops.get(fact.step, 0) + (fact.place != fact.means)


def acts_as_another(
    graph: ToolGraph,
    state: WorldState,
    steps: Sequence[WalkStep],
    shape: ToolShape,
    arguments: Arguments,
) -> bool:
    """Return whether a write is made in the name of somebody else than those before, or of somebody
    who is named by address here and found out there.
    """
    people = {
        (
            address_of(graph, state, item.parameter.means, item.value) or str(item.value),
            item.source is None,
        )
        for one, given in (*((step.shape, step.arguments) for step in steps), (shape, arguments))
        for item in given
        if slot_name(item.parameter.pointer) == longer().actor(one)
        and item.parameter.means is not None
    }
    return len(people) > 1


def is_clumsy(shape: ToolShape, arguments: Arguments) -> bool:
    """Return whether a text states a value where there are no words for that."""
    return any(
        item.template
        and phrases().slot(shape, item.parameter.pointer, is_fact=True, is_text=True)
        == phrases().slot(shape, "", is_fact=True, is_text=True)
        for item in arguments
    )
