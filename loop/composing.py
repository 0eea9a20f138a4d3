"""Composing tasks: drafts one after another until enough are certified. A draft is the unit.

Drafts are looked at in order, however many are made at once: those beyond the last that is needed
are given up unseen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from components.errors import ConfigError
from components.records.base import Record, to_json
from components.records.frozen import FrozenDict
from components.records.rubric import Rubric
from components.records.system import System
from components.records.task import Certificate, RejectedDraft, Task
from components.task.compose import ComposedPair, ComposedTask, compose_task
from components.task.config import TaskConfig
from components.task.duplicates import NearDuplicates
from loop.compute.jobs import Job, Work
from loop.compute.pool import Pool
from loop.console import Console
from loop.context import RoundContext
from loop.rehearsal import rehearsed
from loop.train.split import Kind, kind_of
from loop.units import UnitLog

DUPLICATE = "duplicate"
"""A task that says nearly what another one says, of the same calls."""
HELD_OUT = "held_out"
"""A task that a policy is measured on; a round that trains is not spent on it."""
TORN = "torn"
"""A pair of which a policy would be trained on one half and measured on the other."""
NO_ROOM = "no_room_for_a_pair"
"""A pair where one task was wanted."""


class Ground(Record):
    """What all drafts share."""

    system: System
    """Services, and no tasks."""
    settings: TaskConfig


class Draft(Record):
    """One draft to be made."""

    seed: int


@asynccontextmanager
async def _open(shared: Ground) -> AsyncIterator[Callable[[Draft], Work]]:
    async def compose(draft: Draft) -> dict[str, Any]:
        return draft_to_json(
            rehearsed(shared.system, compose_task(shared.system, shared.settings, draft.seed))
        )

    yield compose


COMPOSE = Job(name="compose", shared=Ground, unit=Draft, open=_open)


@dataclass(frozen=True, slots=True)
class Composed:
    """The system with its new tasks, and what became of the drafts."""

    system: System
    drafted: int
    rejected: dict[str, int]
    """Reason -> drafts."""
    missing: int = 0
    """Tasks that no draft was left for."""
    added: tuple[str, ...] = ()
    """Ids of the new tasks, in the order of their drafts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting:
    """Where drafts come from, who makes them and where they are recorded."""

    settings: TaskConfig
    base: int
    """Seed of the first draft; the next has the next number."""
    units: UnitLog
    """Drafts that are recorded here are not made again."""
    stage: str
    """Name under which they are recorded."""
    pool: Pool
    console: Console
    spares_held_out: bool = False
    """Tasks that a policy is measured on are passed over."""
    prefix: str = ""
    """What the keys of recorded drafts begin with, where a stage drafts for several ends."""
    refusal: Callable[[Task], str] = lambda _task: ""
    """Why a certified draft is not wanted all the same; empty: it is."""


def compose_tasks(context: RoundContext, stage: str, system: System, missing: int) -> Composed:
    """Draft until `missing` further tasks of a round are certified.

    Args:
        context: the open round.
        stage: name under which drafts are recorded.
        system: services and the tasks that are there already.
        missing: how many tasks are to be added.

    Raises:
        ConfigError: too few drafts became tasks; the message counts the reasons.
    """
    drafting = Drafting(
        settings=context.config.task,
        base=context.number * 1_000_000 + first_seed(context.config.seed),
        units=context.folder.units,
        stage=stage,
        pool=context.pool,
        console=context.console,
        spares_held_out=context.config.trains,
    )
    composed = draft_tasks(drafting, system, missing)
    if composed.missing:
        mend = ", and give run= another name: this run keeps its configuration"
        raise ConfigError(too_few(composed, missing) + mend)
    return composed


def first_seed(seed: int) -> int:
    """Return the seed of the first draft of a run's seed."""
    return seed * 1_000_003


def draft_tasks(drafting: Drafting, system: System, missing: int) -> Composed:
    """Draft until `missing` further tasks are certified, or no drafts are left.

    A pair is never divided. Where one task is missing, pairs are passed over until a draft is none;
    only where all drafts become pairs (`task.policies=1`) there may be one task more.

    Args:
        drafting: settings, and who makes drafts.
        system: services and the tasks that are there already.
        missing: how many tasks are to be added.
    """
    units, stage = drafting.units, drafting.stage
    done = units.done(stage)
    ground = Ground(
        system=system.model_copy(update={"tasks": FrozenDict()}), settings=drafting.settings
    )
    base, most = drafting.base, missing * drafting.settings.max_drafts_per_task
    keys = {f"{drafting.prefix}{number:06d}": Draft(seed=base + number) for number in range(most)}
    added: list[ComposedTask] = []
    near = NearDuplicates(system.tasks.values())
    rejected: Counter[str] = Counter()
    drafted = 0
    wanted = ((key, draft) for key, draft in keys.items() if key not in done)
    with closing(drafting.pool.map(COMPOSE, ground, wanted)) as results:
        for key in keys:
            if len(added) >= missing:
                break
            if key not in done:
                _, done[key] = next(results)
                units.put(stage, key, done[key])
            with units.reading(stage, key):
                draft = draft_from_json(done[key])
            drafted += 1
            if isinstance(draft, RejectedDraft):
                rejected[draft.reason] += 1
                continue
            made = tasks_of(draft)
            is_drawn = len(made) > 1 or drafting.spares_held_out
            held_out = {_is_held_out(system, item) for item in made if is_drawn}
            if len(added) + len(made) > missing and drafting.settings.policies < 1:
                rejected[NO_ROOM] += 1
            elif any(item.task.task_id in system.tasks for item in made) or near.is_one(
                made[0].task
            ):
                rejected[DUPLICATE] += 1
            elif len(held_out) > 1:
                rejected[TORN] += 1
            elif drafting.spares_held_out and True in held_out:
                rejected[HELD_OUT] += 1
            elif refusal := drafting.refusal(made[0].task):
                rejected[refusal] += 1
            else:
                near.add(made[0].task)
                added += made
                drafting.console.progress(stage, len(added), missing)
    return Composed(
        with_tasks(system, added),
        drafted,
        dict(sorted(rejected.items())),
        missing=max(0, missing - len(added)),
        added=tuple(item.task.task_id for item in added),
    )


def compose_for_now(
    system: System, settings: TaskConfig, wanted: int, base: int, pool: Pool, console: Console
) -> Composed:
    """Draft until `wanted` further tasks are certified, and keep no record of the drafts.

    Args:
        system: services and the tasks that are there already.
        settings: shape of the tasks.
        wanted: how many tasks are to be added.
        base: seed of the first draft.
        pool: who makes drafts.
        console: where progress is shown.

    Raises:
        ConfigError: too few drafts became tasks.
    """
    with TemporaryDirectory() as folder, closing(UnitLog(Path(folder) / "drafts")) as units:
        drafting = Drafting(
            settings=settings,
            base=base,
            units=units,
            stage="tasks",
            pool=pool,
            console=console,
        )
        composed = draft_tasks(drafting, system, wanted)
    if composed.missing:
        raise ConfigError(too_few(composed, wanted))
    return composed


def _is_held_out(system: System, draft: ComposedTask) -> bool:
    return kind_of(system.environment, draft.task, draft.certificate) is not Kind.TRAIN


def with_tasks(system: System, added: list[ComposedTask]) -> System:
    """Return the system with further tasks, each with its rubric and certificate."""
    tasks = {item.task.task_id: item.task for item in added}
    rubrics = {item.task.task_id: item.rubric for item in added}
    certificates = {item.task.task_id: item.certificate for item in added}
    evaluator = system.evaluator.model_copy(
        update={"rubrics": FrozenDict({**system.evaluator.rubrics, **rubrics})}
    )
    reference = system.reference.model_copy(
        update={"certificates": FrozenDict({**system.reference.certificates, **certificates})}
    )
    return system.model_copy(
        update={
            "tasks": FrozenDict({**system.tasks, **tasks}),
            "evaluator": evaluator,
            "reference": reference,
        }
    )


def tasks_of(draft: ComposedTask | ComposedPair) -> tuple[ComposedTask, ...]:
    """Return the tasks that a draft became: one, or both halves of a pair."""
    if isinstance(draft, ComposedPair):
        return (draft.compliant, draft.adversarial)
    return (draft,)


def draft_to_json(draft: ComposedTask | ComposedPair | RejectedDraft) -> dict[str, Any]:
    """Return what a draft became as it is recorded."""
    if isinstance(draft, RejectedDraft):
        return {"rejected": to_json(draft)}
    if isinstance(draft, ComposedPair):
        return {
            "compliant": draft_to_json(draft.compliant),
            "adversarial": draft_to_json(draft.adversarial),
        }
    return {
        "task": to_json(draft.task),
        "rubric": to_json(draft.rubric),
        "certificate": to_json(draft.certificate),
    }


def draft_from_json(body: dict[str, Any]) -> ComposedTask | ComposedPair | RejectedDraft:
    """Return what a recorded draft became."""
    if "rejected" in body:
        return RejectedDraft.model_validate(body["rejected"])
    if "compliant" in body:
        return ComposedPair(
            compliant=_task_from_json(body["compliant"]),
            adversarial=_task_from_json(body["adversarial"]),
        )
    return _task_from_json(body)


def _task_from_json(body: dict[str, Any]) -> ComposedTask:
    return ComposedTask(
        task=Task.model_validate(body["task"]),
        rubric=Rubric.model_validate(body["rubric"]),
        certificate=Certificate.model_validate(body["certificate"]),
    )


def too_few(composed: Composed, wanted: int) -> str:
    """Return what to say where drafts ran out."""
    counted = Counter(composed.rejected).most_common(3)
    reasons = ", ".join(f"{reason} {count}" for reason, count in counted)
    return (
        f"only {wanted - composed.missing} of {wanted} tasks could be made in {composed.drafted} "
        f"drafts ({reasons}); lower task.count, change task.k, task.walk_length or task.domains, "
        "or raise task.max_drafts_per_task"
    )
