"""Lists at the end of a walk, the parts of them that a request can name, and what is done with one.

A list is read by a value that the walk found out. It counts only where its rows were the same at
the start of the world, so that it does not matter when it is read.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from components.environment.state import WorldState
from components.records.blueprint import FieldType
from components.task.clauses import Counted, Group, Part
from components.task.filling import Argument, Arguments, Filler, as_object
from components.task.graph import Place, ToolShape
from components.task.ground import Ground
from components.task.known import Known, address_of, entity_of, known_in
from components.task.longer import tool_name
from components.task.phrases import phrases, words
from components.task.provenance import at_path
from components.task.purposes import purposes
from components.task.shown import ShownRows
from components.task.steps import Node, Phase, Walk, WalkStep, executed_step, found_out, written_by

_MOST_ROWS = 9
"""Rows of a list that a request speaks of; more are not looked through."""
_FEWEST, _MOST = 2, 4
"""Rows that one write is made for."""
MOST_CALLS = 12
"""Calls of a gold solution that a part may bring it to: half of the usual limit of turns."""
_TRIES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list that a read of a walk could return."""

    step: WalkStep
    shown: ShownRows
    rows: Sequence[Mapping[str, Any]]
    key: str


def with_group(
    ground: Ground, walk: Walk, k: int, name: str, rng: random.Random, purpose: str = ""
) -> Walk | None:
    """Return the walk with one write for every row of a part of a list, or None.

    Args:
        ground: all services, explored.
        walk: a walk through K services, or through one less: then the list is in another.
        k: K.
        name: of the clause.
        rng: every choice.
        purpose: what the writes must serve, with rows of something that the walk writes to;
            empty: anything.
    """
    filler = Filler(ground.world, ground.graph, rng)
    for listing in _drawn(_listings(ground, walk, k), rng):
        if purpose and not _is_near(walk, listing):
            continue
        parts = list(_parts(ground, listing, len(walk.steps)))
        for part, rows in _drawn(parts, rng)[:2]:
            for shape in _drawn(_writes(ground, listing), rng):
                if purpose and not _fits(walk, listing, shape, purpose):
                    continue
                done = _written(ground, walk, listing, rows, shape, filler)
                if done is not None and not (purpose and _gives_back(ground, listing, done[0])):
                    steps, state = done
                    group = Group(name=name, part=part, steps=tuple(item.name for item in steps))
                    return replace(
                        walk,
                        steps=(*walk.steps, listing.step, *steps),
                        state=state,
                        clauses=replace(walk.clauses, group=group),
                    )
    return None


def with_count(
    ground: Ground, walk: Walk, k: int, rng: random.Random, purpose: str = ""
) -> Walk | None:
    """Return the walk with a number over a part of a list in its answer, or None.

    Args:
        ground: all services, explored.
        walk: as found.
        k: K.
        rng: every choice.
        purpose: not empty: the list is one of something that the walk writes to.
    """
    found = [
        item
        for listing in _listings(ground, walk, k)
        if not purpose or _is_subject(ground, walk, listing)
        for item in _numbers(ground, listing)
        if not purpose or _is_asked(*item, purpose)
    ]
    if not found:
        return None
    operations = sorted({counted.operation for _listing, counted in found})
    operation = rng.choice(operations)
    listing, counted = rng.choice([item for item in found if item[1].operation == operation])
    return replace(
        walk,
        steps=(*walk.steps, listing.step),
        clauses=replace(walk.clauses, counted=counted),
    )


def _is_named(walk: Walk, listing: Listing) -> bool:
    """Return whether a list is one of something that a write of the walk names, or that its turn
    changes.
    """
    (named,) = listing.step.arguments
    turned, means = walk.again.row, named.parameter.means
    is_turned = means is not None and (
        (means.service, means.table, named.value) == (turned.service, turned.table, turned.row_id)
    )
    return is_turned or any(
        (item.parameter.means, item.value) == (named.parameter.means, named.value)
        for step in walk.steps
        for item in step.arguments
        if step.shape.is_write
    )


def _is_near(walk: Walk, listing: Listing) -> bool:
    """Return whether a list is one of something that a write names, or one link from that."""
    (named,) = listing.step.arguments
    fact = named.source
    return _is_named(walk, listing) or (
        fact is not None
        and any(
            (fact.row.service, fact.row.table, fact.row.row_id)
            == (item.parameter.means.service, item.parameter.means.table, item.value)
            for step in walk.steps
            for item in step.arguments
            if step.shape.is_write and item.parameter.means is not None
        )
    )


def _is_asked(listing: Listing, counted: Counted, purpose: str) -> bool:
    """Return whether a number over a list is asked for with a purpose."""
    place, where = listing.step.arguments[0].parameter.place, counted.part.where
    what = "sum" if where is None else where[1]
    return place is not None and purposes().may_count(place, what, purpose)


def _is_subject(ground: Ground, walk: Walk, listing: Listing) -> bool:
    """Return whether a list is one of something that a write of the walk is about: a thing that it
    names, or a person to whom something is done in their own record.
    """
    (named,) = listing.step.arguments
    means = named.parameter.means
    if means is None:
        return False
    if "email" not in entity_of(ground.graph, means).fields:
        return _is_named(walk, listing)
    changed = {
        change.row_id
        for step in walk.steps
        for change in step.changes
        if change.cause.startswith("effect:")
        and (change.service, change.table) == (means.service, means.table)
    }
    return any(
        fact.value == named.value and fact.row.row_id in changed
        for step in walk.steps
        for fact in step.known
        if fact.means == means
    ) or (named.value in changed)


def _gives_back(ground: Ground, listing: Listing, steps: Sequence[WalkStep]) -> bool:
    """Return whether rows found by a person are given to that person: her tickets to her."""
    (named,) = listing.step.arguments
    assert named.parameter.means is not None
    graph, state = ground.graph, ground.world.initial
    address = address_of(graph, state, named.parameter.means, named.value)
    return address != "" and any(
        address_of(graph, state, item.parameter.means, item.value) == address
        for item in steps[0].arguments
        if item.parameter.means is not None
    )


def _fits(walk: Walk, listing: Listing, shape: ToolShape, purpose: str) -> bool:
    """Return whether a write may be asked for row by row, beside the others of the walk."""
    others = {tool_name(step.shape) for step in walk.steps if step.shape.is_write}
    (named,) = listing.step.arguments
    by = named.parameter.place
    return (
        purposes().serves(shape, purpose)
        and purposes().is_for_each(shape, by, purpose)
        and tool_name(shape) not in others
        and not purposes().is_apart(shape, others)
    )


def _drawn(items: Any, rng: random.Random) -> list[Any]:
    found = list(items)
    rng.shuffle(found)
    return found[:_TRIES]


def _listings(ground: Ground, walk: Walk, k: int) -> Iterator[Listing]:
    """Yield the lists that values of the walk lead to, in services that it may still be in."""
    known = found_out(walk.steps)
    last = walk.steps[-1].shape.service
    name = f"s{len(walk.steps) + 1:02d}"
    made = {(step.shape.name, as_object(step.arguments)) for step in walk.steps}
    is_full = len(walk.services) == k
    services = walk.services if is_full else sorted(set(ground.reads) - set(walk.services))
    for service in services:
        for shape in ground.graph.of_service(service) if service != last else ():
            lists = [shown for shown in shape.shown if shown.is_list]
            if shape.is_write or len(lists) != 1:
                continue
            for arguments in _single(shape, walk, known):
                if (shape.name, as_object(arguments)) not in made:
                    found = _listed(ground, walk, name, shape, arguments, lists[0])
                    if found is not None:
                        yield found


def _single(shape: ToolShape, walk: Walk, known: Sequence[Known]) -> Iterator[Arguments]:
    """Yield the arguments that name one known row, each row once and as plainly as it can be."""
    by_name = {step.name: step for step in walk.steps}
    for item in shape.parameters:
        if not item.names_row or any(
            other.required and other is not item for other in shape.parameters
        ):
            continue
        fitting: dict[str, Known] = {}
        for fact in sorted(known, key=lambda fact: fact.place != fact.means):
            is_one = fact.means == item.means and isinstance(fact.value, str)
            if is_one and by_name[fact.step].names_by_itself(fact):
                fitting.setdefault(fact.value, fact)
        for value, fact in fitting.items():
            yield (Argument(parameter=item, value=value, source=fact),)


def _listed(
    ground: Ground, walk: Walk, name: str, shape: ToolShape, arguments: Arguments, shown: ShownRows
) -> Listing | None:
    entity = entity_of(ground.graph, Place(shape.service, shown.table, ""))
    key = next((item for item, field in shown.fields.items() if field == entity.key), None)
    found = []
    for state in (walk.state, ground.world.initial):
        outcome, _known = ground.executed(state, shape, as_object(arguments), name)
        if not outcome.envelope["ok"]:
            return None
        found.append(outcome.envelope["data"])
    there, rows = at_path(found[0], shown.path)
    if key is None or not there or not _FEWEST <= len(rows) <= _MOST_ROWS:
        return None
    if at_path(found[1], shown.path)[1] != rows:
        return None
    step = WalkStep(
        name=name, shape=shape, arguments=arguments, data=found[0], changes=(), known=()
    )
    return Listing(step=step, shown=shown, rows=rows, key=key)


def _parts(
    ground: Ground, listing: Listing, length: int
) -> Iterator[tuple[Part, Sequence[Mapping[str, Any]]]]:
    """Yield parts of a list for which a write can be made row by row."""
    most = min(_MOST, MOST_CALLS - length - 1)
    rows = listing.rows
    whole = Part(step=listing.step.name, shown=listing.shown, key=listing.key)
    if _FEWEST <= len(rows) <= most:
        yield whole, rows
    for name, value, count in _states(ground, listing):
        if _FEWEST <= count <= most and count < len(rows):
            kept = [row for row in rows if row.get(name) == value]
            yield replace(whole, where=(name, value)), kept
    for name in _compared(ground, listing):
        values = [row.get(name) for row in rows]
        if any(value is None for value in values) or len(set(values)) < len(values):
            continue
        for end in (False, True):
            ordered = sorted(rows, key=lambda row: row[name], reverse=end)
            for count in range(_FEWEST, min(most, 3, len(rows) - 1) + 1):
                yield replace(whole, by=name, most=end), ordered[:count]


def _states(ground: Ground, listing: Listing) -> Iterator[tuple[str, str, int]]:
    """Yield the choices that some rows have and that can stand before a noun, with their number."""
    for name, field, choices in _fields(ground, listing):
        if choices is None:
            continue
        place = Place(listing.step.shape.service, listing.shown.table, field)
        counts = Counter(row.get(name) for row in listing.rows)
        for value, count in sorted(counts.items(), key=str):
            if isinstance(value, str) and phrases().is_adjective(place, value):
                yield name, value, count


def _compared(ground: Ground, listing: Listing) -> Iterator[str]:
    entity = entity_of(ground.graph, Place(listing.step.shape.service, listing.shown.table, ""))
    for name, field, _choices in _fields(ground, listing):
        body = entity.fields[field]
        if body.type is FieldType.TIMESTAMP and not body.link:
            yield name


def _fields(ground: Ground, listing: Listing) -> Iterator[tuple[str, str, Sequence[Any] | None]]:
    entity = entity_of(ground.graph, Place(listing.step.shape.service, listing.shown.table, ""))
    for name, field in sorted(listing.shown.fields.items()):
        body = entity.fields[field]
        yield name, field, tuple(body.enum) if body.enum else None


def _writes(ground: Ground, listing: Listing) -> Iterator[ToolShape]:
    """Yield the writes of the list's service that work on one of its rows."""
    service, table = listing.step.shape.service, listing.shown.table
    key = entity_of(ground.graph, Place(service, table, "")).key
    for shape in ground.graph.of_service(service):
        naming = [item for item in shape.parameters if item.means == Place(service, table, key)]
        if shape.is_write and len(naming) == 1 and naming[0].required:
            yield shape


def _written(
    ground: Ground,
    walk: Walk,
    listing: Listing,
    rows: Sequence[Mapping[str, Any]],
    shape: ToolShape,
    filler: Filler,
) -> tuple[tuple[WalkStep, ...], WorldState] | None:
    """Return the executed writes and where they lead.

    None where one is refused, does nothing or undoes another.
    """
    table = listing.shown.table
    facts = {
        fact.value: fact
        for fact in known_in(
            ground.graph, listing.step.shape, listing.step.name, listing.step.data, every_row=True
        )
        if fact.path[-1] == listing.key and fact.row.table == table
    }
    keys = [row[listing.key] for row in sorted(rows, key=listing.rows.index)]
    first = facts[keys[0]]
    drawn = filler.drawn(shape, found_out(walk.steps), must=(first,))
    if drawn is None or any(item.template for item in drawn):
        return None
    state, steps = walk.state, list[WalkStep]()
    before = Node(steps=walk.steps, state=state, phase=Phase.USED)
    for number, key in enumerate(keys):
        arguments = tuple(
            replace(item, value=key, source=facts[key]) if item.source is first else item
            for item in drawn
        )
        name = f"s{len(walk.steps) + 2 + number:02d}"
        made = executed_step(ground, state, shape, arguments, name)
        if made is None:
            return None
        step, after = replace(made[0], known=()), made[1]
        if not any(change.cause.startswith("effect:") for change in step.changes):
            return None
        if before.undoes(step) or written_by(*steps) & written_by(step):
            return None
        state = after
        steps.append(step)
    return tuple(steps), state


def _numbers(ground: Ground, listing: Listing) -> Iterator[tuple[Listing, Counted]]:
    """Yield the numbers over a list that a person would ask for."""
    table = phrases().table_noun(listing.step.shape.service, listing.shown.table)
    label = words(table).replace(" ", "_")
    whole = Part(step=listing.step.name, shown=listing.shown, key=listing.key)
    for name, value, count in _states(ground, listing):
        if count < len(listing.rows):
            yield (
                listing,
                Counted(
                    name=f"num_{value}_{label}",
                    part=replace(whole, where=(name, value)),
                    operation="count",
                    field="",
                    value=count,
                ),
            )
    for name, field, _choices in _fields(ground, listing):
        numbers = [row.get(name) for row in listing.rows]
        if field in phrases().stock("summed") and all(type(item) is int for item in numbers):
            yield (
                listing,
                Counted(
                    name=f"total_{field}",
                    part=whole,
                    operation="sum",
                    field=name,
                    value=sum(numbers),  # type: ignore[arg-type]
                ),
            )
