"""Rollouts of a whole system: who plays which task with which seed, and what came of it.

A rollout is the unit: once it is recorded it is never run again, and a broken one is data that
neither stops nor delays its siblings. What a rollout does depends on its plan alone, never on how
many run at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from components.artifacts import component_versions
from components.environment.world import build_world
from components.errors import (
    BoundaryError,
    EnvironmentFault,
    PolicyError,
    ProviderError,
    SynthesisError,
    UserError,
)
from components.evaluator.rubric import score_group
from components.harness.episode import run_rollout
from components.harness.policy import Policy, RolloutPlan
from components.megamcp.session import open_session
from components.records.base import to_json
from components.records.frozen import FrozenDict, content_hash
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import Failure, ScoredTrajectory, StopReason, Trajectory
from loop.build import PolicyFor, open_policy
from loop.config import sizes_of
from loop.context import RoundContext, live_tasks


@dataclass(frozen=True, slots=True)
class Rolled:
    """One pass over the tasks: trajectories and their scores, by rollout id, in order of id."""

    trajectories: dict[str, Trajectory]
    scored: dict[str, ScoredTrajectory]

    def only(self, task_ids: tuple[str, ...]) -> Rolled:
        """Return the part that belongs to these tasks."""
        wanted = set(task_ids)
        return Rolled(
            {key: item for key, item in self.trajectories.items() if item.task_id in wanted},
            {key: item for key, item in self.scored.items() if item.task_id in wanted},
        )


def roll_out(context: RoundContext, stage: str, system: System) -> Rolled:
    """Run G rollouts of every live task and score them, group by group.

    Args:
        context: the open round.
        stage: name of the stage; two passes of one round differ in it and share their seeds.
        system: the system to run on.
    """

    scores = f"{stage}.score"

    def compute() -> dict[str, Any]:
        plans = list(plan_rollouts(context, system))
        asyncio.run(_run_missing(context, stage, system, plans))
        _score_missing(context, stage, system)
        return {
            "rollouts": {key: content_hash(body) for key, body in _units(context, stage).items()},
            "scores": {key: content_hash(body) for key, body in _units(context, scores).items()},
        }

    result = context.folder.run_stage(stage, compute)
    context.folder.units.refuse_other_units(stage, result["rollouts"])
    context.folder.units.refuse_other_units(scores, result["scores"])
    trajectories = {
        key: Trajectory.model_validate(body) for key, body in _units(context, stage).items()
    }
    groups = _units(context, scores).values()
    scored = [ScoredTrajectory.model_validate(body) for group in groups for body in group]
    return Rolled(trajectories, {item.rollout_id: item for item in sorted(scored, key=_rollout_id)})


def plan_rollouts(context: RoundContext, system: System) -> Iterator[tuple[Task, RolloutPlan]]:
    """Yield every rollout's plan; seeds depend on run seed, round, task and index alone."""
    versions = component_versions(system)
    for task_id in live_tasks(system):
        for index in range(sizes_of(context.config).group_size):
            name = f"{context.config.seed}:{context.number}:{task_id}:{index}"
            plan = RolloutPlan(
                rollout_id=f"{task_id}-{index:02d}",
                group_index=index,
                seed=int(content_hash(name)[:12], 16),
                component_hashes=versions,
            )
            yield system.tasks[task_id], plan


async def _run_missing(
    context: RoundContext, stage: str, system: System, plans: list[tuple[Task, RolloutPlan]]
) -> None:
    """Run what is not recorded yet, `rollout.concurrency` at once, each recorded as it ends.

    What the policy's endpoint broke is recorded last, and only if it answered some rollout of this
    pass: an endpoint that answers nothing stops the round, and costs it nothing.
    """
    done = _units(context, stage)
    broken: dict[str, Trajectory] = {}
    missing = [(task, plan) for task, plan in plans if plan.rollout_id not in done]
    waiting, finished = iter(missing), len(plans) - len(missing)
    context.console.progress(stage, finished, len(plans))

    async def work(make_policy: PolicyFor) -> None:
        nonlocal finished
        for task, plan in waiting:
            trajectory = await _one_rollout(system, task, plan, make_policy(task, plan.seed))
            if _is_unanswered(trajectory):
                broken[plan.rollout_id] = trajectory
            else:
                context.folder.units.put(stage, plan.rollout_id, to_json(trajectory))
            finished += 1
            context.console.progress(stage, finished, len(plans))

    workers = min(context.config.rollout.concurrency, len(plans))
    try:
        async with open_policy(context.config.policy) as make_policy, asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work(make_policy))
    except BaseExceptionGroup as errors:
        # What the user can mend (a full disk) is told once, not once a worker inside a group.
        for error in errors.exceptions:
            if isinstance(error, UserError):
                raise error from None
        raise
    if broken and len(broken) == len(plans):
        first = broken[min(broken)].failure
        assert first is not None
        raise PolicyError(
            f"the policy answered none of {len(plans)} rollouts ({first.message}); mend the "
            "endpoint or policy.base_url and give the same command again: nothing is lost"
        )
    for key, trajectory in sorted(broken.items()):
        context.folder.units.put(stage, key, to_json(trajectory))


def _is_unanswered(trajectory: Trajectory) -> bool:
    failure = trajectory.failure
    return failure is not None and failure.boundary == ProviderError.boundary_name


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


def _score_missing(context: RoundContext, stage: str, system: System) -> None:
    """Score the groups that have no scores yet; a group is a unit."""
    units, score_stage = context.folder.units, f"{stage}.score"
    groups: dict[str, list[Trajectory]] = {}
    for body in units.done(stage).values():
        trajectory = Trajectory.model_validate(body)
        groups.setdefault(trajectory.task_id, []).append(trajectory)
    done = units.done(score_stage)
    for task_id in sorted(set(groups) - set(done)):
        scored = score_group(system, system.tasks[task_id], groups[task_id])
        units.put(score_stage, task_id, [to_json(item) for item in scored])


def _units(context: RoundContext, stage: str) -> dict[str, Any]:
    return context.folder.units.done(stage)


def _rollout_id(item: ScoredTrajectory) -> str:
    return item.rollout_id
