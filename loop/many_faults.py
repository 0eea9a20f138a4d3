"""Many faults at once: of all kinds, each live by itself, and each where it can be told from the
others.

A task bears at most one fault of its own or of its rubric, a tool, a table, a reaction and a
setting at most one. What of them a round finds is another matter: one fault may hide another.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice

from attribution.change import Change, bind
from attribution.evidence import split_place
from attribution.faults.catalog import all_kinds
from attribution.faults.kinds import Clean, FaultKind, When
from attribution.swap import swap
from components.errors import SynthesisError
from components.records.patch import Component, Patch
from components.records.system import System
from loop.bench_attribution.planting import Ground, planted

_SHARES = {
    Component.ENVIRONMENT: 0.3,
    Component.TASK: 0.3,
    Component.EVALUATOR: 0.3,
    Component.HARNESS: 0.1,
}
"""Share of the faults that each component bears: there is one harness, and every task meets it."""
_MOST_TRIED = 6
"""Candidates of a kind that are tried before the next kind has its turn."""
_GROUP_SIZE = 4


def many_faults(
    system: System, seed: int, count: int, show: Callable[[int], None]
) -> tuple[Patch, ...]:
    """Return faults in the order in which they are planted, fewer than `count` only where places
    run out.

    Args:
        system: clean, with certified tasks.
        seed: of every draw.
        count: how many are wanted.
        show: told how many there are so far.
    """
    rng = random.Random(f"{seed}:many")
    ground = Ground(system=system, group_size=_GROUP_SIZE, per_kind=1, seed=seed)
    faults: list[Patch] = []
    taken: set[str] = set()
    current = system
    for kind in _in_turn(rng, count):
        if len(faults) == count:
            break
        clean = Clean(system=system, rng=rng)
        for change in islice(kind.places(clean), _MOST_TRIED):
            spot = _spot(change)
            if spot in taken:
                continue
            found = _planted(ground, kind, change, current)
            if found is not None:
                patch, current = found
                faults.append(patch)
                taken.add(spot)
                show(len(faults))
                break
    return tuple(faults)


def _in_turn(rng: random.Random, count: int) -> Iterator[FaultKind]:
    """Yield kinds in a drawn order, component by component as often as its share says, and again
    once all have had their turn.
    """
    for _ in range(3):
        for component, share in _SHARES.items():
            kinds = [
                kind
                for kind in all_kinds()
                if kind.component is component and kind.when is When.AFTER
            ]
            rng.shuffle(kinds)
            yield from kinds[: round(share * count)]


def _planted(
    ground: Ground, kind: FaultKind, change: Change, current: System
) -> tuple[Patch, System] | None:
    try:
        alone = bind(ground.system, change)
        patch = bind(current, change)
        after = swap(current, patch)
        swap(ground.system, alone)
    except SynthesisError:
        return None
    instance = planted(ground, kind.key, (alone,))
    if instance is None or not instance.is_live():
        return None
    return patch, after


def _spot(change: Change) -> str:
    """Return what bears at most one fault."""
    artifact, keys = split_place(change.place)
    family, _, name = artifact.partition("/")
    if family in ("task", "rubric"):
        return f"task/{name}"
    return "/".join((artifact, *keys[:2]))
