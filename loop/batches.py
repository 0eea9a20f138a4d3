"""The job of playing rollouts: a batch in, its trajectories out; in this process or in another.

A batch holds the rollouts that a local model plays together, or a single one of any other policy.
What becomes of it depends on the system, the policy and its plans alone. A rollout whose world
cannot be built is data, as any broken rollout.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from components.artifacts import component_versions
from components.environment.world import build_world
from components.errors import BoundaryError, EnvironmentFault, SynthesisError
from components.harness.episode import run_rollout
from components.harness.policy import Policy, RolloutPlan
from components.megamcp.session import open_session
from components.records.base import Record, to_json
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import Failure, StopReason, Trajectory
from loop.build import open_policy
from loop.compute.jobs import Job, Work
from loop.policy.config import PolicyConfig


class Stand(Record):
    """What all rollouts of a pass share."""

    system: System
    policy: PolicyConfig


class Planned(Record):
    """One rollout that is to be played."""

    rollout_id: str
    task_id: str
    group_index: int
    seed: int


class Batch(Record):
    """Rollouts that are played together."""

    rollouts: tuple[Planned, ...]


@asynccontextmanager
async def _open(stand: Stand) -> AsyncIterator[Callable[[Batch], Work]]:
    system, versions = stand.system, component_versions(stand.system)
    async with open_policy(stand.policy) as acting:

        async def play(batch: Batch) -> dict[str, Any]:
            rollouts = []
            for planned in batch.rollouts:
                task = system.tasks[planned.task_id]
                plan = RolloutPlan(
                    rollout_id=planned.rollout_id,
                    group_index=planned.group_index,
                    seed=planned.seed,
                    component_hashes=versions,
                )
                policy = acting.policy_of(task, plan.seed)
                rollouts.append(_one_rollout(system, task, plan, policy))
            played = await acting.play(rollouts)
            return {
                "trajectories": [to_json(item) for item in played.trajectories],
                "effort": None if played.effort is None else to_json(played.effort),
            }

        yield play


ROLLOUT = Job(name="rollout", shared=Stand, unit=Batch, open=_open)


async def _one_rollout(system: System, task: Task, plan: RolloutPlan, policy: Policy) -> Trajectory:
    try:
        world = build_world(system, task.world)
    except BoundaryError as error:
        return _without_world(system, task, plan, policy, error)
    session = open_session(world, None, plan.rollout_id)
    return await run_rollout(system, world, task, policy, plan, session)


def _without_world(
    system: System, task: Task, plan: RolloutPlan, policy: Policy, error: BoundaryError
) -> Trajectory:
    """Return the record of a rollout whose world cannot be built: data, as any broken rollout."""
    boundary = SynthesisError.boundary_name
    try:
        build_world(system, task.world.model_copy(update={"overrides": FrozenDict()}))
    except BoundaryError:  # not the task's own changes: the services themselves
        boundary = EnvironmentFault.boundary_name
    return Trajectory(
        rollout_id=plan.rollout_id,
        task_id=task.task_id,
        group_index=plan.group_index,
        seed=plan.seed,
        simulated=policy.simulated,
        component_hashes=plan.component_hashes,
        system_text="",
        user_text="",
        turns=(),
        stop_reason=StopReason.FAILURE,
        failure=Failure(boundary=boundary, message=str(error)),
        initial_state="",
        final_state="",
    )
