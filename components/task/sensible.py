"""Sense of one more write in a walk, as far as it can be seen while the walk is made.

Owns what a purpose does not say: who acts is one person, nobody is given what they have anyway,
nobody who is sent away is named again, and nothing is found by a chain of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.environment.state import WorldState
from components.task.anchors import Anchor
from components.task.filling import Argument, Arguments
from components.task.graph import Place, ToolGraph, ToolShape, is_natural
from components.task.ground import Ground
from components.task.known import RowKey, address_of, entity_of, names_of_row
from components.task.longer import longer, tool_name
from components.task.phrases import phrases, slot_name
from components.task.purposes import purposes
from components.task.steps import Node, WalkStep, written_by

MOST_HOPS = 2
"""Links that lead from what the request names to anything that it uses, at most."""


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


def hops_to(hops: Mapping[str, int], arguments: Arguments) -> int:
    """Return how many links lead from what the request names to what a call uses.

    Args:
        hops: the same for each earlier step, by name.
        arguments: of the call.
    """
    return max(
        (
            hops[item.source.step] + (item.source.place != item.source.means)
            for item in arguments
            if item.source is not None
        ),
        default=0,
    )


def hops_of(hops: Mapping[str, int], step: WalkStep) -> int:
    """Return how many links lead to what a step shows: one more where its rows are those that name
    what it was asked for.
    """
    taken = {(item.source.means, item.value) for item in step.arguments if item.source is not None}
    is_reverse = not step.shape.is_write and any(
        fact.place != fact.means and (fact.means, fact.value) in taken for fact in step.known
    )
    return hops_to(hops, step.arguments) + is_reverse


def actor_of(shape: ToolShape, arguments: Arguments) -> Argument | None:
    """Return the argument that says in whose name a write is made, or None."""
    slot = longer().actor(shape)
    return next((item for item in arguments if slot and item.parameter.pointer == f"/{slot}"), None)


def is_put_there(steps: Sequence[WalkStep], item: Argument) -> bool:
    """Return whether a reaction of the walk has put somebody where an argument finds them."""
    fact = item.source
    return fact is not None and any(
        change.cause.startswith("reaction:")
        and change.before is not None
        and (change.service, change.table, change.row_id)
        == (fact.row.service, fact.row.table, fact.row.row_id)
        and change.before.get(fact.place.field) != fact.value
        for step in steps
        for change in step.changes
    )


def is_clumsy(shape: ToolShape, arguments: Arguments) -> bool:
    """Return whether a text states a value where that cannot be said in a few words; what a
    compiled service takes is always said so.
    """
    return purposes().knows(shape) and any(
        item.template
        and not phrases()
        .slot(shape, item.parameter.pointer, is_fact=True, is_text=True)
        .startswith("giving")
        for item in arguments
    )


class Sense:
    """What one search takes for sensible; without a purpose, everything."""

    def __init__(self, ground: Ground, purpose: str) -> None:
        """Args: ground: where it searches; purpose: what all writes must serve, or empty."""
        self._graph, self._initial, self._purpose = ground.graph, ground.world.initial, purpose
        self._addresses: dict[tuple[Place, Any], str] = {}

    def others(self, steps: Sequence[WalkStep], anchor: Anchor) -> frozenset[str]:
        """Return the tools of the writes that a walk makes so far, and of its turn."""
        writes = (tool_name(step.shape) for step in steps if step.shape.is_write)
        return frozenset([*writes, tool_name(anchor.trigger)])

    def makes_sense(self, shape: ToolShape, others: frozenset[str]) -> bool:
        """Return whether a write serves the purpose of the others, and undoes none of them."""
        return not self._purpose or (
            purposes().serves(shape, self._purpose)
            and tool_name(shape) not in others
            and not purposes().is_apart(shape, others)
        )

    def is_senseless(self, steps: Sequence[WalkStep], step: WalkStep) -> bool:
        """Return whether nobody would ask for a write after those before, whatever it is for."""
        return bool(self._purpose) and bool(
            gives_anew((*steps, step), step)
            # What has just come about is not undone by the next sentence.
            or written_by(*steps, cause="reaction:") & written_by(step)
            or names_the_absent(self._graph, self._initial, steps, step)
        )

    def is_fit(self, node: Node, shape: ToolShape, filled: Arguments) -> bool:
        """Return whether a write is filled so that one person acts and every text reads."""
        if not self._purpose:
            return True
        if is_clumsy(shape, filled) or any(
            item.template and item.source not in node.focus and purposes().knows(shape)
            for item in filled
        ):
            return False
        if purposes().knows(shape) and any(
            # What a request could state is taken from elsewhere only where it is what has changed.
            item.source is not None
            and item.source not in node.focus
            and not item.template
            and not self._names_row(item.parameter.means)
            for item in filled
        ):
            return False
        if any(
            item.source is not None
            and item.source not in node.focus
            and self._is_of_person(item.parameter.means)
            and not purposes().may_concern(shape, item.source.place)
            for item in filled
        ):
            return False
        actor = actor_of(shape, filled)
        if actor is None:
            return True
        if hops_to(node.hops, (actor,)) > MOST_HOPS or is_put_there(node.steps, actor):
            return False
        earlier = (actor_of(step.shape, step.arguments) for step in node.steps)
        return all(other is None or self._person(other) == self._person(actor) for other in earlier)

    def _names_row(self, means: Place | None) -> bool:
        """Return whether what a value means is a row, by its key or by what it is called."""
        if means is None:
            return False
        key = entity_of(self._graph, means).key
        return means.field in (key, "email") or is_natural(self._graph.blueprints, means)

    def _is_of_person(self, means: Place | None) -> bool:
        return means is not None and (
            phrases().table_noun(means.service, means.table) in phrases().stock("people")
        )

    def _person(self, item: Argument) -> tuple[str, bool]:
        """Return who is named, and whether the request states it."""
        means = item.parameter.means
        assert means is not None
        key = (means, item.value)
        if key not in self._addresses:
            self._addresses[key] = address_of(self._graph, self._initial, *key)
        return self._addresses[key] or str(item.value), item.source is None
