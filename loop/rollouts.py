"""Rollouts of a whole system: who plays which task with which seed, and what came of it.

A batch is the unit: the rollouts that a local model plays together, or a single one of any other
policy. Once it is recorded, in one commit, it is never run again, and a broken rollout is data that
neither stops nor delays its siblings. What a batch does depends on its plans alone, never on how
many are under way, nor where.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from components.errors import PolicyError, ProviderError
from components.evaluator.rubric import score_group
from components.records.base import to_json
from components.records.frozen import content_hash
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, Trajectory
from loop.batches import ROLLOUT, Batch, Planned, Stand
from loop.build import batches_at_once, num_batches
from loop.config import sizes_of
from loop.context import RoundContext, live_tasks
from loop.policy.effort import Effort, added


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


def roll_out(
    context: RoundContext, stage: str, system: System, same_as: str | None = None
) -> Rolled:
    """Run G rollouts of every live task and score them, group by group.

    Args:
        context: the open round.
        stage: name of the stage; two passes of one round differ in it and share their seeds.
        system: the system to run on.
        same_as: an earlier pass of the round on the same system: its rollouts are taken over.
    """

    scores = f"{stage}.score"

    def compute() -> dict[str, Any]:
        if same_as is None:
            _run_missing(context, stage, system)
        else:
            context.folder.units.put_many(stage, _units(context, same_as))
            context.console.line(f"{stage}: nothing was changed, so the pass is as before")
        _score_missing(context, stage, system)
        return {
            "rollouts": {key: content_hash(body) for key, body in _units(context, stage).items()},
            "scores": {key: content_hash(body) for key, body in _units(context, scores).items()},
        }

    result = context.folder.run_stage(stage, compute)
    context.folder.units.refuse_other_units(stage, result["rollouts"])
    context.folder.units.refuse_other_units(scores, result["scores"])
    trajectories = context.folder.units.records(stage, Trajectory)
    groups = context.folder.units.record_lists(scores, ScoredTrajectory).values()
    scored = [item for group in groups for item in group]
    return Rolled(trajectories, {item.rollout_id: item for item in sorted(scored, key=_rollout_id)})


def effort_of(context: RoundContext, stage: str) -> Effort | None:
    """Return what generation took in a pass; None where no model ran here."""
    found = context.folder.units.records(_effort(stage), Effort).values()
    return added(found) if found else None


def plan_batches(context: RoundContext, system: System) -> list[Batch]:
    """Return every rollout's plan in batches; tasks on the same services share a prompt, and stand
    together.

    Seeds depend on run seed, round, task and index alone, not on the batch.
    """

    def place(task_id: str) -> tuple[tuple[str, ...], str]:
        world = system.tasks[task_id].world
        return (*world.services, *world.distractors), task_id

    plans = []
    for task_id in sorted(live_tasks(system), key=place):
        for index in range(sizes_of(context.config).group_size):
            name = f"{context.config.seed}:{context.number}:{task_id}:{index}"
            plans.append(
                Planned(
                    rollout_id=f"{task_id}-{index:02d}",
                    task_id=task_id,
                    group_index=index,
                    seed=int(content_hash(name)[:12], 16),
                )
            )
    return divided(plans, num_batches(context.config.policy, len(plans)))


def divided(plans: Sequence[Planned], count: int) -> list[Batch]:
    """Return plans in at most `count` batches of nearly the same size, in order."""
    ends = [len(plans) * (number + 1) // count for number in range(count)]
    parts = [plans[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return [Batch(rollouts=tuple(part)) for part in parts if part]


def _run_missing(context: RoundContext, stage: str, system: System) -> None:
    """Play the batches that are not recorded yet; each is recorded as it ends.

    A batch in which the policy's endpoint broke every rollout is recorded last, and only if the
    endpoint answered some rollout of this pass: one that answers nothing stops the round, and costs
    it nothing.
    """
    units, config = context.folder.units, context.config
    batches = plan_batches(context, system)
    done = set(units.keys(stage))
    missing = [batch for batch in batches if not done.issuperset(_ids(batch))]
    total = sum(len(batch.rollouts) for batch in batches)
    finished = total - sum(len(batch.rollouts) for batch in missing)
    context.console.progress(stage, finished, total)
    started, efforts = time.perf_counter(), list[Effort]()
    broken: dict[str, Any] = {}
    stand = Stand(system=system, policy=config.policy)
    named = ((batch.rollouts[0].rollout_id, batch) for batch in missing)
    at_once = min(batches_at_once(config.policy, config.rollout.concurrency), len(batches))
    with closing(context.pool.as_done(ROLLOUT, stand, named, concurrency=at_once)) as played:
        for key, body in played:
            bodies = {item["rollout_id"]: item for item in body["trajectories"]}
            if all(_is_unanswered(item) for item in bodies.values()):
                broken.update(bodies)
            else:
                units.put_many(stage, bodies)
            if body["effort"] is not None:
                units.put(_effort(stage), key, body["effort"])
                efforts.append(Effort.model_validate(body["effort"]))
            finished += len(bodies)
            note = _speed(efforts, time.perf_counter() - started)
            context.console.progress(stage, finished, total, note=note)
    if broken and len(broken) == total:
        first = broken[min(broken)]["failure"]
        raise PolicyError(
            f"the policy answered none of {total} rollouts ({first['message']}); mend that (an "
            "endpoint is policy.base_url) and give the same command again: nothing is lost"
        )
    if broken:
        units.put_many(stage, broken)


def _speed(efforts: list[Effort], seconds: float) -> str:
    if not efforts:
        return ""
    total = added(efforts)
    rate = total.sampled_tokens / seconds
    return f"{rate:.0f} tokens/s, {total.model_share:.0%} of the time in the model"


def _ids(batch: Batch) -> list[str]:
    return [item.rollout_id for item in batch.rollouts]


def _effort(stage: str) -> str:
    return f"{stage}.effort"


def _is_unanswered(trajectory: dict[str, Any]) -> bool:
    failure = trajectory["failure"]
    return failure is not None and failure["boundary"] == ProviderError.boundary_name


def _score_missing(context: RoundContext, stage: str, system: System) -> None:
    """Score the groups that have no scores yet; a group is a unit."""
    units, score_stage = context.folder.units, f"{stage}.score"
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in units.records(stage, Trajectory).values():
        groups.setdefault(trajectory.task_id, []).append(trajectory)
    done = units.done(score_stage)
    for task_id in sorted(set(groups) - set(done)):
        scored = score_group(system, system.tasks[task_id], groups[task_id])
        units.put(score_stage, task_id, [to_json(item) for item in scored])


def _units(context: RoundContext, stage: str) -> dict[str, Any]:
    return context.folder.units.done(stage)


def _rollout_id(item: ScoredTrajectory) -> str:
    return item.rollout_id
