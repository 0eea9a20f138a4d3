"""Rollouts of the scripted policy for the tests of attribution."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from attribution.attribute import attribute_trajectory
from attribution.change import Change, changed
from attribution.records import Attribution
from components.artifacts import component_versions
from components.environment.world import build_world
from components.evaluator.rubric import score_group
from components.harness.episode import run_rollout
from components.harness.policy import RolloutPlan
from components.megamcp.session import open_session
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, Trajectory
from loop.policy.config import ErrorRates
from loop.policy.scripted import ScriptedPolicy

NO_SLIPS = ErrorRates(skip_step=0, stale_value=0, wrong_argument=0, malformed_call=0)
SLIPS = ErrorRates(skip_step=0.06, stale_value=0.06, wrong_argument=0.06, malformed_call=0.06)
Scored = tuple[Trajectory, ScoredTrajectory]


def play_all(
    system: System, group_size: int, rates: ErrorRates = SLIPS, seed: int = 0
) -> list[Scored]:
    """Return the scored rollouts of every task."""
    return asyncio.run(_play_all(system, group_size, rates, seed))


async def _play_all(system: System, group_size: int, rates: ErrorRates, seed: int) -> list[Scored]:
    versions = component_versions(system)
    played: list[Scored] = []
    for task_id, task in sorted(system.tasks.items()):
        world, group = build_world(system, task.world), []
        policy = ScriptedPolicy(task, rates, seed)
        for index in range(group_size):
            plan = RolloutPlan(
                rollout_id=f"{task_id}.{index}",
                group_index=index,
                seed=index,
                component_hashes=versions,
            )
            session = open_session(world, None, f"{task_id}.{index}")
            group.append(await run_rollout(system, world, task, policy, plan, session))
        played += zip(group, score_group(system, task, group), strict=True)
    return played


def attribute_all(system: System, played: Sequence[Scored]) -> list[Attribution]:
    """Return the verdict on every rollout."""
    return [attribute_trajectory(system, trajectory, scored) for trajectory, scored in played]


def only(system: System, *names: str) -> System:
    """Return the system with few tasks, so that a test plays and decides no more than it needs."""
    tasks = FrozenDict({name: system.tasks[name] for name in names})
    kept = {name: system.reference.certificates[name] for name in names}
    reference = system.reference.model_copy(update={"certificates": FrozenDict(kept)})
    return system.model_copy(update={"tasks": tasks, "reference": reference})


def with_defect(system: System, artifact: str, *operations: tuple[str, str, Any]) -> System:
    """Return the system with one artifact broken."""
    change = Change(artifact=artifact, operations=operations, reason="broken", place=artifact)
    return changed(system, change)
