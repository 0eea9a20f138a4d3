"""The repair stage: candidate patches for each failure mode, kept or rolled back by replay.

A failure mode is the unit. Patches are proposed against the system as the accepted ones before
left it, so that a patch's base is always what it is applied to. A certificate that an accepted
patch lapses is made anew by probing, and is recorded apart from the patch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attribution.accept import Example, accepted_system, decide
from attribution.patchers.propose import propose
from attribution.records import AcceptanceRecord, FailureMode, Party
from components.records.base import Record, to_json
from components.records.frozen import content_hash
from components.records.patch import Patch
from components.records.system import System
from loop.blame import Blamed
from loop.context import RoundContext
from loop.rollouts import Rolled

STAGE = "repair"


class Decided(Record):
    """One candidate patch and what became of it."""

    mode_id: str
    patch: Patch
    acceptance: AcceptanceRecord


@dataclass(frozen=True, slots=True)
class Repaired:
    """The system after the accepted patches, and every decision in order."""

    system: System
    decisions: tuple[Decided, ...]


def repair(context: RoundContext, system: System, rolled: Rolled, blamed: Blamed) -> Repaired:
    """Try to mend every failure mode that blames a component."""
    modes = [mode for mode in blamed.modes if mode.party is not Party.POLICY]

    def compute() -> dict[str, Any]:
        units, done = context.folder.units, context.folder.units.done(STAGE)
        current = system
        for number, mode in enumerate(modes):
            context.console.progress(STAGE, number, len(modes))
            if mode.mode_id not in done:
                decisions = _try_mode(context, current, rolled, blamed, mode)
                units.put(STAGE, mode.mode_id, [to_json(item) for item in decisions])
            current = _after(current, _decisions(context, mode))
        context.console.progress(STAGE, len(modes), len(modes))
        kept = {key: content_hash(body) for key, body in units.done(STAGE).items()}
        return {"decisions": kept, "system": context.keep(current)}

    result = context.folder.run_stage(STAGE, compute)
    context.folder.units.refuse_other_units(STAGE, result["decisions"])
    decisions = tuple(item for mode in modes for item in _decisions(context, mode))
    return Repaired(context.load(result["system"]), decisions)


def _try_mode(
    context: RoundContext, system: System, rolled: Rolled, blamed: Blamed, mode: FailureMode
) -> list[Decided]:
    """Propose patches for one mode and decide them in turn, until one is accepted."""
    evidence = tuple(item for key in mode.rollouts for item in blamed.attributions[key].evidence)
    examples = tuple(
        Example(trajectory=rolled.trajectories[key], scored=rolled.scored[key])
        for key in mode.rollouts
    )
    decisions = []
    for patch in propose(system, mode, evidence, context.config.attribution.patches_per_mode):
        acceptance = decide(system, patch, examples)
        decisions.append(Decided(mode_id=mode.mode_id, patch=patch, acceptance=acceptance))
        if acceptance.accepted:
            break
    return decisions


def _after(system: System, decisions: list[Decided]) -> System:
    for item in decisions:
        if item.acceptance.accepted:
            system = accepted_system(system, item.patch, item.acceptance)
    return system


def _decisions(context: RoundContext, mode: FailureMode) -> list[Decided]:
    bodies = context.folder.units.done(STAGE)[mode.mode_id]
    return [Decided.model_validate(body) for body in bodies]
