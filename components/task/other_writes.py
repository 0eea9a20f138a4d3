"""Mistakes with writes: one too many, one too few, on a row that looks alike, with another tool.

Owns what a solver does in such a line; whether the line ends otherwise is seen by playing it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from typing import Any

from components.environment.engine import execute
from components.environment.state import rows_of
from components.environment.world import World
from components.records.frozen import FrozenDict, JsonObject
from components.records.task import FromDefault, GoldStep, Restraint, Task
from components.task.gates import parameter_of
from components.task.gold import Call, Gold, tried
from components.task.graph import Parameter, Role, ToolGraph, ToolShape
from components.task.lines import Move, path_of, put_at
from components.task.literals import draw_literal
from components.task.provenance import (
    ProvenanceError,
    assemble,
    at_path,
    clock_of,
    derive_arguments,
)
from components.task.wanderer import random_calls

_EXTRA = 3
"""Writes more that are tried at the end, on the needed services and on the others."""
_ALIKE = 2
_OTHER_TOOLS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """A line with a wrong write, or without a right one."""

    kind: str
    target: str
    """The step that it concerns."""
    moves: tuple[Move, ...]
    did: str
    is_in_words: bool = False
    """A text is wrong, though only words differ."""


class WriteSlips:
    """Makes the mistakes with writes of one task."""

    def __init__(self, world: World, task: Task, graph: ToolGraph, gold: Gold) -> None:
        """Args: as certified; graph: of all services of the world, distractors too."""
        self._world, self._task, self._graph, self._gold = world, task, graph, gold
        self._writes = [name for name in gold.names if self._shape(name).is_write]

    def all(self) -> Iterator[Slip]:
        """Yield every mistake, in a fixed order."""
        yield from self._too_few()
        for name in self._writes:
            yield from self._twice(name)
            yield from self._partial(name)
            yield from self._swapped(name)
            yield from self._other_rows(name)
            yield from self._other_tools(name)
            yield from self._other_services(name)
            yield from self._undone(name)
        yield from self._exchanged()
        yield from self._forbidden()
        yield from self._extra()
        yield from self._orders()

    def _shape(self, name: str) -> ToolShape:
        record = self._gold.records[name]
        return self._graph.tools[record.service, record.tool]

    def _call(self, name: str) -> Call:
        record = self._gold.records[name]
        return Call(record.service, record.tool, record.arguments)

    def _instead(self, kind: str, name: str, call: Call | None, did: str) -> Slip:
        """Return the line in which a step makes another call, or none."""
        moves: list[Move] = []
        for other in self._gold.names:
            moves += [self._call(other)] if other != name else [] if call is None else [call]
        return Slip(kind=kind, target=name, moves=tuple(moves), did=did)

    def _besides(self, kind: str, name: str, call: Call, did: str) -> Slip:
        """Return the line of gold with a call more at its end."""
        moves = (*(self._call(other) for other in self._gold.names), call)
        return Slip(kind=kind, target=name, moves=moves, did=did)

    def _too_few(self) -> Iterator[Slip]:
        """Yield gold broken off after each write but the last, and each write left out with what
        was to be taken from its answer.
        """
        for name in self._writes[:-1]:
            moves = self._gold.names[: self._gold.names.index(name) + 1]
            kind = "dropped_last" if name == self._writes[-2] else "stopped_early"
            yield Slip(kind=kind, target=name, moves=moves, did=f"stopped after {name}")
        for name in self._writes:
            rest = tuple(other for other in self._gold.names if other != name)
            yield Slip(
                kind="forgotten", target=name, moves=rest, did=f"{self._said(name)} not done"
            )

    def _twice(self, name: str) -> Iterator[Slip]:
        moves = [move for other in self._gold.names for move in [other] * (1 + (other == name))]
        did = f"{self._said(name)} done twice"
        yield Slip(kind="written_twice", target=name, moves=tuple(moves), did=did)
        yield self._besides("written_again", name, self._call(name), f"{did}, again at the end")

    def _partial(self, name: str) -> Iterator[Slip]:
        """Yield a write without one of what it was asked to set."""
        given = self._gold.records[name].arguments
        for parameter in self._shape(name).parameters:
            top = parameter.pointer[1:]
            if not parameter.required and top in given:
                rest = FrozenDict({key: item for key, item in given.items() if key != top})
                call = replace(self._call(name), arguments=rest)
                yield self._instead(
                    "partial_update", name, call, f"{self._said(name)} without {top}"
                )

    def _swapped(self, name: str) -> Iterator[Slip]:
        """Yield a write with two of its values exchanged."""
        given = self._gold.records[name].arguments
        keys = sorted(given)
        for number, one in enumerate(keys):
            for other in keys[number + 1 :]:
                if type(given[one]) is type(given[other]) and given[one] != given[other]:
                    changed = FrozenDict({**given, one: given[other], other: given[one]})
                    call = replace(self._call(name), arguments=changed)
                    did = f"{self._said(name)} with {one} and {other} exchanged"
                    yield self._instead("swapped_arguments", name, call, did)

    def _exchanged(self) -> Iterator[Slip]:
        """Yield two writes with values of one meaning exchanged between them."""
        places: dict[Any, list[tuple[str, str, Any]]] = {}
        for name in self._writes:
            for parameter, value in self._given(name):
                key = "text" if parameter.is_free_text else parameter.means
                if key is not None:
                    places.setdefault(key, []).append((name, parameter.pointer, value))
        for key, found in places.items():
            for number, (one, at, value) in enumerate(found):
                for other, there, else_ in found[number + 1 :]:
                    if one == other or value == else_:
                        continue
                    changed = {
                        one: self._put(one, at, else_),
                        other: self._put(other, there, value),
                    }
                    moves = tuple(
                        changed.get(name) or self._call(name) for name in self._gold.names
                    )
                    yield Slip(
                        kind="exchanged_values",
                        target=one,
                        moves=moves,
                        did=f"{one}{at} and {other}{there} exchanged ({value!r}, {else_!r})",
                        is_in_words=key == "text",
                    )

    def _given(self, name: str) -> Iterator[tuple[Parameter, Any]]:
        for parameter in self._shape(name).parameters:
            place = path_of(parameter.pointer)
            found, value = at_path(self._gold.records[name].arguments, place)
            if found:
                yield parameter, value

    def _put(self, name: str, pointer: str, value: Any) -> Call:
        given = self._gold.records[name].arguments
        return replace(self._call(name), arguments=put_at(given, path_of(pointer), value))

    def _other_rows(self, name: str) -> Iterator[Slip]:
        """Yield a write on the rows that look most like the right one, in its place and besides."""
        number = self._gold.names.index(name)
        for parameter, value in self._given(name):
            place = parameter.place
            if parameter.role is not Role.SELECTS or place is None:
                continue
            rows = rows_of(self._gold.states[number], place.service, place.table)
            keys = {str(row[place.field]): row for row in rows.values() if row.get(place.field)}
            own = keys.pop(str(value), None)
            if own is None:
                continue
            near = sorted(keys, key=lambda key: (-_likeness(own, keys[key]), key))[:_ALIKE]
            for kind, others in (
                ("twin_row", near),
                ("near_miss_id", get_close_matches(str(value), keys, n=1, cutoff=0.0)),
            ):
                for other in others:
                    call = self._put(name, parameter.pointer, other)
                    did = f"{self._said(name)} on {other} in the place of {value}"
                    yield self._instead(kind, name, call, did)
            for other in near:
                call = self._put(name, parameter.pointer, other)
                yield self._besides(
                    "twin_row_too", name, call, f"{self._said(name)} on {other} too"
                )

    def _other_tools(self, name: str) -> Iterator[Slip]:
        """Yield another write of the service with the same arguments, as far as it takes them."""
        record, made = self._gold.records[name], 0
        for shape in self._graph.of_service(record.service):
            takes = shape.spec.input_schema.get("properties") or {}
            needs = set(shape.spec.input_schema.get("required") or ())
            given = FrozenDict({key: v for key, v in record.arguments.items() if key in takes})
            if shape.name == record.tool or not shape.is_write or not needs <= set(given):
                continue
            call = Call(record.service, shape.name, given)
            yield self._instead("other_tool", name, call, f"{shape.name} for {self._said(name)}")
            made += 1
            if made == _OTHER_TOOLS:
                return

    def _other_services(self, name: str) -> Iterator[Slip]:
        """Yield a write of the same sort in another service, on the row there that looks like the
        right one.
        """
        record = self._gold.records[name]
        own = self._shape(name)
        for (service, _tool), shape in sorted(self._graph.tools.items()):
            is_alike = shape.blueprint.operation is own.blueprint.operation
            if service == record.service or not shape.is_write or not is_alike:
                continue
            values = self._filled(shape, record.arguments, f"{self._task.seed}:{name}")
            if values is None:
                continue
            call = Call(service, shape.name, values)
            did = f"{service}.{shape.name} for {self._said(name)}"
            if tried(self._world, self._gold.initial, call) is not None:
                yield self._instead("other_service", name, call, did)
                return

    def _filled(self, shape: ToolShape, given: Mapping[str, Any], seed: str) -> JsonObject | None:
        """Return arguments for a tool, those of one name as given; None where one is lacking."""
        rng = random.Random(seed)
        words = {str(item).lower() for item in given.values()}
        values: dict[str, Any] = {}
        for item in shape.parameters:
            if not item.required:
                continue
            key = item.pointer[1:]
            place = item.place
            if key in given:
                values[item.pointer] = given[key]
            elif item.names_row and place is not None and place.service in self._world.services:
                rows = rows_of(self._gold.initial, place.service, place.table).values()
                ranked = sorted(
                    (row for row in rows if row.get(place.field)),
                    key=lambda row: -len(words & {str(value).lower() for value in row.values()}),
                )
                if not ranked:
                    return None
                values[item.pointer] = ranked[0][place.field]
            else:
                values[item.pointer] = draw_literal(
                    self._graph, shape, item, self._world.initial.now, rng
                )
            if values[item.pointer] is None:
                return None
        return assemble(values)

    def _undone(self, name: str) -> Iterator[Slip]:
        """Yield gold, and then one call that sets back what a write has set."""
        record = self._gold.records[name]
        for change in record.changes:
            if not change.cause.startswith("effect:") or change.before is None:
                continue
            if change.after is None:
                continue
            back = {
                field: change.before[field]
                for field in change.after
                if change.before.get(field) is not None
                and change.before[field] != change.after[field]
            }
            for shape in self._graph.of_service(record.service):
                values = self._setting_back(shape, change.table, change.row_id, back)
                if values is None:
                    continue
                call = Call(record.service, shape.name, values)
                done = tried(self._world, self._gold.final, call)
                if done is not None and done[1]:
                    did = f"{self._said(name)} set back by {shape.name}"
                    yield self._besides("undone", name, call, did)
                    break

    def _setting_back(
        self, shape: ToolShape, table: str, row_id: str, back: Mapping[str, Any]
    ) -> JsonObject | None:
        if not shape.is_write:
            return None
        values: dict[str, Any] = {}
        for item in shape.parameters:
            place = item.place
            if place is None or place.table != table:
                if item.required:
                    return None
            elif item.role is Role.SELECTS:
                values[item.pointer] = row_id
            elif item.role is Role.SETS and place.field in back:
                values[item.pointer] = back[place.field]
            elif item.required:
                return None
        return assemble(values) if row_id in values.values() else None

    def _forbidden(self) -> Iterator[Slip]:
        """Yield gold with a call that the request forbids, with other values where its words leave
        some open.
        """
        for label, clause in sorted(self._task.clauses.items()):
            if not isinstance(clause, Restraint):
                continue
            shape = self._graph.tools.get((clause.service, clause.tool))
            step = GoldStep(service=clause.service, tool=clause.tool, arguments=clause.arguments)
            try:
                known = {**clock_of(self._task), **self._gold.observed}
                given = derive_arguments(step, self._task.instruction, known)
            except ProvenanceError:
                continue
            for pointer, source in sorted(clause.arguments.items()):
                parameter = None if shape is None else parameter_of(shape, pointer)
                if parameter is None or not isinstance(source, FromDefault):
                    continue
                for other in _others(parameter, source.value):
                    changed = put_at(given, path_of(pointer), other)
                    call = Call(clause.service, clause.tool, changed)
                    did = f"{clause.service}.{clause.tool} with {other!r}, which {label} forbids"
                    yield self._besides("forbidden_call", self._gold.names[-1], call, did)

    def _extra(self) -> Iterator[Slip]:
        """Yield gold with a write at the end that nobody asked for."""
        needed = set(self._task.world.services)
        for kind, is_needed in (("extra_write", True), ("extra_write_elsewhere", False)):
            tools = {
                key: shape
                for key, shape in self._graph.tools.items()
                if (key[0] in needed) == is_needed
            }
            graph = replace(self._graph, tools=tools)
            seed = f"{self._task.seed}:{kind}"
            accepted = (
                call
                for call in random_calls(self._world, graph, seed)
                if execute(
                    self._world, self._gold.final, call.service, call.tool, call.arguments
                ).changes
            )
            for call in islice(accepted, _EXTRA):
                did = f"also {call.service}.{call.tool} {dict(call.arguments)}"
                yield self._besides(kind, self._gold.names[-1], call, did)

    def _orders(self) -> Iterator[Slip]:
        """Yield gold with two neighbours in the other order: what acts on one another ends
        otherwise.
        """
        names = self._gold.names
        for number in range(len(names) - 1):
            order = (*names[:number], names[number + 1], names[number], *names[number + 2 :])
            did = f"{names[number + 1]} before {names[number]}"
            yield Slip(kind="wrong_order", target=names[number], moves=order, did=did)

    def _said(self, name: str) -> str:
        record = self._gold.records[name]
        return f"{name} {record.service}.{record.tool}"


def _others(parameter: Parameter, value: Any) -> Iterator[Any]:
    """Yield other values that a tool may take for one."""
    yield from (item for item in parameter.schema.get("enum") or () if item != value)
    if "enum" not in parameter.schema and isinstance(value, int) and not isinstance(value, bool):
        yield from (value + 1, value + 15)
    elif "enum" not in parameter.schema and isinstance(value, str) and parameter.is_free_text:
        yield "As discussed."


def _likeness(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    """Return how many fields two rows share."""
    return sum(other.get(field) == value for field, value in one.items())
