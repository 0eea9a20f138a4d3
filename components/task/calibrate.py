"""Calibration: from an explicit request to one as people write it, one edit at a time.

Owns the edits. A record that is read by its code is read by what it is (`indirect`): the disputed
invoice of a customer. A row that a write names by its code or address is named by what leads to it
(`lookup`): a person by their name, an event by its subject, never by a third thing; gold looks it
up first, on top of the walk's length, and may do so in the service that it calls next. A sentence
about the same thing as the one before joins it (`join`), and says `it`. Each edit leaves a walk
that is worded and certified anew by whoever asks for it; an edit after which something can no
longer be derived, or means two things, is not kept.

Source: EnvFactory's calibration refinement, whose edits are a model's; ours are rules, and each is
proved by the certificate.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from components.records.task import Edit
from components.task.filling import Argument, Arguments, Filler, as_object
from components.task.graph import Role
from components.task.ground import Ground
from components.task.known import Known
from components.task.reads import ReadCall
from components.task.steps import Walk, WalkStep, executed_step

MOST_LOOKUPS = 3
"""Names that are looked up in one task, at most."""
_WAYS = 3
"""Reads that are tried for one name."""


def places_of(ground: Ground, walk: Walk, rng: random.Random) -> list[tuple[str, str]]:
    """Return where a request can be edited, by kind and by name or step, sorted."""
    return sorted({_place(item) for item in _edited(ground, walk, rng)})


def edits_at(
    ground: Ground, walk: Walk, place: tuple[str, str], rng: random.Random
) -> Iterator[Walk]:
    """Yield the walk after each edit of one place: several ways to look a name up."""
    return (item for item in _edited(ground, walk, rng) if _place(item) == place)


def _place(walk: Walk) -> tuple[str, str]:
    """Return what the last edit is about, whatever way it took."""
    last = walk.edits[-1]
    return last.kind, last.name or last.step


def _edited(ground: Ground, walk: Walk, rng: random.Random) -> Iterator[Walk]:
    if sum(edit.kind == "lookup" for edit in walk.edits) < MOST_LOOKUPS:
        yield from lookups(ground, walk, rng)
    yield from indirect(ground, walk, rng)
    yield from joins(walk)


def indirect(ground: Ground, walk: Walk, rng: random.Random) -> Iterator[Walk]:
    """Yield the walk with a read by a code that the request states replaced by another of its rows.

    Args:
        ground: as explored.
        walk: as found.
        rng: the order of the ways.
    """
    used = _used(walk)
    for number, step in enumerate(walk.steps):
        if step.shape.is_write or any(item.source is not None for item in step.arguments):
            continue
        needed = {(fact.row, fact.place.field) for fact in used if fact.step == step.name}
        stated = {str(item.value) for item in step.arguments}
        ways = [
            call
            for call in ground.reads[step.shape.service]
            if call.can_begin
            and call.pick is None
            and needed <= call.fields
            and not stated & {str(value) for value in call.arguments.values()}
        ]
        for call in rng.sample(ways, min(_WAYS, len(ways))):
            read = _read(ground, walk, number, step.name, call, rng)
            new = {} if read is None else {(one.row, one.place.field): one for one in read.known}
            if read is None or not needed <= set(new):
                continue
            old = {fact: new[fact.row, fact.place.field] for fact in used if fact.step == step.name}
            edit = Edit(kind="indirect", step=step.name, name=", ".join(sorted(stated)))
            yield replace(_with_facts(walk, number, read, old), edits=(*walk.edits, edit))


def _used(walk: Walk) -> list[Known]:
    """Return the values that arguments, the answer, clauses and the turn itself are taken from."""
    clauses = walk.clauses
    calls = [*(step.arguments for step in walk.steps)]
    calls += [item.arguments for item in clauses.forbidden()]
    found = [item.source for arguments in calls for item in arguments if item.source is not None]
    found += [item.fact for item in clauses.forbidden()]
    found += [item.fact for item in clauses.conditions]
    return [*found, walk.first, walk.again, *walk.answer.values()]


def _with_facts(walk: Walk, number: int, read: WalkStep, new: Mapping[Known, Known]) -> Walk:
    """Return the walk with another read at a place, and with what it gives in place of the old."""

    def of(fact: Known) -> Known:
        return new.get(fact, fact)

    def taken(arguments: Arguments) -> Arguments:
        return tuple(
            item if item.source is None else replace(item, source=of(item.source))
            for item in arguments
        )

    steps = [replace(step, arguments=taken(step.arguments)) for step in walk.steps]
    steps[number] = read
    return replace(
        walk,
        steps=tuple(steps),
        clauses=walk.clauses.with_calls(taken, of),
        first=of(walk.first),
        again=of(walk.again),
        answer={name: of(fact) for name, fact in walk.answer.items()},
    )


def _read(
    ground: Ground, walk: Walk, number: int, name: str, call: ReadCall, rng: random.Random
) -> WalkStep | None:
    """Return a read that the request states, executed where it stands in the walk."""
    filled = Filler(ground.world, ground.graph, rng).given(call.shape, call.arguments, ())
    if filled is None:
        return None
    state = ground.world.initial
    for step in walk.steps[:number]:
        state = ground.executed(state, step.shape, as_object(step.arguments), step.name)[0].state
    made = executed_step(ground, state, call.shape, filled, name, call.pick)
    return None if made is None else made[0]


def lookups(ground: Ground, walk: Walk, rng: random.Random) -> Iterator[Walk]:
    """Yield the walk with a name of one of its rows looked up instead of stated; several ways each.

    Args:
        ground: as explored.
        walk: as found.
        rng: the order of the ways.
    """
    seen = set()
    for number, step in enumerate(walk.steps):
        for item in step.arguments:
            key = (item.parameter.means, item.value)
            if not _is_name(item) or key in seen or not isinstance(item.value, str):
                continue
            seen.add(key)
            for call in _ways(ground, walk, item, rng):
                found = _looked_up(ground, walk, number, item, call, rng)
                if found is not None:
                    edit = Edit(kind="lookup", step=found.steps[number].name, name=item.value)
                    yield replace(found, edits=(*walk.edits, edit))


def _is_name(item: Argument) -> bool:
    """Return whether an argument states what a row is called."""
    told = item.parameter
    is_called = told.is_natural and told.role is not Role.SETS and not item.words
    return item.source is None and (told.names_row or is_called)


def _ways(ground: Ground, walk: Walk, item: Argument, rng: random.Random) -> Sequence[ReadCall]:
    """Return reads that show what an argument names and that can stand before its step."""
    means = item.parameter.means
    if means is None:
        return ()
    stated = {
        str(other.value)
        for step in walk.steps
        for other in step.arguments
        if other.source is None and other is not item
    }
    found = [
        call
        for call in ground.index.get((means, item.value), ())
        if call.can_begin
        and call.pick is None
        and call.shape.service in walk.services
        and (means, item.value) not in call.takes
        and item.value not in call.arguments.values()
        and not stated & {str(value) for value in call.arguments.values()}
    ]
    return rng.sample(found, min(_WAYS, len(found)))


def _looked_up(
    ground: Ground, walk: Walk, number: int, item: Argument, call: ReadCall, rng: random.Random
) -> Walk | None:
    before = walk.steps[number - 1].name if number else "s00"
    name = f"{before}a" if number else before
    read = None
    if all(step.name != name for step in walk.steps):
        read = _read(ground, walk, number, name, call, rng)
    means = item.parameter.means
    shown = () if read is None else read.known
    fact = next(
        (
            one
            for one in shown
            if (one.means, one.value) == (means, item.value) and one.place == one.means
        ),
        None,
    )
    if read is None or fact is None:
        return None

    def taken(arguments: Arguments) -> Arguments:
        """Return arguments of which those that state the name take it from the observation."""
        key = (fact.means, fact.value)
        return tuple(
            replace(item, source=fact)
            if _is_name(item) and (item.parameter.means, item.value) == key
            else item
            for item in arguments
        )

    later = [replace(step, arguments=taken(step.arguments)) for step in walk.steps[number:]]
    return replace(
        walk,
        steps=(*walk.steps[:number], read, *later),
        clauses=walk.clauses.with_calls(taken),
    )


def joins(walk: Walk) -> Iterator[Walk]:
    """Yield the walk with one sentence joined to the one before, where both are about one row."""
    writes = [step for step in walk.steps if step.shape.is_write]
    for before, step in pairwise(writes):
        here, there = _rows_named(before), _rows_named(step)
        if not walk.is_joined(step.name) and len(here) == 1 and here[0] in there:
            edit = Edit(kind="join", step=step.name)
            yield replace(walk, edits=(*walk.edits, edit))


def _rows_named(step: WalkStep) -> list[object]:
    """Return what the arguments of a write name, without repetition."""
    found: list[object] = []
    for item in step.arguments:
        if item.parameter.names_row:
            key = (item.parameter.means, item.value)
            if key not in found:
                found.append(key)
    return found
