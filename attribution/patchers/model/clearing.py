"""Whether anything speaks against a place: before a model is asked, and with its patch, before the
gates are.

The rules propose only what does. A patch that mends one thing and spoils another in what it touches
may still leave less open than there was; it is handed back with what speaks against it then.
"""

from __future__ import annotations

from collections.abc import Sequence

from attribution.accept import tasks_with
from attribution.evidence import same_place, touched_places
from attribution.facts import reviewed, still_holds
from attribution.records import Evidence, FailureMode
from attribution.swap import swap
from components.errors import BoundaryError, SynthesisError, boundary
from components.model.answers import Unusable
from components.records.patch import Patch
from components.records.system import System

_MAX_FACTS = 4


def check_cleared(
    system: System, mode: FailureMode, facts: Sequence[Evidence], patch: Patch
) -> None:
    """Make sure that nothing speaks against what a patch touches, or was to mend.

    Args:
        system: the system as it is.
        mode: what is to be mended.
        facts: what speaks against it.
        patch: the patch, which applies.

    Raises:
        Unusable: something does; the text says what.
    """
    try:
        with boundary(SynthesisError, "review"):
            places = [*touched_places(patch), mode.place]
            said = speaks(swap(system, patch), mode, facts, places)
    except BoundaryError as error:
        raise Unusable(f"with it, the system cannot be looked at: {error}") from error
    if said:
        raise Unusable(f"with it, this speaks against what it touches: {said}")


def speaks(
    system: System, mode: FailureMode, facts: Sequence[Evidence], places: Sequence[str]
) -> str:
    """Return the first thing that speaks against a place of the mode's component; empty where
    nothing does.

    Args:
        system: the system to look at.
        mode: whose component is looked at.
        facts: facts that are held against the system again.
        places: other facts count only where they speak against one of these.
    """
    for fact in facts[:_MAX_FACTS]:
        if still_holds(system, fact):
            return fact.statement
    for task_id in tasks_with(system, mode.place.partition("#")[0]):
        for fact in reviewed(system, task_id, mode.party):
            is_there = any(same_place(fact.place, place) for place in places)
            if fact.against and fact.party is mode.party and is_there:
                return fact.statement
    return ""
