"""The gate of a conversation, and the lines of play of a policy that does not listen to its user.

Owns when a value of gold is known: what the user says later is not there before. A value that is
put right or given late must not be shown earlier, and every message must ask for something.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from components.environment.state import WorldState
from components.environment.world import World
from components.errors import SimulatorError
from components.records.frozen import JsonObject
from components.records.task import FromInstruction, Task
from components.records.user import Move, MoveKind
from components.task.gold import Call, Gold, play, tried
from components.task.order import is_before
from components.task.provenance import (
    UNSAID,
    ProvenanceError,
    derive_arguments,
    derive_value,
    shows,
)
from components.task.reasons import Reason, Rejection
from components.task.user import is_said, next_move, said_by, script_problems

_ANSWER = "answer"


def check_user(task: Task, gold: Gold) -> Rejection | None:
    """Check that the user's messages fit gold; a task without a user has nothing to check."""
    for place, problem in script_problems(task):
        return _no(f"{'/'.join(('user', *place))}: {problem}")
    if task.user is None:
        return None
    if not task.user.moves:
        return _no("the first message says all")
    late = [d for d in task.demands.values() if d.step == _ANSWER and d.start >= task.user.opening]
    if late and any(is_before(field) for field in task.answer):
        return _no("the answer wants a value as it was, and is asked for after that")
    spans = [*task.demands.values(), *task.clauses.values()]
    for name, move in sorted(task.user.moves.items()):
        if not any(span.start < move.end and move.start < span.end for span in spans):
            return _no(f"{name} asks for nothing")
        before = task.instruction[: move.start]
        for step, pointer in late_values(task, move):
            source: Any = task.gold[step].arguments[pointer]
            value = derive_value(source, task.instruction, gold.observed)
            words = task.instruction[source.start : source.end]
            if shows(before, words) or shows(before, value):
                return _no(f"{name}: what it says of {step}{pointer} was said before")
    return _unsaid_problem(task, gold)


def late_values(task: Task, move: Move) -> Iterator[tuple[str, str]]:
    """Yield (step, pointer) of each value that a move gives for a step asked for before it."""
    for name, step in sorted(task.gold.items()):
        if not any(d.step == name and d.end <= move.start for d in task.demands.values()):
            continue
        for pointer, source in sorted(step.arguments.items()):
            if isinstance(source, FromInstruction) and move.start <= source.start < move.end:
                yield name, pointer


def _unsaid_problem(task: Task, gold: Gold) -> Rejection | None:
    """Play gold in the conversation: each step as soon as all is said that it needs."""
    assert task.user is not None
    made: list[str] = []
    for name in gold.names:
        while not is_said(task, name, said_by(task, made)):
            try:
                move = next_move(task.user, made, "")
            except SimulatorError as error:
                return _no(str(error))
            if move is None:
                return _no(f"the user never says all that {name} needs")
            made.append(move)
        try:
            found = derive_arguments(task.gold[name], said_by(task, made), gold.observed)
        except ProvenanceError as error:
            return _no(f"{name}{error}")
        if found != gold.records[name].arguments:
            return _no(f"{name} comes out as {dict(found)}")
    return None


def user_lines(
    world: World, task: Task, gold: Gold
) -> Iterator[tuple[str, str, WorldState, JsonObject | None]]:
    """Yield lines of play that do not listen to the user: kind, target, final state, answer."""
    moves = [] if task.user is None else sorted(task.user.moves.items())
    for number, (name, move) in enumerate(moves):
        said = said_by(task, [earlier for earlier, _move in moves[:number]])
        done = [step for step in gold.names if is_said(task, step, said)]
        asked = [item for item in task.demands.values() if item.step == _ANSWER]
        answer = gold.answer
        is_told = all(UNSAID not in said[item.start : item.end] for item in asked)
        if is_told and len(done) == len(gold.names):
            continue  # only what the user gives up is left
        calls = [call for step, call in zip(gold.names, gold.calls(), strict=True) if step in done]
        final = play(world, gold.initial, calls)
        yield "part_only", f"before {name}", final, answer if is_told else None
        if move.kind is MoveKind.CORRECT:
            yield from _uncorrected(world, task, gold, name, move)


def _uncorrected(
    world: World, task: Task, gold: Gold, name: str, move: Move
) -> Iterator[tuple[str, str, WorldState, JsonObject | None]]:
    """Yield gold with the value that the user had given by mistake."""
    for step, pointer in late_values(task, move):
        source: Any = task.gold[step].arguments[pointer]
        wrong = source.model_copy(update={"start": move.was_start, "end": move.was_end})
        arguments = task.gold[step].arguments
        changed = task.gold[step].model_copy(
            update={"arguments": type(arguments)({**arguments, pointer: wrong})}
        )
        number = gold.names.index(step)
        record = gold.records[step]
        given = derive_arguments(changed, task.instruction, gold.observed)
        done = tried(world, gold.states[number], Call(record.service, record.tool, given))
        state = gold.states[number] if done is None else done[0]
        final = play(world, state, gold.calls(number + 1))
        value = derive_value(wrong, task.instruction, gold.observed)
        yield "uncorrected", f"{name} {step}{pointer} = {value}", final, gold.answer


def _no(detail: str) -> Rejection:
    return Rejection(reason=Reason.USER, detail=detail)
