"""Other right solutions of a task, found by executing: another order, or other tools.

A line is an alternative only if it ends as gold does, strictly compared, and gives gold's answer:
no rubric is asked. Then the rubric has to pass it, however different its calls are.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.engine import execute
from components.environment.state import WorldState
from components.environment.world import World
from components.evaluator.created import NORM
from components.evaluator.equivalence import values_match
from components.evaluator.strict import strict_difference
from components.records.calls import RowChange
from components.records.frozen import JsonObject
from components.records.system import System
from components.records.task import Task
from components.task.gates import known_of
from components.task.gold import Call, Gold
from components.task.graph import Role, ToolGraph, ToolShape, tool_graph
from components.task.known import known_in
from components.task.lines import ANSWER, Move, play_on
from components.task.provenance import assemble, concrete, leaves, observations_of

_ORDERS = 8
"""Orders drawn of a task, besides those with two neighbours swapped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A right line of play that is not gold's, finished."""

    kind: str
    """`other_order`, `other_read` or `other_write`."""
    did: str
    final: WorldState
    answer: JsonObject | None


class Alternatives:
    """Finds the alternatives of one task."""

    def __init__(self, system: System, world: World, task: Task, gold: Gold) -> None:
        """Args: system: for the tools; world: the task's; task: as certified; gold: its run."""
        self._world, self._task, self._gold = world, task, gold
        self._graph: ToolGraph = tool_graph(system, task.world.services)

    def all(self) -> Iterator[Alternative]:
        """Yield the alternatives, in a fixed order."""
        yield from self._orders()
        for number, name in enumerate(self._gold.names):
            record = self._gold.records[name]
            is_write = self._graph.tools[record.service, record.tool].is_write
            yield from self._writes(name) if is_write else self._reads(number, name)

    def _ended(
        self, kind: str, did: str, moves: Sequence[Move], *, asks: bool
    ) -> Iterator[Alternative]:
        """Yield the line of these moves where it ends as gold does.

        Args:
            kind, did: of the alternative.
            moves: its calls.
            asks: its answer is its own, derived on the way; else it is taken to be gold's.
        """
        line = play_on(self._world, self._task, moves)
        answer = line.answer if asks else (self._gold.answer or None)
        given: Mapping[str, Any] = answer or {}
        is_same = set(given) == set(self._gold.answer) and all(
            values_match(value, given[field], NORM, f"{ANSWER}.{field}")
            for field, value in self._gold.answer.items()
        )
        if is_same and not strict_difference(self._world, self._gold.final, line.final):
            yield Alternative(kind=kind, did=did, final=line.final, answer=answer)

    def _orders(self) -> Iterator[Alternative]:
        """Yield other orders in which every value can be derived when it is needed."""
        names = self._gold.names
        orders = [
            (*names[:number], names[number + 1], names[number], *names[number + 2 :])
            for number in range(len(names) - 1)
        ]
        rng = random.Random(f"{self._task.seed}:orders")
        orders += [self._drawn_order(rng) for _ in range(_ORDERS)]
        for order in dict.fromkeys(orders):
            if order != names and self._is_derivable(order):
                yield from self._ended("other_order", " ".join(order), order, asks=True)

    def _needs(self, name: str) -> set[str]:
        step = self._task.gold[name]
        found = {
            place.step for source in step.arguments.values() for place in observations_of(source)
        }
        return found | ({step.revisit_of} if step.revisit_of is not None else set())

    def _is_derivable(self, order: Sequence[str]) -> bool:
        done: set[str] = set()
        for name in order:
            if not self._needs(name) <= done:
                return False
            done.add(name)
        return True

    def _drawn_order(self, rng: random.Random) -> tuple[str, ...]:
        order: list[str] = []
        left = list(self._gold.names)
        while left:
            ready = [name for name in left if self._needs(name) <= set(order)]
            order.append(rng.choice(ready))
            left.remove(order[-1])
        return tuple(order)

    def _reads(self, number: int, name: str) -> Iterator[Alternative]:
        """Yield gold with another read that shows all that is taken from this one."""
        record = self._gold.records[name]
        facts = {item.path: item for item in known_of(self._task, self._graph, self._gold, name)}
        wanted = []
        for user in self._users():
            for place in user:
                if place.step == name:
                    fact = facts.get(concrete(place, self._gold.observed[name]).path)
                    if fact is None:
                        return
                    wanted.append((fact.row, fact.place.field, fact.value))
        known = self._known_before(number)
        for shape in self._graph.of_service(record.service):
            if shape.is_write or shape.name == record.tool:
                continue
            for arguments in _fillings(shape, known):
                envelope = execute(
                    self._world, self._gold.states[number], shape.service, shape.name, arguments
                ).envelope
                shown = {
                    (item.row, item.place.field, str(item.value))
                    for item in (
                        known_in(self._graph, shape, name, envelope["data"], every_row=True)
                        if envelope["ok"]
                        else ()
                    )
                }
                if wanted and all((*item[:2], str(item[2])) in shown for item in wanted):
                    call = Call(shape.service, shape.name, arguments)
                    did = f"{shape.name} for {name} {record.service}.{record.tool}"
                    yield from self._ended("other_read", did, self._with(name, call), asks=False)
                    break

    def _users(self) -> Iterator[Sequence[Any]]:
        for step in self._task.gold.values():
            for source in step.arguments.values():
                yield observations_of(source)
        for source in self._task.answer.values():
            yield observations_of(source)

    def _with(self, name: str, call: Call) -> list[Move]:
        return [
            call if other == name else made
            for other, made in zip(self._gold.names, self._gold.calls(), strict=True)
        ]

    def _known_before(self, number: int) -> set[str]:
        """Return the texts that are known before a step: what was given to, or shown by, others."""
        known: set[str] = set()
        for name in self._gold.names[: number + 1]:
            record = self._gold.records[name]
            known |= {leaf for _path, leaf in leaves(record.arguments) if isinstance(leaf, str)}
        for name in self._gold.names[:number]:
            seen = leaves(self._gold.observed[name])
            known |= {leaf for _path, leaf in seen if isinstance(leaf, str) and leaf}
        return known

    def _writes(self, name: str) -> Iterator[Alternative]:
        """Yield gold with another tool of the service that does the same."""
        record = self._gold.records[name]
        own = [item for item in record.changes if item.cause.startswith("effect:")]
        for shape in self._graph.of_service(record.service):
            if not shape.is_write or shape.name == record.tool:
                continue
            for change in own:
                values = _doing(shape, change, record.arguments)
                if values is None:
                    continue
                call = Call(shape.service, shape.name, values)
                did = f"{shape.name} for {name} {record.service}.{record.tool}"
                yield from self._ended("other_write", did, self._with(name, call), asks=False)
                break


def _fillings(shape: ToolShape, known: set[str]) -> Iterator[JsonObject]:
    """Yield the arguments of one value, of those that are known, that a read takes."""
    needed = [item for item in shape.parameters if item.required]
    if len(needed) > 1:
        return
    for item in needed or [part for part in shape.parameters if part.role is Role.FILTERS]:
        if item.schema.get("type") == "string" and "enum" not in item.schema and item.names_row:
            yield from (assemble({item.pointer: value}) for value in sorted(known))
    if not needed:
        yield assemble({})


def _doing(shape: ToolShape, change: RowChange, given: Mapping[str, Any]) -> JsonObject | None:
    """Return the arguments with which a tool does what a change did; None where it cannot."""
    values: dict[str, Any] = {}
    before: Mapping[str, Any] = change.before or {}
    for item in shape.parameters:
        key = item.pointer[1:]
        place = item.place
        is_here = place is not None and (place.service, place.table) == (
            change.service,
            change.table,
        )
        if item.role is Role.SELECTS and is_here and change.before is not None:
            values[item.pointer] = change.row_id
        elif item.role is Role.SETS and is_here and place is not None and change.after is not None:
            value = change.after.get(place.field)
            if value is not None and (value != before.get(place.field) or item.required):
                values[item.pointer] = value
        elif item.required and key in given:
            values[item.pointer] = given[key]
        elif item.required:
            return None
    return assemble(values) if values else None
