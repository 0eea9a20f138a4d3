"""Lines of play in which a solver goes on after a mistake: calls that cannot be made are left out.

Owns the playing. What makes a line wrong, or right in another way, is not decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.engine import execute
from components.environment.state import WorldState
from components.environment.world import World
from components.records.frozen import FrozenDict, JsonObject
from components.records.task import FromExpression, FromObservation, Provenance, Task
from components.task.gold import Call
from components.task.provenance import (
    Path,
    ProvenanceError,
    clock_of,
    derive_arguments,
    derive_value,
)

ANSWER = "answer"
"""Name of the place where values of the answer are used, beside the names of steps."""

Move = str | Call
"""A step of the task, by name, whose values are derived on the way; or a call as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a line of play left."""

    final: WorldState
    answer: JsonObject | None
    """The fields that could be derived; None where a task asks for none."""
    arguments: FrozenDict[str, JsonObject]
    """Step -> arguments, of the steps whose call was accepted."""
    observed: FrozenDict[str, Any]
    """Step -> `data` of its answer."""


def play_on(
    world: World, task: Task, moves: Sequence[Move], state: WorldState | None = None
) -> Played:
    """Play moves one after the other; what cannot be derived, or is refused, is passed over.

    Args:
        world: where to play.
        task: gives the steps that moves name, and the answer.
        moves: the line.
        state: where it begins; None: at the start of the world.
    """
    state = world.initial if state is None else state
    observed: dict[str, Any] = {**clock_of(task)}
    done: dict[str, JsonObject] = {}
    for move in moves:
        call = move if isinstance(move, Call) else _call(task, move, observed)
        if call is None:
            continue
        outcome = execute(world, state, call.service, call.tool, call.arguments)
        if not outcome.envelope["ok"]:
            continue
        state = outcome.state
        if isinstance(move, str):
            done[move] = call.arguments
            observed[move] = outcome.envelope["data"]
    return Played(
        final=state,
        answer=_answer(task, observed) if task.answer else None,
        arguments=FrozenDict(done),
        observed=FrozenDict(observed),
    )


def _call(task: Task, name: str, observed: dict[str, Any]) -> Call | None:
    step = task.gold[name]
    try:
        arguments = derive_arguments(step, task.instruction, observed)
    except ProvenanceError:
        return None
    return Call(step.service, step.tool, arguments)


def _answer(task: Task, observed: dict[str, Any]) -> JsonObject:
    found = {}
    for field, source in sorted(task.answer.items()):
        try:
            found[field] = derive_value(source, task.instruction, observed)
        except ProvenanceError:
            continue
    return FrozenDict(found)


def with_source(task: Task, user: str, pointer: str, source: Provenance) -> Task:
    """Return the task with another source of one argument, or of one field of the answer.

    Args:
        task: the task.
        user: a step, or `ANSWER`.
        pointer: the argument's JSON Pointer; of the answer, `/` and the field.
        source: where the value comes from now.
    """
    if user == ANSWER:
        answer = FrozenDict({**task.answer, pointer[1:]: source})
        return task.model_copy(update={"answer": answer})
    step = task.gold[user]
    changed = step.model_copy(update={"arguments": FrozenDict({**step.arguments, pointer: source})})
    return task.model_copy(update={"gold": FrozenDict({**task.gold, user: changed})})


def without_argument(task: Task, user: str, pointer: str) -> Task:
    """Return the task whose step leaves one argument out."""
    step = task.gold[user]
    rest = FrozenDict({key: item for key, item in step.arguments.items() if key != pointer})
    changed = step.model_copy(update={"arguments": rest})
    return task.model_copy(update={"gold": FrozenDict({**task.gold, user: changed})})


def path_of(pointer: str) -> Path:
    """Return the place in an object that a JSON Pointer names; numbers are places in lists."""
    parts = (part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))
    return tuple(int(part) if part.isdigit() else part for part in parts)


def put_at(data: Any, path: Path, value: Any) -> Any:
    """Return JSON with another value at a path that is there."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(data, (list, tuple)):
        return tuple(
            put_at(item, rest, value) if index == head else item for index, item in enumerate(data)
        )
    return FrozenDict({**data, str(head): put_at(data[head], rest, value)})


def put_for(source: Provenance, old: FromObservation, new: Provenance) -> Provenance:
    """Return a source with one observation in it, wherever it stands, replaced."""
    if source == old:
        return new
    if isinstance(source, FromExpression):
        inputs = {name: put_for(part, old, new) for name, part in source.inputs.items()}
        return source.model_copy(update={"inputs": FrozenDict(inputs)})
    return source
