"""Drawing the walk of one draft, and what its request says beyond the steps.

Owns which anchors are tried, and how long a walk may be so that room is left for what is added to
it. A write for every row of a part of a list counts as one step of the walk.
"""

from __future__ import annotations

import random
from collections.abc import Set
from dataclasses import dataclass, replace

from components.task.anchors import Anchor
from components.task.asides import with_condition, with_date, with_restraint
from components.task.beginnings import ways_to
from components.task.clauses import ClauseKind, Names
from components.task.graph import Place
from components.task.ground import Ground
from components.task.longer import tool_name
from components.task.parts import with_count, with_group
from components.task.purposes import purposes
from components.task.steps import Walk
from components.task.texts import with_fitting_texts
from components.task.walk import LONGEST, WalkSearch

_ANCHORS_PER_KIND = 4
_MAX_EXECUTED = 1300
"""Calls executed for one draft before it is given up."""
_MAX_OF_PURPOSE = 400
"""Calls executed for one purpose before another is tried."""
_LENGTHENED = 0.25
"""Share of the very long walks that are looked for with a list at their end."""
_DATED = 0.5
"""Share of the drafts with a date that look for a purpose that is about dates."""
_THERE = 0.5
"""Share of the walks with a purpose whose list is in a service that they have been in."""
_LISTS = 4
"""Walks at whose end a list is looked for."""
_PICKING = 0.25
"""Share of the walks with a purpose for which rows are looked for that are picked of a list."""
_LEAST_K = 2
"""Services that a reaction joins."""
_LEAST = 3
"""Calls that a turn takes: a read, a write, and the read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a walk should be."""

    k: int
    length: int
    kinds: Set[ClauseKind]
    purpose: str = ""
    """What the walk is for; empty: its writes need have nothing in common."""


def drawn_walk(
    ground: Ground, k: int, length: int, rng: random.Random, purpose: str = ""
) -> Walk | None:
    """Draw anchors, each kind as likely as another, until one carries a walk.

    Args:
        ground: all services, explored.
        k: K.
        length: L.
        rng: every choice.
        purpose: what all writes must serve; empty: they need have nothing in common.
    """
    by_kind: dict[tuple[str, str], list[Anchor]] = {}
    for anchor in ground.anchors:
        if purpose and not purposes().turns(anchor.trigger, _changed(anchor), purpose):
            continue
        by_kind.setdefault((anchor.reaction, anchor.field), []).append(anchor)
    search = WalkSearch(ground, k, length, rng, purpose)
    kinds = sorted(by_kind)
    rng.shuffle(kinds)
    drawn = {kind: rng.sample(by_kind[kind], len(by_kind[kind])) for kind in kinds}
    if purpose and rng.random() < _PICKING:
        search.wants_pick()
        for anchors in drawn.values():
            anchors.sort(key=lambda anchor: not _is_picked(ground, anchor))
    for turn in range(_ANCHORS_PER_KIND):
        for kind in kinds:
            if turn < len(drawn[kind]):
                walk = search.find(drawn[kind][turn])
                if walk is not None:
                    return walk
            if search.executed > (_MAX_OF_PURPOSE if purpose else _MAX_EXECUTED):
                return None
    return None


def _is_picked(ground: Ground, anchor: Anchor) -> bool:
    """Return whether a row of the turn can be picked of a list that the walk may begin with."""
    rows = {
        (item.means, anchor.arguments[item.pointer])
        for item in anchor.trigger.parameters
        if item.pointer in anchor.arguments and item.names_row
    }
    return any(
        call.pick is not None and any((fact.means, fact.value) in rows for fact in call.shows)
        for _distance, call in ways_to(ground, anchor)[1]
    )


def _changed(anchor: Anchor) -> Place:
    """Return the field that the reaction of an anchor changes."""
    return Place(anchor.row.service, anchor.row.table, anchor.field)


def lengthened(ground: Ground, wanted: Wanted, names: Names, rng: random.Random) -> Walk | None:
    """Return a shorter walk with what makes it as long as wanted, or None.

    Where K leaves room for it, the list is in a service that the walk has not been in; with a
    purpose, every second time.
    """
    group, count = ClauseKind.EVERY in wanted.kinds, ClauseKind.COUNT in wanted.kinds
    has_been = bool(wanted.purpose) and rng.random() < _THERE
    k = max(_LEAST_K, wanted.k - (not has_been))
    if group and count and wanted.length - 3 < max(_LEAST, k):
        count = False
    length = wanted.length - 2 * group - count
    if not (group or count) or length < max(_LEAST, k):
        return None
    walk = drawn_walk(ground, k, length, rng, wanted.purpose)
    if walk is not None and group:
        walk = with_group(ground, walk, wanted.k, names.next(), rng, wanted.purpose)
    if walk is not None and count:
        walk = with_count(ground, walk, wanted.k, rng, wanted.purpose)
    return walk


def purposeful(ground: Ground, wanted: Wanted, rng: random.Random) -> Walk | None:
    """Return a walk whose writes serve one purpose, with what is wanted of it, or None.

    Args:
        ground: all services, explored.
        wanted: what it should be; the purpose is drawn.
        rng: every choice.
    """
    lists = sorted(wanted.kinds & {ClauseKind.EVERY, ClauseKind.COUNT})
    if len(lists) > 1:  # there is hardly a walk with room for both
        wanted = replace(wanted, kinds=wanted.kinds - {rng.choice(lists)})
    is_dated = rng.random() < _DATED
    kinds = [kind.value for kind in wanted.kinds if kind is not ClauseKind.DATE or is_dated]
    turning = {(tool_name(item.trigger), _changed(item)): item.trigger for item in ground.anchors}
    has_compiled = any(map(ground.graph.is_compiled, ground.world.services))
    possible = [
        name
        for name in purposes().names(wanted.k, kinds, with_compiled=has_compiled)
        if any(purposes().turns(turning[key], key[1], name) for key in turning)
    ]
    if not possible:
        return None
    wanted = replace(wanted, purpose=rng.choice(possible))
    names = Names()
    # Of very long walks few are found: what most of them cannot have is looked for now and then.
    is_long = wanted.length >= LONGEST
    is_tried = not is_long or rng.random() < _LENGTHENED
    tries = (1 if is_long else _LISTS) if is_tried and lists else 0
    walk = None
    for _number in range(tries):
        walk = walk or lengthened(ground, wanted, names, rng)
    if walk is None:
        walk = drawn_walk(ground, wanted.k, wanted.length, rng, wanted.purpose)
    if walk is None:
        return None
    return with_fitting_texts(with_asides(ground, walk, wanted, names, rng), rng)


def with_asides(
    ground: Ground, walk: Walk, wanted: Wanted, names: Names, rng: random.Random
) -> Walk:
    """Return the walk with what is wanted of it and adds no call, where that can be had."""
    if ClauseKind.CONDITION in wanted.kinds:
        walk = with_condition(ground, walk, names, rng, wanted.purpose) or walk
    if ClauseKind.RESTRAINT in wanted.kinds:
        walk = with_restraint(ground, walk, names, rng, wanted.purpose) or walk
    if ClauseKind.DATE in wanted.kinds:
        walk = with_date(ground, walk, rng) or walk
    return walk
