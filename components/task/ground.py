"""What all drafts on one set of services share: its graph, reads and anchors, found once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from components.environment.engine import Outcome, execute
from components.environment.state import WorldState
from components.environment.world import World, build_world
from components.records.frozen import JsonObject
from components.records.system import System
from components.records.task import Pick
from components.records.world import WorldSpec
from components.task.anchors import Anchor, find_anchors
from components.task.filling import takes_text
from components.task.graph import Place, ToolGraph, ToolShape, tool_graph
from components.task.known import Known, known_in, picked_in
from components.task.reads import ReadCall, index_by_value, possible_reads

_MAX_KEPT = 8
_REACH = 3
"""Reads from the first call of a walk to a value that its turn needs."""
_MAX_REMEMBERED = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The world of all services that walks may go through, explored. A walk's own world holds only
    those that it visits.
    """

    world: World
    graph: ToolGraph
    reads: Mapping[str, Sequence[ReadCall]]
    index: Mapping[tuple[Place, Any], Sequence[ReadCall]]
    anchors: tuple[Anchor, ...]
    takers: Mapping[Place, tuple[ToolShape, ...]]
    """What a value means -> the writes that name a row by such a value."""
    tellers: tuple[ToolShape, ...]
    """Writes that take a text, in which any value can be stated."""
    titles: Mapping[str, str]
    """Service -> its title."""
    _beginnings: dict[tuple[Place, Any], Mapping[ReadCall, int]] = field(default_factory=dict)
    ways: dict[int, Any] = field(default_factory=dict)
    """Where walks through an anchor may begin, and what leads to what its turn needs, by the
    anchor's identity; what an anchor needs depends on the ground alone.
    """
    _seen: dict[Any, tuple[Any, Outcome, tuple[Known, ...]]] = field(default_factory=dict)

    def beginnings(self, means: Place, value: Any) -> Mapping[ReadCall, int]:
        """Return the reads that a walk can begin with to find this value, and how soon they do."""
        key = (means, value)
        if key not in self._beginnings:
            found: dict[ReadCall, int] = {}
            seen: set[ReadCall] = set()
            keys = {key}
            for hop in range(_REACH):
                calls = {call for wanted in keys for call in self.index.get(wanted, ())} - seen
                seen |= calls
                found.update({call: hop for call in calls if call.can_begin})
                keys = {taken for call in calls for taken in call.takes}
            self._beginnings[key] = found
        return self._beginnings[key]

    def executed(
        self,
        state: WorldState,
        shape: ToolShape,
        arguments: JsonObject,
        step: str,
        pick: Pick | None = None,
    ) -> tuple[Outcome, tuple[Known, ...]]:
        """Execute a call; a read of a service in the same state is answered from memory."""
        if shape.is_write:
            outcome = execute(self.world, state, shape.service, shape.name, arguments)
            return outcome, self._known(shape, step, outcome, None)
        tables = state.services[shape.service]
        key = (id(tables), shape.service, shape.name, step, arguments, pick)
        found = self._seen.get(key)
        if found is None:
            outcome = execute(self.world, state, shape.service, shape.name, arguments)
            found = (tables, outcome, self._known(shape, step, outcome, pick))
            if len(self._seen) > _MAX_REMEMBERED:
                self._seen.clear()
            # The tables are kept beside the answer, so that their identity is never reused.
            self._seen[key] = found
        outcome = replace(found[1], state=state)
        return outcome, found[2]

    def _known(
        self, shape: ToolShape, step: str, outcome: Outcome, pick: Pick | None
    ) -> tuple[Known, ...]:
        if not outcome.envelope["ok"]:
            return ()
        data = outcome.envelope["data"]
        alone = tuple(known_in(self.graph, shape, step, data))
        return alone if pick is None else tuple(picked_in(self.graph, shape, step, data, pick))


_kept: list[tuple[tuple[Any, ...], WorldSpec, Ground]] = []


def ground_of(system: System, spec: WorldSpec) -> Ground:
    """Explore a world, or return what was found when the same artifacts were explored before."""
    names = sorted({*spec.services, *spec.distractors})
    parts = (
        system.environment.reactions,
        *(system.environment.blueprints[name] for name in names),
        *(system.environment.seeds[name] for name in names),
        *(system.environment.code.get(name) for name in names),
        *(system.reference.specs[name] for name in names),
    )
    for known, known_spec, ground in _kept:
        if known_spec == spec and len(known) == len(parts) and all(map(_is, known, parts)):
            return ground
    ground = _explored(system, spec)
    _kept.append((parts, spec, ground))
    del _kept[:-_MAX_KEPT]
    return ground


def _is(left: object, right: object) -> bool:
    return left is right


def _explored(system: System, spec: WorldSpec) -> Ground:
    world = build_world(system, spec)
    graph = tool_graph(system, spec.services)
    reads = {name: possible_reads(world, graph, name) for name in spec.services}
    return Ground(
        world=world,
        graph=graph,
        reads=reads,
        index=index_by_value(tuple(call for calls in reads.values() for call in calls)),
        anchors=find_anchors(world, graph, reads),
        takers=_takers(graph),
        tellers=tuple(
            shape
            for _name, shape in sorted(graph.tools.items())
            if shape.is_write and takes_text(graph, shape)
        ),
        titles={name: system.reference.specs[name].title or name for name in spec.services},
    )


def _takers(graph: ToolGraph) -> dict[Place, tuple[ToolShape, ...]]:
    found: dict[Place, list[ToolShape]] = {}
    for _name, shape in sorted(graph.tools.items()):
        means = {item.means for item in shape.parameters if item.names_row}
        for place in means if shape.is_write else ():
            if place is not None:
                found.setdefault(place, []).append(shape)
    return {place: tuple(shapes) for place, shapes in found.items()}
