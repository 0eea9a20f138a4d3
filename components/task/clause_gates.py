"""The gate of what a request says beyond its steps, and the lines of play that break it.

Owns the one reading of clauses against a run of gold: what a forbidden call comes out as, whether a
condition holds, which rows a write is made for. Attribution reads them here too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.environment.state import WorldState
from components.environment.world import World
from components.records.frozen import FrozenDict, JsonObject
from components.records.task import (
    Condition,
    Every,
    FromInstruction,
    FromRows,
    Restraint,
    Ruled,
    Task,
)
from components.task.gold import Call, Gold, play, tried
from components.task.graph import ToolGraph
from components.task.moments import shifted
from components.task.provenance import (
    CLOCK,
    ProvenanceError,
    assemble,
    at_path,
    derive_arguments,
    derive_value,
)
from components.task.reasons import Reason, Rejection


def check_clauses(task: Task, graph: ToolGraph, gold: Gold) -> Rejection | None:
    """Check that every clause fits gold: what is forbidden, which branch is taken, which rows."""
    for name, clause in sorted(task.clauses.items()):
        if not clause.start < clause.end <= len(task.instruction):
            return _no(f"{name}: its span is not inside the instruction")
        match clause:
            case Restraint():
                problem = _restraint_problem(task, graph, gold, clause)
            case Condition():
                problem = _condition_problem(task, gold, clause)
            case Ruled():
                problem = ""  # held against its rule and its twin, in `pair_gates`
            case Every():
                problem = every_problem(task, clause, gold.observed) or _writes_problem(
                    task, gold, clause
                )
        if problem:
            return _no(f"{name}: {problem}")
    return None


def forbidden_calls(task: Task, observed: Mapping[str, Any]) -> Iterator[tuple[str, JsonObject]]:
    """Yield the arguments of each forbidden call, by restraint.

    Args:
        task: the task.
        observed: `data` of every answer of gold.

    Raises:
        ProvenanceError: an argument cannot be derived.
    """
    for name, clause in sorted(task.clauses.items()):
        if isinstance(clause, Restraint):
            yield name, restrained(task, clause, observed)
        if isinstance(clause, Ruled) and not clause.allows:
            yield name, derive_arguments(clause.asked, task.instruction, observed)


def restrained(task: Task, clause: Restraint, observed: Mapping[str, Any]) -> JsonObject:
    """Return the arguments of a forbidden call.

    Raises:
        ProvenanceError: an argument cannot be derived.
    """
    return assemble(
        {
            pointer: derive_value(source, task.instruction, observed, pointer)
            for pointer, source in sorted(clause.arguments.items())
        }
    )


def holds(task: Task, clause: Condition, observed: Mapping[str, Any]) -> bool:
    """Return whether a condition is so in what gold observed.

    Raises:
        ProvenanceError: its value, or what it is compared with, cannot be derived or compared.
    """
    value = derive_value(clause.source, task.instruction, observed, "/source")
    limit = derive_value(clause.value, task.instruction, observed, "/value")
    if clause.relation == "is":
        return bool(value == limit)
    if not all(isinstance(item, (int, float)) for item in (value, limit)):
        raise ProvenanceError("/source", f"{value!r} and {limit!r} cannot be compared")
    return bool(value > limit) if clause.relation == "above" else bool(value < limit)


def every_problem(task: Task, clause: Every, observed: Mapping[str, Any]) -> str:
    """Return why the writes of a clause are not one for each row that it means; empty when so."""
    found, rows = at_path(observed.get(clause.step), clause.rows_path)
    chosen = clause.chosen(rows) if found else None
    if chosen is None:
        return f"{clause.step} shows no rows that it could mean"
    taken = []
    for step in clause.steps:
        sources = [] if step not in task.gold else list(task.gold[step].arguments.values())
        named = []
        for source in sources:
            try:
                value = derive_value(source, task.instruction, observed)
            except ProvenanceError as error:
                return f"{step}: {error.problem}"
            if getattr(source, "step", None) == clause.step:
                named.append(value)
        if len(named) != 1:
            return f"{step} does not name one row of {clause.step}"
        taken += named
    if tuple(sorted(map(str, taken))) != chosen:
        return f"its writes name {', '.join(map(str, taken))}; it means {', '.join(chosen)}"
    return ""


def broken_lines(
    world: World, task: Task, gold: Gold
) -> Iterator[tuple[str, str, WorldState, JsonObject]]:
    """Yield lines of play that break a clause: kind, target, final state, answer.

    A forbidden call that is refused leaves what gold leaves, and passes: the gate then says so.
    """
    for name, clause in sorted(task.clauses.items()):
        match clause:
            case Restraint():
                call = Call(clause.service, clause.tool, restrained(task, clause, gold.observed))
                yield "forbidden", name, play(world, gold.final, [call]), gold.answer
            case Condition():
                other = task.clauses.get(clause.otherwise)
                if isinstance(other, Restraint) and clause.step:
                    call = Call(other.service, other.tool, restrained(task, other, gold.observed))
                    final = play(world, _without(world, gold, clause.step), [call])
                    yield "other_branch", name, final, gold.answer
            case Every():
                for step in clause.steps:
                    yield (
                        "every_but_one",
                        f"{name} {step}",
                        _without(world, gold, step),
                        gold.answer,
                    )
                yield from _one_more(world, task, gold, name, clause)
    yield from _other_days(world, task, gold)
    for field, source in sorted(task.answer.items()):
        if isinstance(source, FromRows):
            for other_source in _other_numbers(source):
                value = derive_value(other_source, task.instruction, gold.observed)
                answer = FrozenDict({**gold.answer, field: value})
                yield "wrong_count", f"{field} = {value}", gold.final, answer


def _one_more(
    world: World, task: Task, gold: Gold, name: str, clause: Every
) -> Iterator[tuple[str, str, WorldState, JsonObject]]:
    """Yield gold with the write made for one more row of the list."""
    last = clause.steps[-1]
    pointer = next(
        pointer
        for pointer, source in sorted(task.gold[last].arguments.items())
        if getattr(source, "step", None) == clause.step
    )
    record = gold.records[last]
    _found, rows = at_path(gold.observed[clause.step], clause.rows_path)
    chosen = clause.chosen(rows) or ()
    for row in rows:
        key = row.get(clause.key)
        if key in chosen or not isinstance(key, str):
            continue
        changed = assemble(
            {
                other: key
                if other == pointer
                else derive_value(source, task.instruction, gold.observed)
                for other, source in sorted(task.gold[last].arguments.items())
            }
        )
        done = tried(world, gold.final, Call(record.service, record.tool, changed))
        if done is not None and done[1]:
            yield "one_more", f"{name} {key}", done[0], gold.answer
            return


def _other_days(
    world: World, task: Task, gold: Gold
) -> Iterator[tuple[str, str, WorldState, JsonObject]]:
    """Yield gold with each relative date counted from another day than the clock's."""
    for number, name in enumerate(gold.names):
        record = gold.records[name]
        for pointer, source in sorted(task.gold[name].arguments.items()):
            if not isinstance(source, FromInstruction) or source.cast != "moment":
                continue
            for days in (1, -1):
                later = shifted(task.world.now, days)
                wrong = derive_arguments(
                    task.gold[name], task.instruction, {**gold.observed, CLOCK: later}
                )
                call = Call(record.service, record.tool, wrong)
                done = tried(world, gold.states[number], call)
                if done is not None:
                    final = play(world, done[0], gold.calls(number + 1))
                    yield "wrong_day", f"{name}{pointer} by {days:+d}", final, gold.answer
                    break


def _other_numbers(source: FromRows) -> Iterator[FromRows]:
    if source.where:
        yield source.model_copy(update={"where": FrozenDict[str, Any]()})
    if source.operation == "sum":
        yield source.model_copy(update={"operation": "count"})


def _without(world: World, gold: Gold, step: str) -> WorldState:
    number = gold.names.index(step)
    return play(world, gold.states[number], gold.calls(number + 1))


def _restraint_problem(task: Task, graph: ToolGraph, gold: Gold, clause: Restraint) -> str:
    shape = graph.tools.get((clause.service, clause.tool))
    if shape is None or not shape.is_write:
        return f"{clause.service}.{clause.tool} is no write that is offered"
    try:
        arguments = restrained(task, clause, gold.observed)
    except ProvenanceError as error:
        return str(error)
    for name in gold.names:
        record = gold.records[name]
        if (record.service, record.tool) == (clause.service, clause.tool):
            same = {key for key, value in record.arguments.items() if arguments.get(key) == value}
            if same:
                return f"gold makes such a call itself in {name}"
    return ""


def _condition_problem(task: Task, gold: Gold, clause: Condition) -> str:
    try:
        is_so = holds(task, clause, gold.observed)
    except ProvenanceError as error:
        return str(error)
    if is_so is not clause.holds:
        return f"it is {'' if is_so else 'not '}so in the world"
    if clause.step and (clause.step not in gold.names or clause.step <= clause.source.step):
        return f"{clause.step!r} is no step after {clause.source.step}"
    if clause.otherwise and not isinstance(task.clauses.get(clause.otherwise), Restraint):
        return f"{clause.otherwise!r} is no call that must not be made"
    return "" if clause.step or clause.otherwise else "nothing depends on it"


def _writes_problem(task: Task, gold: Gold, clause: Every) -> str:
    calls = {(task.gold[step].service, task.gold[step].tool) for step in clause.steps}
    if len(calls) != 1 or len(clause.steps) < 2:
        return "its steps are not one write for several rows"
    first = gold.names.index(clause.steps[0])
    if gold.names[first : first + len(clause.steps)] != tuple(clause.steps):
        return "its steps do not follow one another"
    return ""


def _no(detail: str) -> Rejection:
    return Rejection(reason=Reason.CLAUSES, detail=detail)
