"""What the product makes of a faulty system: verdicts, failure modes, patches.

This side sees the faulty system and its rollouts, and nothing else: no clean version, no label, no
name of a fault. A lint keeps the faults out of its imports, and where work runs in processes of
their own, nothing of them is in this one's memory.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from attribution.accept import Example, decide
from attribution.attribute import attribute_trajectory
from attribution.meter import Cost, measuring
from attribution.modes import failure_modes
from attribution.records import Attribution, FailureMode, Party
from components.records.base import Record, to_json
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, Trajectory
from loop.compute.jobs import Job, Work
from loop.decided import Decided
from loop.mending import Means, mend_all, tried_patches


class Rules(Record):
    """What all cases share."""

    patches_per_mode: int
    repairs: bool
    """False: verdicts only."""


class Case(Record):
    """One system and its rollouts."""

    system: System
    trajectories: tuple[Trajectory, ...]
    scored: tuple[ScoredTrajectory, ...]


class Judged(Record):
    """What the product says of one case, and what it did about it."""

    attributions: tuple[Attribution, ...]
    modes: tuple[FailureMode, ...]
    decisions: tuple[Decided, ...]
    seconds: float
    """That the verdicts took."""
    cost: FrozenDict[str, Cost]
    """What they took by intervention."""


def judge(rules: Rules, case: Case) -> Judged:
    """Attribute every rollout of a case, and mend what is blamed."""
    passed: dict[str, list[Trajectory]] = {}
    for trajectory, scored in zip(case.trajectories, case.scored, strict=True):
        if scored.passed:
            passed.setdefault(trajectory.task_id, []).append(trajectory)
    started = time.perf_counter()
    with measuring() as meter:
        attributions = tuple(
            attribute_trajectory(
                case.system, trajectory, scored, passed.get(trajectory.task_id, ())
            )
            for trajectory, scored in zip(case.trajectories, case.scored, strict=True)
        )
    seconds = time.perf_counter() - started
    modes = failure_modes(attributions, case.scored)
    decisions = mended(rules, case, attributions, modes) if rules.repairs else ()
    return Judged(
        attributions=attributions,
        modes=modes,
        decisions=decisions,
        seconds=seconds,
        cost=meter.cost(),
    )


def mended(
    rules: Rules,
    case: Case,
    attributions: tuple[Attribution, ...],
    modes: tuple[FailureMode, ...],
) -> tuple[Decided, ...]:
    """Return every patch that was tried, in order, and what became of it."""
    evidence = tuple(item for attribution in attributions for item in attribution.evidence)
    examples = {
        scored.rollout_id: Example(trajectory=trajectory, scored=scored)
        for trajectory, scored in zip(case.trajectories, case.scored, strict=True)
    }
    decisions: list[Decided] = []

    def decide_mode(key: str, system: System, mode: FailureMode, means: Means) -> list[Decided]:
        del key
        chosen = tuple(examples[name] for name in mode.rollouts)
        made = list(
            tried_patches(
                system,
                mode,
                evidence,
                lambda tried, patch: decide(tried, patch, chosen),
                rules.patches_per_mode,
                means,
            )
        )
        decisions.extend(made)
        return made

    open_modes = [mode for mode in modes if mode.party is not Party.POLICY]
    mend_all(case.system, open_modes, decide_mode)
    return tuple(decisions)


@asynccontextmanager
async def _open(rules: Rules) -> AsyncIterator[Callable[[Case], Work]]:
    async def work(case: Case) -> dict[str, Any]:
        return to_json(judge(rules, case))

    yield work


JUDGE = Job(name="judge", shared=Rules, unit=Case, open=_open)
