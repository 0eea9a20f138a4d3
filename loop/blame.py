"""The attribution stage: every failure, and a share of the successes, gets a verdict.

A verdict is the unit. Which successes are audited depends on the run's seed and the rollout alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from typing import Any

from attribution.attribute import attribute_trajectory
from attribution.interventions.siblings import nearest_siblings
from attribution.meter import Cost, added, measuring
from attribution.modes import failure_modes
from attribution.records import Attribution, FailureMode
from components.records.base import Record, to_json
from components.records.frozen import FrozenDict, content_hash
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, Trajectory
from loop.compute.jobs import Job, Work
from loop.context import RoundContext
from loop.rollouts import Rolled

STAGE = "attribute"


class Scene(Record):
    """What all verdicts share."""

    system: System


class Case(Record):
    """One rollout that is to be looked at."""

    trajectory: Trajectory
    scored: ScoredTrajectory
    passed: tuple[Trajectory, ...] = ()
    """Siblings that passed and went the same way longest; none for a success."""


class Judgement(Record):
    """What comes of one rollout."""

    attribution: Attribution
    cost: FrozenDict[str, Cost]
    """Interventions by name: never part of what is recorded of the verdict."""


@asynccontextmanager
async def _open(scene: Scene) -> AsyncIterator[Callable[[Case], Work]]:
    async def judge(case: Case) -> dict[str, Any]:
        with measuring() as meter:
            found = attribute_trajectory(scene.system, case.trajectory, case.scored, case.passed)
        return to_json(Judgement(attribution=found, cost=meter.cost()))

    yield judge


ATTRIBUTE = Job(name="attribute", shared=Scene, unit=Case, open=_open)


@dataclass(frozen=True, slots=True)
class Blamed:
    """Verdicts by rollout id, and the failure modes that they amount to, worst first."""

    attributions: dict[str, Attribution]
    modes: tuple[FailureMode, ...]


def case_of(rolled: Rolled, key: str) -> Case:
    """Return a rollout with what is looked at beside it."""
    trajectory, scored = rolled.trajectories[key], rolled.scored[key]
    if scored.passed is not False:
        return Case(trajectory=trajectory, scored=scored)
    passed = [
        rolled.trajectories[name]
        for name, other in sorted(rolled.scored.items())
        if other.passed and rolled.trajectories[name].task_id == trajectory.task_id
    ]
    return Case(trajectory=trajectory, scored=scored, passed=nearest_siblings(trajectory, passed))


def attribute(context: RoundContext, system: System, rolled: Rolled) -> Blamed:
    """Attribute the rollouts that are to be looked at, and group the verdicts."""
    chosen = [key for key, scored in rolled.scored.items() if _is_chosen(context, scored)]

    def compute() -> dict[str, Any]:
        units = context.folder.units
        done = units.done(STAGE)
        missing = [key for key in chosen if key not in done]
        context.console.progress(STAGE, len(chosen) - len(missing), len(chosen))
        cases = ((key, case_of(rolled, key)) for key in missing)
        start = len(chosen) - len(missing) + 1
        with closing(context.pool.as_done(ATTRIBUTE, Scene(system=system), cases)) as verdicts:
            costs = []
            for number, (key, body) in enumerate(verdicts, start):
                found = Judgement.model_validate(body)
                units.put(STAGE, key, to_json(found.attribution))
                costs.append(found.cost)
                context.console.progress(STAGE, number, len(chosen))
        context.folder.keep_cost(added(costs))
        attributions = _read(context)
        modes = [
            with_shortest_example(mode, rolled)
            for mode in failure_modes(tuple(attributions.values()), tuple(rolled.scored.values()))
        ]
        return {
            "verdicts": {key: content_hash(to_json(item)) for key, item in attributions.items()},
            "modes": [to_json(mode) for mode in modes],
        }

    result = context.folder.run_stage(STAGE, compute)
    context.folder.units.refuse_other_units(STAGE, result["verdicts"])
    modes = tuple(FailureMode.model_validate(body) for body in result["modes"])
    return Blamed(_read(context), modes)


def with_shortest_example(mode: FailureMode, rolled: Rolled) -> FailureMode:
    """Return the mode with its rollout of the fewest turns as its example."""

    def length(key: str) -> tuple[int, str]:
        return len(rolled.trajectories[key].turns), key

    shortest = min(mode.rollouts, key=length, default="")
    return mode.model_copy(update={"example": shortest})


def _read(context: RoundContext) -> dict[str, Attribution]:
    return context.folder.units.records(STAGE, Attribution)


def _is_chosen(context: RoundContext, scored: ScoredTrajectory) -> bool:
    if scored.passed is not True:
        return True
    drawn = int(content_hash(f"{context.config.seed}:audit:{scored.rollout_id}")[:8], 16)
    return drawn < context.config.attribution.audit_share * 16**8
