"""The repair stage: candidate patches for each failure mode, kept or rolled back by replay.

What is tried for one failure mode in one pass is the unit; `loop.mending` has the order of passes.
A certificate that an accepted patch lapses is made anew by probing, and is recorded apart from the
patch. With `attribution.patcher=model` a model is asked where no rule mends (`loop.asking`).

With `attribution.accept=review` all goes the same way, but what passes every gate is held: the
round ends with the system that it began with, and a person has the last word (`loop.reviews`). A
change that was rejected is not held again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from attribution.accept import Example, decide
from attribution.patchers.model.records import Attempt
from attribution.records import AcceptanceRecord, FailureMode, Party, Regression
from components.artifacts import component_versions
from components.records.base import to_json
from components.records.frozen import FrozenDict, content_hash
from components.records.patch import Patch
from components.records.system import System
from loop.asking import ASKED, Asker
from loop.blame import Blamed
from loop.context import RoundContext
from loop.decided import STAGE, Decided, decisions_of
from loop.guard_records import live_entries, taken_back_changes
from loop.mending import BY_RULE, WITH_MODEL, DecidePatch, Means, mend_all, tried_patches
from loop.reviews import change_key, rejected_changes
from loop.rollouts import Rolled


@dataclass(frozen=True, slots=True)
class Repaired:
    """The system after the patches that are kept, and every decision in order."""

    system: System
    decisions: tuple[Decided, ...]


def repair(context: RoundContext, system: System, rolled: Rolled, blamed: Blamed) -> Repaired:
    """Try to mend every failure mode that blames a component."""
    modes = [mode for mode in blamed.modes if mode.party is not Party.POLICY]
    is_reviewed = context.config.attribution.accept == "review"
    refused = {
        **taken_back_changes(context.folder, context.number),
        **rejected_changes(context.folder.path.parent, context.number),
    }
    pinned = live_entries(context.folder, context.number)
    asker = Asker(context)
    work = _Work(context, rolled, blamed, tuple(modes), is_reviewed, refused, pinned, asker)

    def compute() -> dict[str, Any]:
        current = work.run(system)
        done = context.folder.units.done(STAGE)
        kept = {key: content_hash(body) for key, body in done.items()}
        return {"decisions": kept, "system": context.keep(system if is_reviewed else current)}

    result = context.folder.run_stage(STAGE, compute)
    context.folder.units.refuse_other_units(STAGE, result["decisions"])
    return Repaired(context.load(result["system"]), decisions_of(context.folder.units))


@dataclass(frozen=True, slots=True)
class _Work:
    context: RoundContext
    rolled: Rolled
    blamed: Blamed
    modes: tuple[FailureMode, ...]
    is_reviewed: bool
    """Whether what passes every gate waits for a person."""
    refused: dict[str, str]
    """Changes that a person rejected or the guard took back, by `change_key`, with the reason."""
    pinned: tuple[Regression, ...]
    """Entries of the regression set when the round began."""
    asker: Asker
    """Used only where a model is configured."""

    def run(self, system: System) -> System:
        """Mend what can be mended; what is recorded is not tried again."""
        has_model = self.context.config.attribution.patcher.kind == "model"
        order = WITH_MODEL if has_model else BY_RULE
        self._show(0)
        system = mend_all(system, self.modes, self._decide, self._show, order)
        self._show(len(self.modes))
        return system

    def _show(self, num_mended: int) -> None:
        total = len(self.modes)
        self.context.console.progress(STAGE, num_mended if total else 1, max(total, 1))

    def _decide(self, key: str, system: System, mode: FailureMode, means: Means) -> list[Decided]:
        units = self.context.folder.units
        if key not in units.keys(STAGE):
            # Keys come in one order, so that what is recorded is what came before.
            before = decisions_of(units)
            most = self.context.config.attribution.max_patches
            if most is not None and len(before) >= most:
                return []
            left = None if most is None else most - len(before)
            tried, asked = self._try(system, mode, means, before, left)
            held = [
                item.model_copy(update={"is_held": self.is_reviewed and item.acceptance.accepted})
                for item in tried
            ]
            bodies: dict[tuple[str, str], Any] = {(STAGE, key): [to_json(item) for item in held]}
            if asked is not None:
                bodies[ASKED, key] = to_json(asked)
            units.put_each(bodies)
        return units.record_lists(STAGE, Decided, key)[key]

    def _try(
        self,
        system: System,
        mode: FailureMode,
        means: Means,
        before: Sequence[Decided],
        left: int | None,
    ) -> tuple[list[Decided], Attempt | None]:
        found = self.blamed.attributions.values()
        evidence = tuple(item for attribution in found for item in attribution.evidence)
        decide_patch = self._gates(mode, before)
        if means is Means.MODEL:
            asked, decided = self.asker.ask(
                system, mode, evidence, before, lambda patch: decide_patch(system, patch), left
            )
            return decided, asked
        most = self.context.config.attribution.patches_per_mode
        tried = tried_patches(system, mode, evidence, decide_patch, most, means)
        return list(islice(tried, left)), None

    def _gates(self, mode: FailureMode, before: Sequence[Decided]) -> DecidePatch:
        """Return what decides about a patch, whoever proposed it."""
        examples = tuple(
            Example(trajectory=self.rolled.trajectories[key], scored=self.rolled.scored[key])
            for key in mode.rollouts
        )
        accepted = [item.acceptance for item in before if item.acceptance.accepted]
        pinned = (*self.pinned, *(entry for it in accepted for entry in it.regressions))

        def decide_patch(system: System, patch: Patch) -> AcceptanceRecord:
            key = change_key(patch)
            if key in self.refused:
                return _refused(system, patch, self.refused[key])
            return decide(system, patch, examples, pinned)

        return decide_patch


def _refused(system: System, patch: Patch, reason: str) -> AcceptanceRecord:
    versions = component_versions(system)
    return AcceptanceRecord(
        patch_id=patch.patch_id,
        accepted=False,
        reason=reason,
        checks=FrozenDict(),
        versions_before=versions,
        versions_after=versions,
    )
