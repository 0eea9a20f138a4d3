"""Walks with a write that a policy rule is about, and a read that shows what the rule looks at.

Owns the search. The write is one that a walk makes anyway, or one more at its end, with the read
before it where the walk does not show the value yet.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from components.records.policy import PolicyRule
from components.records.world import WorldContract
from components.task.asides import spoken
from components.task.drawing import drawn_walk
from components.task.filling import Argument, Arguments, Filler, as_object
from components.task.graph import Place, ToolShape
from components.task.ground import Ground
from components.task.known import Known, RowKey, entity_of
from components.task.reads import ReadCall
from components.task.rules import row_of
from components.task.steps import Walk, WalkStep, executed_step, found_out

_ROUNDS = 2
"""Walks of each length that are drawn for one draft."""
_NAMING = 0.5
"""How much a rule that names another call is wanted, instead of the forbidden one or before it."""
_LEAST_K = 2
"""Services that a reaction joins."""
_TRIES = 12
"""Writes at the end of a walk that are tried."""
_LEAST = 3
"""Calls that a turn takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledWalk:
    """A walk of which one write is under a rule."""

    walk: Walk
    place: str
    """The step that is the write."""
    name: str
    rule: PolicyRule
    fact: Known
    """The value that the rule looks at, as a read of the walk showed it."""

    def spoken(self) -> RuledWalk:
        """Return the walk with every time that its request states said by its date."""
        return replace(self, walk=spoken(self.walk))


def ruled_walks(
    ground: Ground, contract: WorldContract, k: int, length: int, rng: random.Random
) -> Iterator[RuledWalk]:
    """Yield walks of K services and L calls with a write that a rule is about.

    Args:
        ground: all services, explored.
        contract: the rules.
        k: K.
        length: L.
        rng: every choice.
    """
    rules = sorted(contract.rules.items())
    ways = [*_Way] * _ROUNDS
    rng.shuffle(ways)
    for way in ways:
        rest, shorter = k - (way is _Way.BESIDE), length - _ADDED[way]
        if shorter < max(_LEAST, rest) or rest < _LEAST_K:
            continue
        walk = drawn_walk(ground, rest, shorter, rng)
        if walk is None:
            continue
        # Most rules only forbid; those that name another call are looked for first more often.
        ranks = {
            name: rng.random() - _NAMING * bool(rule.instead or rule.first) for name, rule in rules
        }
        rules.sort(key=lambda item: ranks[item[0]])
        match way:
            case _Way.WITHIN:
                yield from _within(ground, walk, rules)
            case _Way.BESIDE:
                yield from _beside(ground, walk, rules, rng)
            case _:
                may_read = way is _Way.READ_AND_WRITE
                yield from _appended(ground, walk, rules, rng, may_read=may_read)


class _Way(StrEnum):
    """How a walk comes to a write that a rule is about."""

    WITHIN = "within"
    """It makes such a write anyway."""
    WRITE = "write"
    """One is added at its end."""
    READ_AND_WRITE = "read_and_write"
    """A read is added before it."""
    BESIDE = "beside"
    """Both are added in a service of their own, for a row that the request names."""


_ADDED = {_Way.WITHIN: 0, _Way.WRITE: 1, _Way.READ_AND_WRITE: 2, _Way.BESIDE: 2}
"""Calls that are added."""


def _within(
    ground: Ground, walk: Walk, rules: Sequence[tuple[str, PolicyRule]]
) -> Iterator[RuledWalk]:
    """Yield the walk for each of its writes that a rule is about."""
    for name, rule in rules:
        for step in walk.steps:
            if (step.shape.service, step.shape.name) != (rule.service, rule.tool):
                continue
            arguments = as_object(step.arguments)
            if any(arguments.get(key) not in values for key, values in rule.only.items()):
                continue
            row = _row(ground, rule, arguments.get(rule.names))
            fact = _fact(walk.steps, row, rule.field, before=step.name)
            if fact is not None:
                yield RuledWalk(walk=walk, place=step.name, name=name, rule=rule, fact=fact)


def _appended(
    ground: Ground,
    walk: Walk,
    rules: Sequence[tuple[str, PolicyRule]],
    rng: random.Random,
    *,
    may_read: bool,
) -> Iterator[RuledWalk]:
    """Yield the walk with one write more, and a read before it where one is wanted."""
    filler = Filler(ground.world, ground.graph, rng)
    known = found_out(walk.steps)
    used = {step.shape.name for step in walk.steps}
    left = _TRIES
    for name, rule in rules:
        shape = ground.graph.tools.get((rule.service, rule.tool))
        if shape is None or rule.tool in used or rule.service not in walk.services:
            continue
        naming = next((i for i in shape.parameters if i.pointer == f"/{rule.names}"), None)
        for fact in known:
            if naming is None or fact.means != naming.means or not isinstance(fact.value, str):
                continue
            row = _row(ground, rule, fact.value)
            if row is None or left <= 0:
                continue
            left -= 1
            seen = _fact(walk.steps, row, rule.field)
            if (seen is None) is not may_read:
                continue
            longer = walk if seen is not None else _with_read(ground, walk, row, rule, filler)
            seen = seen or (None if longer is None else _fact(longer.steps, row, rule.field))
            if longer is None or seen is None:
                continue
            made = _with_write(ground, longer, shape, rule, fact, filler, rng)
            if made is not None:
                place = made.steps[-1].name
                yield RuledWalk(walk=made, place=place, name=name, rule=rule, fact=seen)


def _beside(
    ground: Ground, walk: Walk, rules: Sequence[tuple[str, PolicyRule]], rng: random.Random
) -> Iterator[RuledWalk]:
    """Yield the walk with a read of a row that the request names, in another service, and a write
    to that row.
    """
    filler = Filler(ground.world, ground.graph, rng)
    left = _TRIES
    for name, rule in rules:
        shape = ground.graph.tools.get((rule.service, rule.tool))
        if shape is None or rule.service in walk.services or rule.links:
            continue
        naming = next((i for i in shape.parameters if i.pointer == f"/{rule.names}"), None)
        calls = [call for call in ground.reads.get(rule.service, ()) if call.can_begin]
        for call in rng.sample(calls, min(_TRIES, len(calls))):
            if naming is None or left <= 0:
                continue
            left -= 1
            longer = _read_by_name(ground, walk, call, filler)
            if longer is None:
                continue
            read = longer.steps[-1]
            for fact in read.known:
                if fact.means != naming.means or not isinstance(fact.value, str):
                    continue
                seen = _fact((read,), _row(ground, rule, fact.value), rule.field)
                if seen is None:
                    continue
                made = _with_write(ground, longer, shape, rule, fact, filler, rng)
                if made is not None:
                    place = made.steps[-1].name
                    yield RuledWalk(walk=made, place=place, name=name, rule=rule, fact=seen)
                break


def _read_by_name(ground: Ground, walk: Walk, call: ReadCall, filler: Filler) -> Walk | None:
    """Return the walk with a read whose arguments the request states."""
    arguments = filler.given(call.shape, call.arguments, ())
    if arguments is None:
        return None
    name = f"s{len(walk.steps) + 1:02d}"
    made = executed_step(ground, walk.state, call.shape, arguments, name, call.pick)
    return None if made is None else replace(walk, steps=(*walk.steps, made[0]))


def _with_read(
    ground: Ground, walk: Walk, row: RowKey, rule: PolicyRule, filler: Filler
) -> Walk | None:
    """Return the walk with a read that shows a row's field, in a service that it has been in."""
    known = found_out(walk.steps)
    last = walk.steps[-1].shape.service
    key = entity_of(ground.graph, Place(row.service, row.table, "")).key
    means = ground.graph.means(Place(row.service, row.table, key))
    if row.service not in walk.services or row.service == last:
        return None
    for call in ground.index.get((means, row.row_id), ()):
        arguments = filler.given(call.shape, call.arguments, known)
        grounded = arguments is not None and any(item.source is not None for item in arguments)
        if call.shape.service != row.service or arguments is None or not grounded:
            continue
        name = f"s{len(walk.steps) + 1:02d}"
        made = executed_step(ground, walk.state, call.shape, arguments, name, call.pick)
        if made is not None and _fact(made[:1], row, rule.field) is not None:
            return replace(walk, steps=(*walk.steps, made[0]))
    return None


def _with_write(
    ground: Ground,
    walk: Walk,
    shape: ToolShape,
    rule: PolicyRule,
    fact: Known,
    filler: Filler,
    rng: random.Random,
) -> Walk | None:
    drawn = filler.drawn(shape, found_out(walk.steps), must=(fact,))
    arguments = None if drawn is None else _chosen(drawn, rule, rng)
    if arguments is None or as_object(arguments).get(rule.names) != fact.value:
        return None
    name = f"s{len(walk.steps) + 1:02d}"
    made = executed_step(ground, walk.state, shape, arguments, name)
    if made is None or not made[0].changes:
        return None
    step, state = made
    return replace(walk, steps=(*walk.steps, step), state=state)


def _chosen(drawn: Arguments, rule: PolicyRule, rng: random.Random) -> Arguments | None:
    """Return arguments with which the rule applies."""
    chosen: list[Argument] = []
    for item in drawn:
        values = rule.only.get(item.parameter.pointer.removeprefix("/"))
        if values is None or item.value in values:
            chosen.append(item)
        elif item.source is None:
            chosen.append(replace(item, value=rng.choice(list(values))))
        else:
            return None
    names = {item.parameter.pointer.removeprefix("/") for item in chosen}
    return tuple(chosen) if set(rule.only) <= names else None


def _row(ground: Ground, rule: PolicyRule, value: object) -> RowKey | None:
    if value is None:
        return None
    return row_of(rule, ground.graph.blueprints, ground.world.initial, value)


def _fact(
    steps: Sequence[WalkStep], row: RowKey | None, field: str, before: str | None = None
) -> Known | None:
    """Return the first reading of a row's field."""
    for step in steps:
        if step.shape.is_write or (before is not None and step.name >= before):
            continue
        for fact in step.known:
            if fact.row == row and fact.place.field == field:
                return fact
    return None
