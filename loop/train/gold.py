"""Warm-start data: composed tasks, and their gold solutions played under the seed harness.

Owns which tasks are drawn and how their gold is played; no model takes part. A task is drafted,
certified, told apart (`loop.train.split`) and played from its draft's number alone, so that two
runs of one seed have the same data, and a killed run goes on with the next draft.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from components.artifacts import component_versions
from components.environment.world import build_world
from components.evaluator.rubric import score_group
from components.harness.episode import run_rollout
from components.harness.oracle import OraclePolicy
from components.harness.policy import Policy, RolloutPlan
from components.megamcp.session import open_session
from components.records.base import Record, to_json
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict, content_hash
from components.records.rubric import Rubric
from components.records.system import System
from components.records.task import Certificate, RejectedDraft, Task
from components.records.trajectory import ScoredTrajectory, Trajectory, Turn
from components.task.compose import ComposedPair, ComposedTask, TaskSettings, compose_task
from components.task.config import TaskConfig
from loop.compute.jobs import Job, Work
from loop.policy.config import ErrorRates
from loop.policy.scripted import ScriptedPolicy
from loop.train.mistakes import is_mistake
from loop.train.split import Kind, kind_of

_TRIES = 6
"""Rollouts with slips that are tried before gold is played without; only one that passes counts."""


class GoldDraft(Record):
    """One draft that became a task, and its gold as it was played."""

    kind: Kind
    task: Task
    rubric: Rubric
    certificate: Certificate
    trajectory: Trajectory
    scored: ScoredTrajectory
    slips: tuple[int, ...]
    """Turns that gold would not have taken; known here, since gold is."""


class GoldWay(Record):
    """How tasks are drawn and their gold is played."""

    seed: int
    """Of the data."""
    shorter_walks: bool
    """Draw each walk's length from `task.k + 1` up to `task.walk_length`."""
    fewer_distractors: bool
    """Draw each task's number of distractors from 0 up to `task.distractors`."""
    slip_share: float
    """Share of training trajectories with slips."""
    error_rates: ErrorRates


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """The sizes of one draft."""

    k: int
    walk_length: int
    distractors: int
    domains: tuple[str, ...]
    multi_turn: float
    implicit: float
    policies: float


async def draft_gold(
    system: System, sizes: TaskSettings, way: GoldWay, number: int
) -> GoldDraft | RejectedDraft:
    """Compose one task and play its gold.

    Args:
        system: services, harness and evaluator settings; it needs no tasks.
        sizes: of the task.
        way: how it is drawn and played.
        number: of the draft; every draw comes from it and the seed.
    """
    rng = random.Random(f"{way.seed}:gold:{number}")
    longest = sizes.walk_length
    length = rng.randint(sizes.k + 1, longest) if way.shorter_walks else longest
    distractors = rng.randint(0, sizes.distractors) if way.fewer_distractors else sizes.distractors
    drawn = _Drawn(
        k=sizes.k,
        walk_length=length,
        distractors=distractors,
        domains=sizes.domains,
        multi_turn=sizes.multi_turn,
        implicit=sizes.implicit,
        policies=sizes.policies,
    )
    composed = compose_task(system, drawn, rng.getrandbits(48))
    if isinstance(composed, RejectedDraft):
        return composed
    if isinstance(composed, ComposedPair):
        composed = rng.choice([composed.compliant, composed.adversarial])
    kind = kind_of(system.environment, composed.task, composed.certificate)
    full = with_tasks(system, {composed.task.task_id: composed})
    has_slips = kind is Kind.TRAIN and rng.random() < way.slip_share
    rates = way.error_rates if has_slips else None
    trajectory, scored = await _played(full, composed.task, rates, rng)
    return GoldDraft(
        kind=kind,
        task=composed.task,
        rubric=composed.rubric,
        certificate=composed.certificate,
        trajectory=trajectory,
        scored=scored,
        slips=slips_of(trajectory, composed.certificate.gold_run),
    )


def with_tasks(system: System, composed: Mapping[str, ComposedTask | GoldDraft]) -> System:
    """Return the system with these tasks, by id, and no others."""
    items = sorted(composed.items())
    return system.model_copy(
        update={
            "tasks": FrozenDict({name: item.task for name, item in items}),
            "evaluator": system.evaluator.model_copy(
                update={"rubrics": FrozenDict({name: item.rubric for name, item in items})}
            ),
            "reference": system.reference.model_copy(
                update={
                    "certificates": FrozenDict({name: item.certificate for name, item in items})
                }
            ),
        }
    )


def slips_of(trajectory: Trajectory, gold_run: Mapping[str, CallRecord]) -> tuple[int, ...]:
    """Return the turns that failed, or that make a call which gold does not make."""
    gold = {
        (f"{record.service}__{record.tool}", content_hash(record.arguments))
        for record in gold_run.values()
    }
    return tuple(
        turn.index for turn in trajectory.turns if is_mistake(turn) or _is_other(turn, gold)
    )


def _is_other(turn: Turn, gold: set[tuple[str, str]]) -> bool:
    return any(
        observation.call is not None and (call.name, content_hash(call.arguments)) not in gold
        for call, observation in zip(turn.calls, turn.observations, strict=True)
    )


async def _played(
    system: System, task: Task, rates: ErrorRates | None, rng: random.Random
) -> tuple[Trajectory, ScoredTrajectory]:
    for _ in range(_TRIES):
        if rates is None:
            break
        seed = rng.getrandbits(48)
        trajectory, scored = await play(system, task, ScriptedPolicy(task, rates, 0), seed)
        if scored.passed:
            return trajectory, scored
    return await play(system, task, OraclePolicy(task), rng.getrandbits(48))


async def play(
    system: System, task: Task, policy: Policy, seed: int
) -> tuple[Trajectory, ScoredTrajectory]:
    """Play one task once in this process and score it alone."""
    world = build_world(system, task.world)
    plan = RolloutPlan(
        rollout_id=f"{task.task_id}-gold",
        group_index=0,
        seed=seed,
        component_hashes=component_versions(system),
    )
    session = open_session(world, None, plan.rollout_id)
    trajectory = await run_rollout(system, world, task, policy, plan, session)
    (scored,) = score_group(system, task, [trajectory])
    return trajectory, scored


class GoldGround(Record):
    """What all drafts share."""

    system: System
    """Services, and no tasks."""
    sizes: TaskConfig
    way: GoldWay


class GoldNumber(Record):
    """One draft to be made."""

    number: int


@asynccontextmanager
async def _open(shared: GoldGround) -> AsyncIterator[Callable[[GoldNumber], Work]]:
    async def draft(unit: GoldNumber) -> dict[str, Any]:
        made = await draft_gold(shared.system, shared.sizes, shared.way, unit.number)
        return {"rejected" if isinstance(made, RejectedDraft) else "gold": to_json(made)}

    yield draft


GOLD = Job(name="gold", shared=GoldGround, unit=GoldNumber, open=_open)
