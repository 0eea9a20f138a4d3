"""How failure modes are mended, whoever records it: passes over the modes, patches tried in turn.

Patches are proposed against the system as the accepted ones before left it, so that a patch's base
is always what it is applied to. A patch that another defect still stands in the way of is tried
again once others have been repaired. A model, where there is one, is asked once for what no rule
mends; taking a tool or a task out of service comes last of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto

from attribution.accept import accepted_system
from attribution.patchers.propose import propose
from attribution.records import AcceptanceRecord, Evidence, FailureMode
from components.records.patch import Patch
from components.records.system import System
from loop.decided import Decided, is_removal


class Means(Enum):
    """What is tried in one pass over the failure modes."""

    REPAIRS = auto()
    """Patches by rule that mend."""
    MODEL = auto()
    """Patches by a model."""
    REMOVALS = auto()
    """Patches by rule that take something out of service."""


BY_RULE = (Means.REPAIRS, Means.REMOVALS)
WITH_MODEL = (Means.REPAIRS, Means.MODEL, Means.REPAIRS, Means.REMOVALS)
"""What a model mends may let a rule mend the rest."""
Decide = Callable[[str, System, FailureMode, Means], list[Decided]]
"""(key of the attempt, system as it is, mode, what is tried) -> what was decided."""
DecidePatch = Callable[[System, Patch], AcceptanceRecord]
"""(system as it is, patch) -> what the gates, or a person, say of it."""


def mend_all(
    system: System,
    modes: Sequence[FailureMode],
    decide_mode: Decide,
    show: Callable[[int], None] | None = None,
    order: Sequence[Means] = BY_RULE,
) -> System:
    """Go over the failure modes with one means after the other: with repairs until a pass mends
    nothing more, with the others once.

    Args:
        system: the system as it is.
        modes: modes that blame a component, the costliest first.
        decide_mode: tries patches for one mode; an accepted one is the last of its list.
        show: told how many modes are mended.
        order: what is tried, in turn.
    """
    open_modes, number, is_new = list(modes), 0, True
    for means in order:
        while open_modes and (is_new or means is not Means.REPAIRS):
            before = len(open_modes)
            for mode in list(open_modes):
                key = f"{number:02d}-{modes.index(mode):03d}-{mode.mode_id}"
                decisions = decide_mode(key, system, mode, means)
                system = system_after(system, decisions)
                if any(item.acceptance.accepted for item in decisions):
                    open_modes.remove(mode)
                    if show is not None:
                        show(len(modes) - len(open_modes))
            number, is_new = number + 1, len(open_modes) < before
            if means is not Means.REPAIRS:
                break
    return system


def tried_patches(
    system: System,
    mode: FailureMode,
    evidence: Sequence[Evidence],
    decide_patch: DecidePatch,
    most: int,
    means: Means,
) -> Iterator[Decided]:
    """Propose patches for one mode and decide them in turn, until one is accepted.

    Each is tried only when it is asked for.

    Args:
        system: the system as it is.
        mode: what is to be mended.
        evidence: of all verdicts.
        decide_patch: says what becomes of a patch.
        most: patches that are proposed, at most.
        means: which patches by rule are wanted, repairs or removals.
    """
    for patch in propose(system, mode, evidence, most):
        if is_removal(patch) is not (means is Means.REMOVALS):
            continue
        acceptance = decide_patch(system, patch)
        yield Decided(mode_id=mode.mode_id, patch=patch, acceptance=acceptance)
        if acceptance.accepted:
            break


def system_after(system: System, decisions: Sequence[Decided]) -> System:
    """Return the system with the accepted patches."""
    for item in decisions:
        if item.acceptance.accepted:
            system = accepted_system(system, item.patch, item.acceptance)
    return system
