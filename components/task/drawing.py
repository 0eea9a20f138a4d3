"""Drawing the walk of one draft, and what its request says beyond the steps.

Owns which anchors are tried, and how long a walk may be so that room is left for what is added to
it. A write for every row of a part of a list counts as one step of the walk.
"""

from __future__ import annotations

import random
from collections.abc import Set
from dataclasses import dataclass

from components.task.anchors import Anchor
from components.task.asides import with_condition, with_restraint
from components.task.clauses import ClauseKind, Names
from components.task.ground import Ground
from components.task.parts import with_count, with_group
from components.task.steps import Walk
from components.task.walk import WalkSearch

_ANCHORS_PER_KIND = 4
_MAX_EXECUTED = 1300
"""Calls executed for one draft before it is given up."""
_LEAST = 3
"""Calls that a turn takes: a read, a write, and the read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a walk should be."""

    k: int
    length: int
    kinds: Set[ClauseKind]


def drawn_walk(ground: Ground, k: int, length: int, rng: random.Random) -> Walk | None:
    """Draw anchors, each kind as likely as another, until one carries a walk."""
    by_kind: dict[tuple[str, str], list[Anchor]] = {}
    for anchor in ground.anchors:
        by_kind.setdefault((anchor.reaction, anchor.field), []).append(anchor)
    search = WalkSearch(ground, k, length, rng)
    kinds = sorted(by_kind)
    rng.shuffle(kinds)
    drawn = {kind: rng.sample(by_kind[kind], len(by_kind[kind])) for kind in kinds}
    for turn in range(_ANCHORS_PER_KIND):
        for kind in kinds:
            if turn < len(drawn[kind]):
                walk = search.find(drawn[kind][turn])
                if walk is not None:
                    return walk
            if search.executed > _MAX_EXECUTED:
                return None
    return None


def walk_with_clauses(ground: Ground, wanted: Wanted, rng: random.Random) -> Walk | None:
    """Return a walk with clauses of some of the kinds wanted, or None when none can be had."""
    names = Names()
    walk = _lengthened(ground, wanted, names, rng)
    if walk is None:
        walk = drawn_walk(ground, wanted.k, wanted.length, rng)
    if walk is None:
        return None
    if ClauseKind.CONDITION in wanted.kinds:
        walk = with_condition(ground, walk, names, rng) or walk
    if ClauseKind.RESTRAINT in wanted.kinds:
        walk = with_restraint(ground, walk, names, rng) or walk
    return walk if walk.clauses else None


def _lengthened(ground: Ground, wanted: Wanted, names: Names, rng: random.Random) -> Walk | None:
    """Return a shorter walk with what makes it as long as wanted, or None."""
    group, count = ClauseKind.EVERY in wanted.kinds, ClauseKind.COUNT in wanted.kinds
    length = wanted.length - 2 * group - count
    if not (group or count) or length < max(_LEAST, wanted.k):
        return None
    walk = drawn_walk(ground, wanted.k, length, rng)
    if walk is not None and group:
        walk = with_group(ground, walk, names.next(), rng)
    if walk is not None and count:
        walk = with_count(ground, walk, rng)
    return walk
