"""Walks: chains of calls through K services that turn on a reaction, found by executing.

Owns the search: first a row is read, then a write in another service makes a reaction change it, then it is read
again, and the new value is used. A walk never calls the same service twice in a row, every call after the first needs
something that only an earlier answer gave, and every read gives something that a later call needs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from components.environment.engine import execute
from components.environment.state import WorldState
from components.environment.world import World
from components.records.calls import RowChange
from components.records.frozen import JsonObject, freeze
from components.task.anchors import Anchor
from components.task.filling import Arguments, Filler, as_object, is_grounded, latest
from components.task.graph import ToolGraph, ToolShape
from components.task.known import Known, is_internal, known_in
from components.task.provenance import shows
from components.task.reads import ReadCall, index_by_value

_BUDGET = 260
"""Calls executed for one walk before it is given up."""
_REACH = 3
"""Reads between the first call and a value that the turn needs."""


class Phase(IntEnum):
    """How far a walk is."""

    START = 0
    READ = 1
    """The row was read."""
    CHANGED = 2
    """The reaction has changed it."""
    READ_AGAIN = 3
    USED = 4
    """A write has used what was read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkStep:
    """One executed call of a walk."""

    name: str
    shape: ToolShape
    arguments: Arguments
    data: Any
    changes: tuple[RowChange, ...]
    known: tuple[Known, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A finished walk."""

    anchor: Anchor
    steps: tuple[WalkStep, ...]
    first: Known
    """The value as it was read first."""
    again: Known
    """The value as it was read again."""
    answer: Mapping[str, Known]
    """Fields of the answer."""

    def step(self, name: str) -> WalkStep:
        """Return one step by its name."""
        return next(step for step in self.steps if step.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    steps: tuple[WalkStep, ...]
    state: WorldState
    phase: Phase
    first: Known | None = None
    again: Known | None = None
    focus: tuple[Known, ...] = ()
    """Values of which one has to be used: the one read again, or what was found by it."""

    @property
    def known(self) -> tuple[Known, ...]:
        return latest([fact for step in self.steps for fact in step.known])


_Move = tuple[ToolShape, Arguments, ReadCall | None, Phase]


class WalkSearch:
    """Searches for one walk through one anchor."""

    def __init__(
        self,
        world: World,
        graph: ToolGraph,
        reads: Mapping[str, Sequence[ReadCall]],
        services: Sequence[str],
        length: int,
        rng: random.Random,
    ) -> None:
        """Args: world, graph and reads as found; services: the K to visit; length: L; rng: every choice."""
        self._world, self._graph = world, graph
        self._services, self._length, self._rng = tuple(sorted(services)), length, rng
        self._reads = [call for name in self._services for call in reads[name]]
        self._filler = Filler(world, graph, rng)

    def find(self, anchor: Anchor) -> Walk | None:
        """Return a walk through the anchor, or None when the budget is spent or there is none."""
        self._anchor, self._left = anchor, _BUDGET
        self._relevant = self._relevant_reads(anchor)
        return self._extend(_Node(steps=(), state=self._world.initial, phase=Phase.START))

    def _extend(self, node: _Node) -> Walk | None:
        left = self._length - len(node.steps)
        missing = set(self._services) - {step.shape.service for step in node.steps}
        if left < max(len(missing), Phase.READ_AGAIN - node.phase):
            return None
        if left == 0:
            return self._finished(node)
        for shape, arguments, call, phase in self._moves(node):
            if self._left <= 0:
                return None
            self._left -= 1
            after = self._stepped(node, shape, arguments, call, phase)
            found = None if after is None else self._extend(after)
            if found is not None:
                return found
        return None

    def _moves(self, node: _Node) -> list[_Move]:
        """Return the calls that could come next, the most wanted first."""
        last = node.steps[-1].shape.service if node.steps else ""
        ranked: list[tuple[float, int, _Move]] = []
        for rank, move in self._all_moves(node):
            if move[0].service != last and (not node.steps or is_grounded(move[1])):
                ranked.append((rank + self._rng.random(), len(ranked), move))
        return [move for _rank, _number, move in sorted(ranked, key=lambda item: item[:2])]

    def _all_moves(self, node: _Node) -> Iterator[tuple[float, _Move]]:
        anchor, known = self._anchor, node.known
        if node.phase in (Phase.START, Phase.READ):
            for call in self._relevant:
                yield from self._read_move(node, call, known)
        if node.phase is Phase.READ:
            filled = self._filler.given(anchor.trigger, anchor.arguments, known)
            if filled is not None:
                yield 0.0, (anchor.trigger, filled, None, Phase.CHANGED)
        if node.phase is Phase.CHANGED:
            for call in anchor.again:
                filled = self._filler.given(call.shape, call.arguments, known)
                if filled is not None:
                    yield 0.0, (call.shape, filled, call, Phase.READ_AGAIN)
        if node.phase is Phase.READ_AGAIN:
            yield from self._uses(node, known)
        if node.steps and node.phase is not Phase.START:
            yield from self._extra_writes(node, known)

    def _read_move(
        self, node: _Node, call: ReadCall, known: Sequence[Known]
    ) -> Iterator[tuple[float, _Move]]:
        if not node.steps and not call.can_begin:
            return
        if any(step.shape is call.shape and _same(step, call) for step in node.steps):
            return
        filled = self._filler.given(call.shape, call.arguments, known)
        if filled is not None:
            is_first = node.phase is Phase.START and call in self._anchor.first_reads
            rank = 0.2 if is_first or call in self._near else 0.6
            yield rank, (call.shape, filled, call, Phase.READ if is_first else node.phase)

    def _uses(self, node: _Node, known: Sequence[Known]) -> Iterator[tuple[float, _Move]]:
        assert node.again is not None
        for service in self._services:
            if service == node.again.place.service:
                continue
            for shape in self._graph.of_service(service):
                if shape.is_write:
                    filled = self._filler.drawn(shape, known, must=node.focus)
                    if filled is not None:
                        is_typed = all(not item.template for item in filled)
                        yield (-1.0 if is_typed else 0.3), (shape, filled, None, Phase.USED)
        if node.focus == (node.again,):
            for call in self._reads:
                if node.again.value in call.arguments.values():
                    filled = self._filler.given(call.shape, call.arguments, known)
                    if filled is not None and any(item.source == node.again for item in filled):
                        yield -0.5, (call.shape, filled, call, Phase.READ_AGAIN)

    def _extra_writes(self, node: _Node, known: Sequence[Known]) -> Iterator[tuple[float, _Move]]:
        used = {step.shape.name for step in node.steps}
        for service in self._services:
            for shape in self._graph.of_service(service):
                if shape.is_write and shape.name not in used and shape is not self._anchor.trigger:
                    usable = [item for item in known if item not in node.focus]
                    filled = self._filler.drawn(shape, usable)
                    if filled is not None:
                        rank = 0.1 if node.phase is Phase.USED else 0.9
                        yield rank, (shape, filled, None, node.phase)

    def _stepped(
        self,
        node: _Node,
        shape: ToolShape,
        arguments: Arguments,
        call: ReadCall | None,
        phase: Phase,
    ) -> _Node | None:
        """Execute a move and return where it leads, or None when it is refused or shows nothing new."""
        outcome = execute(
            self._world, node.state, shape.service, shape.name, as_object(arguments)
        )
        if not outcome.envelope["ok"] or (call is None and not outcome.changes):
            return None
        name = f"s{len(node.steps) + 1:02d}"
        data = outcome.envelope["data"]
        step = WalkStep(
            name=name,
            shape=shape,
            arguments=arguments,
            data=data,
            changes=outcome.changes,
            known=tuple(known_in(self._graph, shape, name, data)),
        )
        first, again, focus = node.first, node.again, node.focus
        seen = next(
            (
                fact
                for fact in step.known
                if (fact.row, fact.place.field) == (self._anchor.row, self._anchor.field)
            ),
            None,
        )
        if phase is Phase.READ and node.phase is Phase.START:
            first = seen
        if phase is Phase.READ_AGAIN and node.phase is Phase.CHANGED:
            again = seen
            if seen is None or not self._counts(node, step, seen):
                return None
            focus = (seen,)
        elif phase is Phase.READ_AGAIN and call is not None:
            focus = tuple(
                fact
                for fact in step.known
                if fact.value is not None and fact.means != arguments[0].parameter.means
            )
        if phase is not Phase.START and first is None:
            return None
        return _Node(
            steps=(*node.steps, step),
            state=outcome.state,
            phase=phase,
            first=first,
            again=again,
            focus=focus,
        )

    def _counts(self, node: _Node, step: WalkStep, again: Known) -> bool:
        """Return whether the value is new, and nothing before shows it or lets it be put together."""
        assert node.first is not None
        if again.value is None or again.value == node.first.value:
            return False
        return not can_be_had(again.value, node.first.value, [item.data for item in node.steps]) and (
            not any(
                shows(item.value, again.value)
                for earlier in (*node.steps, step)
                for item in earlier.arguments
                if item.source is None and isinstance(item.value, str)
            )
        )

    def _finished(self, node: _Node) -> Walk | None:
        if node.phase < Phase.READ_AGAIN or node.first is None or node.again is None:
            return None
        answer: dict[str, Known] = {}
        if node.phase is Phase.READ_AGAIN:
            fact = next((item for item in node.focus if self._is_answerable(item)), None)
            if fact is None:
                return None
            answer[fact.place.field] = fact
        used = {item.source.step for step in node.steps for item in step.arguments if item.source}
        used |= {fact.step for fact in answer.values()}
        if node.first.step not in used and self._is_answerable(node.first):
            answer[f"{node.first.place.field}_before"] = node.first
            used.add(node.first.step)
        idle = [
            step.name
            for step in node.steps
            if not step.shape.is_write and step.name not in used and step.name != node.first.step
        ]
        if idle:
            return None
        return Walk(
            anchor=self._anchor,
            steps=node.steps,
            first=node.first,
            again=node.again,
            answer=answer,
        )

    def _is_answerable(self, fact: Known) -> bool:
        entity = self._graph.blueprints[fact.place.service].entities[fact.place.table]
        field = entity.fields[fact.place.field]
        return (
            fact.value is not None
            and isinstance(fact.value, (str, int, float))
            and not field.generated
            and not (field.free_text and fact.place.field != entity.title_field)
            and not is_internal(self._graph, fact.place)
        )

    def _relevant_reads(self, anchor: Anchor) -> tuple[ReadCall, ...]:
        """Return the reads that lead to something that the turn needs, within reach."""
        index = index_by_value(tuple(self._reads))
        wanted = _needs(anchor.trigger, anchor.arguments)
        for call in anchor.again:
            wanted += _needs(call.shape, call.arguments)
        here = set(self._services)
        found: dict[int, ReadCall] = {
            id(call): call for call in anchor.first_reads if call.shape.service in here
        }
        frontier = list(found.values())
        self._near = list(frontier)
        for reach in range(_REACH):
            layer: list[ReadCall] = []
            for key in [*wanted, *(need for call in frontier for need in _needs(call.shape, call.arguments))]:
                for call in index.get(key, ()):
                    if id(call) not in found:
                        found[id(call)] = call
                        layer.append(call)
            if reach == 0:
                self._near += layer
            frontier, wanted = layer, []
        return tuple(found.values())


def can_be_had(value: Any, first: Any, answers: Sequence[JsonObject | Any]) -> bool:
    """Return whether a value is shown in answers, or could be worked out without the reading that gives it.

    Args:
        value: the value read again.
        first: the value as it was.
        answers: data of the answers that were known before.
    """
    if isinstance(value, (int, float)) and isinstance(first, (int, float)):
        # A counter that moves by one can be counted.
        return abs(value - first) <= 1 or any(shows(answer, value) for answer in answers)
    if any(shows(answer, value) for answer in answers):
        return True
    parts = [part for part in str(value).replace(":", " ").replace("-", " ").split() if len(part) > 1]
    whole = freeze(list(answers))
    return len(parts) > 1 and all(shows(whole, part) for part in parts)


def _needs(shape: ToolShape, arguments: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    return [
        (item.means, arguments[item.pointer])
        for item in shape.parameters
        if item.pointer in arguments and item.means is not None
    ]


def _same(step: WalkStep, call: ReadCall) -> bool:
    return {item.parameter.pointer: item.value for item in step.arguments} == dict(call.arguments)
