"""The guard stage: pairs of sampled outcomes may take an accepted patch back, and do nothing else.

Two looks at each patch: at the two passes of its own round, which share their seeds, and, while the
same policy plays, at the first passes of its round and the next. What is harmful is undone by an
appended patch. Where a round's patches together cost passes, the next round starts without them.
The stage is one unit, made of recorded passes alone: killed and run again, it comes out the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attribution.accept import affected_tasks
from attribution.guard import Guards, guard_patches
from attribution.records import Guard, GuardVerdict
from attribution.swap import body_of, swap
from attribution.undo import undoing, undone
from components.errors import BoundaryError, SynthesisError, boundary
from components.records.base import to_json
from components.records.patch import Patch
from components.records.system import System
from loop.blame import Blamed
from loop.context import RoundContext
from loop.decided import Fate
from loop.guard_pairs import Pairs, paired, round_before
from loop.guard_records import (
    STAGE,
    GuardRound,
    Rollback,
    Undone,
    taken_back,
)
from loop.pinning import Passed, entries_of, with_regressions
from loop.repair import Repaired
from loop.reviews import change_key
from loop.rollouts import Rolled


@dataclass(frozen=True, slots=True)
class Guarded:
    """The system that the round leaves, and what the guard found."""

    system: System
    record: GuardRound

    def learned_from(self, rolled: Rolled) -> Rolled:
        """Return the part of a pass that no harmful patch touches."""
        tasks = {item.task_id for item in rolled.trajectories.values()}
        return rolled.only(tuple(sorted(tasks - {*self.record.left_out})))


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Patches that came between two passes, and what the pairs say of them."""

    patches: Mapping[str, Patch]
    """In the order in which they were accepted."""
    rounds: Mapping[str, int]
    """Patch -> round that kept it, or that began with it after a review."""
    olds: Mapping[str, Any]
    """Patch -> its artifact as it was before it."""
    tasks: Mapping[str, frozenset[str]]
    guards: Guards
    void: tuple[str, ...]

    @property
    def harmful(self) -> list[Guard]:
        """What the pairs speak against, the last accepted first."""
        found = [it for it in self.guards.patches if it.verdict is GuardVerdict.HARMFUL]
        return found[::-1]


def guard(
    context: RoundContext,
    system: System,
    before: Rolled,
    blamed: Blamed,
    repaired: Repaired,
    after: Rolled,
) -> Guarded:
    """Hold the outcomes against the accepted patches.

    Args:
        context: the open round.
        system: the system that the first pass ran on.
        before: the first pass.
        blamed: its verdicts.
        repaired: the system after the accepted patches, and every decision.
        after: the second pass.
    """

    def compute() -> dict[str, Any]:
        kept = [item.patch for item in repaired.decisions if item.fate is Fate.KEPT]
        patches = {patch.patch_id: patch for patch in kept}
        rounds = dict.fromkeys(patches, context.number)
        pairs = paired(system, before, blamed.attributions, after)
        own = _look(context, system, patches, rounds, _olds(system, patches), pairs)
        earlier = _earlier_look(context, system, before)
        return _concluded(context, system, Passed(before, blamed), repaired, own, earlier)

    result = context.folder.run_stage(STAGE, compute)
    record = GuardRound.model_validate(result["record"])
    for item in record.rollbacks:
        context.console.line(f"guard: patch {item.patch_id} ({item.how.value}): {item.reason}")
    return Guarded(context.load(result["system"]), record)


def _earlier_look(context: RoundContext, system: System, now: Rolled) -> Look | None:
    """Look again at the patches that came between the round before and this one."""
    past = round_before(context, now)
    if past is None:
        return None
    gone = taken_back(past.rollbacks, context.number - 1)
    kept = [it.patch for it in past.decisions if it.fate is Fate.KEPT]
    patches = {patch.patch_id: patch for patch in kept}
    olds = _olds(past.system, patches)
    reviewed = {item.decided.patch.patch_id: item for item in past.reviewed}
    accepted = {key: item.decided.patch for key, item in reviewed.items()}
    olds |= _olds(past.left, accepted)
    standing = {key: patch for key, patch in patches.items() if key not in gone} | accepted
    rounds = dict.fromkeys(standing, context.number - 1)
    rounds |= dict.fromkeys(accepted, context.number)
    pairs = paired(past.system, past.rolled, past.attributions, now)
    return _look(context, system, standing, rounds, olds, pairs)


def _look(
    context: RoundContext,
    system: System,
    patches: Mapping[str, Patch],
    rounds: Mapping[str, int],
    olds: Mapping[str, Any],
    pairs: Pairs,
) -> Look:
    tasks = {key: _touched(system, patch) for key, patch in patches.items()}
    settings = context.config.attribution
    return Look(
        patches=patches,
        rounds=rounds,
        olds=olds,
        tasks=tasks,
        guards=guard_patches(pairs.pairs, tasks, settings.guard_margin, settings.guard_alpha),
        void=pairs.void if patches else (),
    )


def _touched(system: System, patch: Patch) -> frozenset[str]:
    """Return the tasks whose outcomes a patch can change; what it retires has none after it."""
    return frozenset() if patch.artifact == "retired" else frozenset(affected_tasks(system, patch))


def _olds(system: System, patches: Mapping[str, Patch]) -> dict[str, Any]:
    """Return each patch's artifact as it was before it."""
    olds = {}
    for key, patch in patches.items():
        olds[key] = body_of(system, patch.artifact)
        system = swap(system, patch)
    return olds


def _concluded(
    context: RoundContext,
    system: System,
    passed: Passed,
    repaired: Repaired,
    own: Look,
    earlier: Look | None,
) -> dict[str, Any]:
    rollbacks: list[Rollback] = []
    current, whole = repaired.system, own.guards.whole
    looks = [own] if earlier is None else [own, earlier]
    left_out = {
        task for look in looks for item in look.harmful for task in look.tasks[item.patch_id]
    }
    if whole is not None and whole.verdict is GuardVerdict.HARMFUL:
        current = system
        left_out.update(*own.tasks.values())
        for key, patch in own.patches.items():
            why = f"all patches of the round together: {_figures(whole)}"
            rollbacks.append(_rollback(own, key, patch, Undone.WITH_ROUND, why))
    else:
        current = _take_back(own, current, rollbacks)
    if earlier is not None:
        current = _take_back(earlier, current, rollbacks)
    record = GuardRound(
        guards=own.guards.patches,
        whole=whole,
        earlier=() if earlier is None else earlier.guards.patches,
        rollbacks=tuple(rollbacks),
        void=own.void,
        left_out=tuple(sorted(left_out)),
    )
    record = with_regressions(context, current, entries_of(current, passed, repaired), record)
    return {"record": to_json(record), "system": context.keep(current)}


def _take_back(look: Look, current: System, rollbacks: list[Rollback]) -> System:
    """Undo what is harmful, as far as nothing later stands on it."""
    for item in look.harmful:
        patch, why = look.patches[item.patch_id], _figures(item)
        reason = f"takes {patch.patch_id} back: {why}"
        try:
            with boundary(SynthesisError, f"take {patch.patch_id} back"):
                undo = undoing(current, patch, look.olds[item.patch_id], reason)
                current = undone(current, undo)
        except BoundaryError as error:
            stands = _rollback(look, item.patch_id, patch, Undone.STANDS, f"{why}; {error}")
            rollbacks.append(stands)
            continue
        made = _rollback(look, item.patch_id, patch, Undone.BY_PATCH, why)
        rollbacks.append(made.model_copy(update={"undo": undo}))
    return current


def _rollback(look: Look, key: str, patch: Patch, how: Undone, reason: str) -> Rollback:
    return Rollback(
        patch_id=key,
        accepted_in=look.rounds[key],
        artifact=patch.artifact,
        change=change_key(patch),
        how=how,
        reason=reason,
    )


def _figures(item: Guard) -> str:
    return (
        f"{item.lost} of {item.pairs} pairs passed before and fail after, {item.won} the other way "
        f"(p {item.p:.2g}, alpha {item.alpha:.2g})"
    )
