"""The data of a warm start and of a measurement: drafts until there is enough of each kind.

A draft is a unit and a run's stage `gold` is over once there are enough training trajectories, and
enough held-out tasks of each kind or no drafts left to look for them.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from components.errors import ConfigError
from components.records.frozen import content_hash
from components.records.system import System
from components.records.task import RejectedDraft
from loop.context import RoundContext
from loop.policy.config import ErrorRates
from loop.train.config import GoldConfig, HeldOutConfig
from loop.train.gold import GOLD, GoldDraft, GoldGround, GoldNumber, GoldWay
from loop.train.split import HELD_OUT, Kind

STAGE = "gold"
_NO_SLIPS = ErrorRates(skip_step=0.0, stale_value=0.0, wrong_argument=0.0, malformed_call=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldData:
    """What is trained on and what is measured on, in the order of their drafts."""

    train: tuple[GoldDraft, ...]
    held_out: tuple[GoldDraft, ...]
    drafted: int
    rejected: dict[str, int]
    """Reason -> drafts."""

    def counts(self) -> dict[str, int]:
        """Return what there is, for a report."""
        kinds = Counter(draft.kind.value for draft in self.held_out)
        return {
            "train": len(self.train),
            "with_slips": sum(bool(draft.slips) for draft in self.train),
            **{f"held_out.{kind}": count for kind, count in sorted(kinds.items())},
            "drafted": self.drafted,
            "rejected": sum(self.rejected.values()),
        }


def draw_gold(
    context: RoundContext, system: System, held_out: HeldOutConfig, gold: GoldConfig | None
) -> GoldData:
    """Draft, play and tell apart until there is enough.

    Args:
        context: the open run.
        system: services, and no tasks.
        held_out: how many held-out tasks.
        gold: how many training trajectories, and how they are played; None: none.

    Raises:
        ConfigError: too few drafts became tasks to train on, or none to measure on.
    """
    wanted = gold.trajectories if gold else 0
    way = GoldWay(
        seed=context.config.seed,
        shorter_walks=held_out.shorter_walks,
        fewer_distractors=held_out.fewer_distractors,
        slip_share=gold.slip_share if gold else 0.0,
        error_rates=gold.error_rates if gold else _NO_SLIPS,
    )
    ground = GoldGround(system=system, sizes=context.config.task, way=way)
    most = max(held_out.max_drafts, wanted * context.config.task.max_drafts_per_task)
    per_kind = -(-held_out.tasks // len(HELD_OUT))
    taken: dict[Kind, list[GoldDraft]] = {kind: [] for kind in Kind}
    caps = {kind: wanted if kind is Kind.TRAIN else per_kind for kind in Kind}
    rejected: Counter[str] = Counter()
    seen: set[str] = set()
    drafted = 0
    units = context.folder.units
    done = units.done(STAGE)
    numbers = ((f"{n:06d}", GoldNumber(number=n)) for n in range(most) if f"{n:06d}" not in done)
    with closing(context.pool.map(GOLD, ground, numbers)) as results:
        for number in range(most):
            is_searching = drafted < held_out.max_drafts
            lacking = [kind for kind in Kind if len(taken[kind]) < caps[kind]]
            if not lacking or (not is_searching and Kind.TRAIN not in lacking):
                break
            key = f"{number:06d}"
            if key not in done:
                _, done[key] = next(results)
                units.put(STAGE, key, done[key])
            drafted += 1
            with units.reading(STAGE, key):
                draft = _read(done[key])
            if isinstance(draft, RejectedDraft):
                rejected[draft.reason] += 1
            elif not draft.scored.passed:
                rejected["gold_not_passed"] += 1
            elif draft.task.instruction in seen:
                rejected["duplicate"] += 1
            elif len(taken[draft.kind]) < caps[draft.kind]:
                seen.add(draft.task.instruction)
                taken[draft.kind].append(draft)
                found = sum(map(len, taken.values()))
                context.console.progress(STAGE, found, sum(caps.values()))
    measured = [draft for kind in HELD_OUT for draft in taken[kind]]
    _refuse_too_few(len(taken[Kind.TRAIN]), wanted, len(measured), drafted, rejected)
    return GoldData(
        train=tuple(taken[Kind.TRAIN]),
        held_out=tuple(measured),
        drafted=drafted,
        rejected=dict(sorted(rejected.items())),
    )


def content_of(drafts: tuple[GoldDraft, ...]) -> str:
    """Return the hash of what drafts were played to."""
    return content_hash([[draft.task.task_id, draft.trajectory.final_state] for draft in drafts])


def _read(body: Any) -> GoldDraft | RejectedDraft:
    if "rejected" in body:
        return RejectedDraft.model_validate(body["rejected"])
    return GoldDraft.model_validate(body["gold"])


def _refuse_too_few(
    train: int, wanted: int, held_out: int, drafted: int, rejected: Counter[str]
) -> None:
    reasons = ", ".join(f"{reason} {count}" for reason, count in rejected.most_common(3))
    mend = (
        "change task.k, task.walk_length or task.domains, or raise task.max_drafts_per_task and "
        "held_out.max_drafts, and give run= another name"
    )
    if train < wanted:
        raise ConfigError(
            f"gold.trajectories: only {train} of {wanted} could be made in {drafted} drafts "
            f"({reasons or 'the others are held out'}); lower it, {mend}"
        )
    if not held_out:
        why = reasons or "all are for training"
        raise ConfigError(f"held_out.tasks: none in {drafted} drafts ({why}); {mend}")
