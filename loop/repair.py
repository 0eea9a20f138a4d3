"""The repair stage: candidate patches for each failure mode, kept or rolled back by replay.

What is tried for one failure mode in one pass is the unit; `loop.mending` has the order of passes.
A certificate that an accepted patch lapses is made anew by probing, and is recorded apart from the
patch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attribution.accept import Example
from attribution.records import FailureMode, Party
from components.records.base import to_json
from components.records.frozen import content_hash
from components.records.system import System
from loop.blame import Blamed
from loop.context import RoundContext
from loop.mending import Decided, mend_all, tried_patches
from loop.rollouts import Rolled
from loop.units import UnitLog

STAGE = "repair"


@dataclass(frozen=True, slots=True)
class Repaired:
    """The system after the accepted patches, and every decision in order."""

    system: System
    decisions: tuple[Decided, ...]


def repair(context: RoundContext, system: System, rolled: Rolled, blamed: Blamed) -> Repaired:
    """Try to mend every failure mode that blames a component."""
    modes = [mode for mode in blamed.modes if mode.party is not Party.POLICY]
    work = _Work(context, rolled, blamed, tuple(modes))

    def compute() -> dict[str, Any]:
        current = work.run(system)
        done = context.folder.units.done(STAGE)
        kept = {key: content_hash(body) for key, body in done.items()}
        return {"decisions": kept, "system": context.keep(current)}

    result = context.folder.run_stage(STAGE, compute)
    context.folder.units.refuse_other_units(STAGE, result["decisions"])
    return Repaired(context.load(result["system"]), decisions_of(context.folder.units))


def decisions_of(units: UnitLog) -> tuple[Decided, ...]:
    """Return every decision of a round, in the order in which they were made."""
    found = units.record_lists(STAGE, Decided)
    return tuple(item for key in sorted(found) for item in found[key])


@dataclass(frozen=True, slots=True)
class _Work:
    context: RoundContext
    rolled: Rolled
    blamed: Blamed
    modes: tuple[FailureMode, ...]

    def run(self, system: System) -> System:
        """Mend what can be mended; what is recorded is not tried again."""
        self._show(0)
        system = mend_all(system, self.modes, self._decide, self._show)
        self._show(len(self.modes))
        return system

    def _show(self, num_mended: int) -> None:
        total = len(self.modes)
        self.context.console.progress(STAGE, num_mended if total else 1, max(total, 1))

    def _decide(self, key: str, system: System, mode: FailureMode, removals: bool) -> list[Decided]:
        units = self.context.folder.units
        if key not in units.keys(STAGE):
            decisions = self._try(system, mode, removals)
            units.put(STAGE, key, [to_json(item) for item in decisions])
        return units.record_lists(STAGE, Decided, key)[key]

    def _try(self, system: System, mode: FailureMode, removals: bool) -> list[Decided]:
        found = self.blamed.attributions.values()
        evidence = tuple(item for attribution in found for item in attribution.evidence)
        examples = tuple(
            Example(trajectory=self.rolled.trajectories[key], scored=self.rolled.scored[key])
            for key in mode.rollouts
        )
        most = self.context.config.attribution.patches_per_mode
        return tried_patches(system, mode, evidence, examples, most, removals)
