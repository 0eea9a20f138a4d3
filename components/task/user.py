"""The user of a multi-turn task, simulated by rule: no model, no clock, no chance.

Owns the one reading of `UserScript`: harness, gates, oracle and attribution ask here what is said
next and what was said by then. The state is the set of moves made; nothing is kept between calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from components.errors import SimulatorError
from components.records.task import FromInstruction, Task
from components.records.user import Move, MoveKind, UserScript
from components.task.provenance import UNSAID

WORDS = re.compile(r"[a-z0-9]+")


def opening_of(task: Task) -> str:
    """Return the first message of the request: all of it where the task has no user."""
    return task.instruction if task.user is None else task.instruction[: task.user.opening]


def next_move(script: UserScript, made: Sequence[str], message: str) -> str | None:
    """Return the move that answers a message, or None when all are made.

    Args:
        script: the user's moves.
        made: names of those made so far.
        message: what the policy wrote, without its reasoning.

    Raises:
        SimulatorError: moves are left, and none of them can be made.
    """
    left = [name for name in sorted(script.moves) if name not in made]
    if not left:
        return None
    ready = [name for name in left if set(script.moves[name].after) <= set(made)]
    if not ready:
        raise SimulatorError(f"user.moves: {', '.join(left)} wait for moves that are never made")
    words = set(WORDS.findall(message.lower()))
    asked = [name for name in ready if words & set(script.moves[name].about)]
    return (asked or ready)[0]


def text_of_move(task: Task, move: Move) -> str:
    """Return the words of a move.

    Raises:
        SimulatorError: its span is not inside the instruction.
    """
    if not move.start < move.end <= len(task.instruction):
        raise SimulatorError(f"user.moves: [{move.start}, {move.end}) is not in the instruction")
    return task.instruction[move.start : move.end]


def said_by(task: Task, made: Sequence[str]) -> str:
    """Return the instruction with `UNSAID` for every character that was not said yet."""
    if task.user is None:
        return task.instruction
    spans = [(0, task.user.opening)]
    spans += [(task.user.moves[name].start, task.user.moves[name].end) for name in made]
    text = [UNSAID] * len(task.instruction)
    for start, end in spans:
        text[start:end] = task.instruction[start:end]
    return "".join(text)


def moves_heard(task: Task, messages: Sequence[str]) -> list[str]:
    """Return the moves whose words stand whole in some message, in the order of their names."""
    moves = {} if task.user is None else task.user.moves
    return [
        name
        for name, move in sorted(moves.items())
        if any(task.instruction[move.start : move.end] in message for message in messages)
    ]


def is_said(task: Task, step: str, said: str) -> bool:
    """Return whether all that the user says of a gold step, values included, was said.

    A read, for which no words ask, is made as soon as its values are known.
    """
    if task.user is None:
        return True
    spans = [(item.start, item.end) for item in task.demands.values() if item.step == step]
    sources = task.gold[step].arguments.values()
    spans += [(s.start, s.end) for s in sources if isinstance(s, FromInstruction)]
    return all(UNSAID not in said[start:end] for start, end in spans)


def script_problems(task: Task) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what of a script does not fit its task: the place in it, and the problem in words."""
    script = task.user
    if (script is None) != (task.kind == "single_turn"):
        yield (), f"a task of the kind {task.kind} {'has no' if script is None else 'has a'} user"
    if script is None:
        return
    at, made = script.opening, list[str]()
    if at > len(task.instruction):
        yield ("opening",), "the first message ends behind the instruction"
    for name, move in sorted(script.moves.items()):
        if move.start >= move.end or move.end > len(task.instruction):
            yield ("moves", name), f"move {name} is no span of the instruction"
        elif move.start < at:
            yield ("moves", name), f"move {name} begins before what is said ahead of it ends"
        elif task.instruction[at : move.start].strip():
            yield ("moves", name), f"what stands before move {name} is never said"
        unknown = [item for item in move.after if item not in made]
        if unknown:
            yield ("moves", name, "after"), f"move {name} waits for {unknown[0]}"
        if move.kind is MoveKind.CORRECT:
            yield from _slip_problem(name, move)
        at = max(at, move.end)
        made.append(name)
    if task.instruction[at:].strip():
        yield ("moves",), "the end of the instruction is never said"


def _slip_problem(name: str, move: Move) -> Iterator[tuple[tuple[str, ...], str]]:
    if move.was_start is None or move.was_end is None:
        yield ("moves", name), f"move {name} puts nothing right"
    elif not move.was_start < move.was_end <= move.start:
        yield ("moves", name), f"what move {name} puts right was not said before it"
