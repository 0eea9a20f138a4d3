"""Where a walk may begin, and which reads lead to what its turn needs."""

from __future__ import annotations

from components.task.anchors import Anchor
from components.task.ground import Ground
from components.task.reads import ReadCall

Begin = list[tuple[float, ReadCall]]
Relevant = tuple[tuple[int, ReadCall], ...]
_REACH = 3
"""Reads between the first call and a value that the turn needs."""


def ways_to(ground: Ground, anchor: Anchor) -> tuple[Begin, Relevant]:
    """Return the beginnings and the relevant reads of one of the anchors, found once."""
    found: tuple[Begin, Relevant] | None = ground.ways.get(id(anchor))
    if found is None:
        found = beginnings(ground, anchor), relevant_reads(ground, anchor)
        if any(anchor is other for other in ground.anchors):
            ground.ways[id(anchor)] = found
    return found


def beginnings(ground: Ground, anchor: Anchor) -> Begin:
    """Return the reads from which all that the turn needs can be found, and how far it is."""
    wanted = {
        (item.means, anchor.arguments[item.pointer])
        for item in anchor.trigger.parameters
        if item.pointer in anchor.arguments and item.names_row and not item.is_natural
    }
    wanted |= {need for call in anchor.again[:1] for need in call.needs}
    ways = [ground.beginnings(*key) for key in sorted(wanted, key=str)]  # type: ignore[arg-type]
    if not ways:
        return [(0.0, call) for call in anchor.first_reads if call.can_begin]
    return [
        (0.5 * max(way[call] for way in ways), call)
        for name in sorted(ground.reads)
        for call in ground.reads[name]
        if all(call in way for way in ways)
    ]


def relevant_reads(ground: Ground, anchor: Anchor) -> Relevant:
    """Return the reads that lead to what the turn needs, with their distance from it."""
    index = ground.index
    wanted = {
        (item.means, anchor.arguments[item.pointer])
        for item in anchor.trigger.parameters
        if item.pointer in anchor.arguments
        and item.names_row
        and not item.is_natural
        and item.means is not None
    }
    found: dict[int, tuple[int, ReadCall]] = {}
    layer = list(anchor.first_reads)
    for distance in range(_REACH + 1):
        fresh = [call for call in layer if id(call) not in found]
        found.update({id(call): (distance, call) for call in fresh})
        keys = set(wanted) if distance == 0 else set()
        for call in fresh:
            keys |= call.takes
        layer = [call for key in sorted(keys, key=str) for call in index.get(key, ())]
    return tuple(found.values())
