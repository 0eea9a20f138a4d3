"""Growth of one round: looks at the round before, asks for tasks by three rules, and makes room.

Nothing grows in the first round, which has nothing to look at. Everything is decided by what the
ledger holds, and each draft is a unit, so that a round that was killed grows the same tasks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from components.records.system import System
from components.task.compose import services_for_tasks
from loop.config import RunConfig, sizes_of
from loop.context import RoundContext, live_tasks
from loop.growth.records import GrowthRound
from loop.growth.seen import Before, before_of
from loop.growth.shapes import Top, shape_figures
from loop.growth.spending import in_the_way, spend, with_limits, without
from loop.growth.wants import Look, wants_of

_SHARE, _MOST = 0.25, 1.5
"""Of the tasks that are asked for: what a round adds, and how many may be live."""


@dataclass(frozen=True, slots=True)
class Grown:
    """The system with what grew, and the record of it."""

    system: System
    record: GrowthRound
    drafted: int
    """Drafts of all steps."""


def num_new(config: RunConfig) -> int:
    """Return how many tasks a round may add, those that replace retired ones apart."""
    given = config.grow.tasks
    if given is not None:
        return given
    return max(1, int(_SHARE * sizes_of(config).num_tasks))


def most_live(config: RunConfig) -> int:
    """Return how many live tasks growth stops at."""
    count, given = sizes_of(config).num_tasks, config.grow.max_tasks
    return max(count, math.ceil(_MOST * count) if given is None else given)


def grow_by_rules(context: RoundContext, system: System) -> Grown:
    """Return what grew of a system.

    Args:
        context: the open round, in its stage `grow`.
        system: with as many tasks as are asked for.
    """
    config, budget = context.config, num_new(context.config)
    if not budget:
        return Grown(system, GrowthRound(note="grow.tasks=0: nothing grows"), 0)
    before = before_of(context, system)
    if before is None:
        return Grown(system, GrowthRound(note="there is no round before this one to look at"), 0)
    look = _look(context, system, before)
    record = GrowthRound(looked_at=before.number, shapes=look.shapes)
    wants = wants_of(look)
    if not wants:
        note = "no rule asks for anything"
        return Grown(system, record.model_copy(update={"note": note}), 0)
    spare = in_the_way(look, before)
    free = max(0, most_live(config) - len(live_tasks(system)))
    spent = spend(context, look, wants, min(budget, free + len(spare)))
    num_admitted = sum(len(step.admitted) for step in spent.steps)
    gone = spare[: max(0, num_admitted - free)]
    left, retired = without(spent.system, gone, before.number)
    limits = record.limits
    if config.harness.max_turns is None:
        left, limits = with_limits(system, left, config.task)
    update = {"steps": spent.steps, "retired": retired, "limits": limits, "note": ""}
    if not free + len(spare):
        update["note"] = (
            f"{', '.join(wants)} would add tasks, and there is no room: {most_live(config)} are "
            "live, and none of them can go; raise grow.max_tasks"
        )
    drafted = sum(step.drafted for step in spent.steps)
    return Grown(left, record.model_copy(update=update), drafted)


def _look(context: RoundContext, system: System, before: Before) -> Look:
    config = context.config
    tasks = [system.tasks[name] for name in live_tasks(system)]
    return Look(
        system=system,
        start=config.task,
        config=config.grow,
        top=_top(config, system),
        shapes=shape_figures(tasks, before, config.grow.mastery),
        solved=before.solved,
        seed=f"{config.seed}:{context.number}",
    )


def _top(config: RunConfig, system: System) -> Top:
    """Return where the ladder ends: never below what `task` asks for."""
    most, start = config.grow, config.task
    services = services_for_tasks(system, start.domains)
    return Top(
        k=max(start.k, min(most.max_k, len(services))),
        walk_length=max(start.walk_length, most.max_walk_length),
        distractors=max(start.distractors, most.max_distractors),
        num_services=len(system.environment.blueprints),
        max_turns=config.harness.max_turns,
    )
