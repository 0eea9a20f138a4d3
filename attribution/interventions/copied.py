"""Whether the oracle, in some arm, does what a rollout did in the turn that lost it."""

from __future__ import annotations

import math

from attribution.interventions.runs import what_was_read
from components.records.trajectory import Trajectory, Turn

NEVER = math.inf


def num_looks(oracle: Trajectory, start: int, own: Turn, is_script: bool) -> float:
    """Return the turns of looking after which the oracle does the same; `NEVER` where it does not.

    A turn that changes nothing may be left out by a script, which goes on with gold all the same.
    A model decides by what it has seen: for a model only the oracle's very next turn counts.

    Args:
        oracle: a run that says a rollout's texts and goes on by the oracle.
        start: the first turn of the oracle's own.
        own: the rollout's turn at that place.
        is_script: whether the rollout is a script's, which plays gold.
    """
    recorded, turns = what_was_read(own), oracle.turns[start:]
    if not is_script:
        is_same = bool(turns and recorded) and what_was_read(turns[0]) == recorded
        return 0 if is_same else NEVER
    for number, turn in enumerate(turns):
        if what_was_read(turn) in ([], recorded):
            return number
        if any(item.call is None or item.call.changes for item in turn.observations):
            break
    return NEVER
