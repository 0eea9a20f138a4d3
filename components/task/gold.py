"""Playing gold, its arguments derived step by step, and other lines of play beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.engine import call_recorded, execute
from components.environment.state import WorldState
from components.environment.world import World
from components.records.calls import CallRecord, RowChange
from components.records.frozen import FrozenDict, JsonObject
from components.records.task import Referent, Task
from components.task.provenance import (
    ProvenanceError,
    at_path,
    clock_of,
    derive_answer,
    derive_arguments,
)
from components.task.reasons import Reason, Rejection


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a line of play."""

    service: str
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """Gold as it ran."""

    names: tuple[str, ...]
    """Steps in order."""
    records: FrozenDict[str, CallRecord]
    states: tuple[WorldState, ...]
    """State before each step, and after the last."""
    observed: FrozenDict[str, Any]
    """`data` of every answer; the clock, where the task needs it."""
    answer: JsonObject

    @property
    def initial(self) -> WorldState:
        """State at the start."""
        return self.states[0]

    @property
    def final(self) -> WorldState:
        """State at the end."""
        return self.states[-1]

    def calls(self, start: int = 0) -> list[Call]:
        """Return the calls from step number `start` on."""
        return [
            Call(record.service, record.tool, record.arguments)
            for record in (self.records[name] for name in self.names[start:])
        ]


def run_gold(world: World, task: Task) -> Gold | Rejection:
    """Play gold, or say at which step it cannot be played or a referent is not one row."""
    observed: dict[str, Any] = {**clock_of(task)}
    records: dict[str, CallRecord] = {}
    states = [world.initial]
    for name in sorted(task.gold):
        step = task.gold[name]
        try:
            arguments = derive_arguments(step, task.instruction, observed)
        except ProvenanceError as missing:
            return Rejection(reason=Reason.UNDERIVABLE, detail=f"{name}{missing}")
        state, record = call_recorded(world, states[-1], step.service, step.tool, arguments)
        if not record.envelope["ok"]:
            error = record.envelope["error"]
            detail = f"{name} {step.service}.{step.tool}: {error['message']}"
            return Rejection(reason=Reason.GOLD_FAILS, detail=detail)
        states.append(state)
        records[name] = record
        observed[name] = record.envelope["data"]
        problem = referent_problem(task, name, observed[name])
        if problem:
            return Rejection(reason=Reason.AMBIGUOUS_REFERENT, detail=problem)
    try:
        answer = derive_answer(task, observed)
    except ProvenanceError as error:
        return Rejection(reason=Reason.UNDERIVABLE, detail=f"answer{error}")
    return Gold(
        names=tuple(sorted(task.gold)),
        records=FrozenDict(records),
        states=tuple(states),
        observed=FrozenDict(observed),
        answer=answer,
    )


def referent_problem(task: Task, name: str, data: Any) -> str:
    """Return which referent of a step's query is not exactly one row; empty when all are."""
    for label, referent in sorted(task.referents.items()):
        if referent.step != name:
            continue
        count = rows_named(referent, data)
        if count != 1:
            words = task.instruction[referent.start : referent.end]
            return f"{label} {words!r}: {count} rows"
    return ""


def rows_named(referent: Referent, data: Any) -> int:
    """Return how many rows of an answer a referent stands for; of a pick, none or one."""
    found, value = at_path(data, referent.rows_path)
    if not found:
        return 0
    if referent.pick is not None:
        return int(referent.pick.index_in(value) is not None)
    return len(value) if isinstance(value, (list, tuple)) else int(isinstance(value, Mapping))


def play(world: World, state: WorldState, calls: Sequence[Call]) -> WorldState:
    """Execute calls one after the other and return the last state; refused calls change nothing."""
    for call in calls:
        state = execute(world, state, call.service, call.tool, call.arguments).state
    return state


def tried(
    world: World, state: WorldState, call: Call
) -> tuple[WorldState, tuple[RowChange, ...]] | None:
    """Return the state after a call and what it changed, or None when it is refused."""
    outcome = execute(world, state, call.service, call.tool, call.arguments)
    return (outcome.state, outcome.changes) if outcome.envelope["ok"] else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of play whose values were derived on the way."""

    final: WorldState
    answer: JsonObject | None
    """None when it could not be derived."""
    arguments: FrozenDict[str, JsonObject]
    """Step -> arguments of the calls that were accepted."""


def derived_line(
    world: World, task: Task, order: Sequence[str], seen_instead: Mapping[str, Any] | None = None
) -> Line:
    """Play the steps of gold in some order, each value derived from what this line observed.

    A step whose values cannot be derived yet, or that is refused, ends the line without an answer.

    Args:
        world: where to play.
        task: its gold.
        order: names of the steps.
        seen_instead: step -> data that is taken to be its answer, whatever it really is.
    """
    state, observed = world.initial, dict[str, Any](clock_of(task))
    done: dict[str, JsonObject] = {}
    for name in order:
        step = task.gold[name]
        try:
            arguments = derive_arguments(step, task.instruction, observed)
        except ProvenanceError:
            return Line(final=state, answer=None, arguments=FrozenDict(done))
        outcome = execute(world, state, step.service, step.tool, arguments)
        if not outcome.envelope["ok"]:
            return Line(final=state, answer=None, arguments=FrozenDict(done))
        state = outcome.state
        done[name] = arguments
        observed[name] = (seen_instead or {}).get(name, outcome.envelope["data"])
    try:
        answer = derive_answer(task, observed)
    except ProvenanceError:
        return Line(final=state, answer=None, arguments=FrozenDict(done))
    return Line(final=state, answer=answer, arguments=FrozenDict(done))
