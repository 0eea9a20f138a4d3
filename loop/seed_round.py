"""Round 0: the seed system. Services, tasks with their certificates, and the planted faults if any.

Faults are planted last, after every certificate has recorded the clean system. Which they are is
kept in the round's `planted.json`, and only the report reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attribution.config import DemoFaults, ManyFaults
from attribution.faults.demo import demo_faults
from attribution.faults.kinds import plant
from components.harness.defaults import default_harness
from components.records.base import to_json
from components.records.frozen import canonical_json, content_hash
from components.records.harness import HarnessSettings
from components.records.patch import Patch
from components.records.rubric import EvaluatorSettings
from components.records.system import Evaluator, System
from components.task.calibrate import MOST_LOOKUPS
from loop.composing import compose_tasks
from loop.config import RunConfig, sizes_of
from loop.context import RoundContext
from loop.ledger_files import write_file
from loop.many_faults import many_faults
from loop.services import build_services

PLANTED = "planted.json"


@dataclass(frozen=True, slots=True)
class SeedRound:
    """The seed system and the counts of its making."""

    system: System
    services: dict[str, Any]
    """`compiled`, `refused` and `gate_tests` as JSON."""
    tasks: dict[str, Any]
    """`drafted` and `rejected` as JSON."""


def build_seed(context: RoundContext) -> SeedRound:
    """Build the seed system, stage by stage."""
    if isinstance(context.config.faults, DemoFaults):
        context.console.line(
            "faults=demo: known defects, eight where the tasks give room, are planted in this "
            "system; faults=none leaves it clean"
        )
    if isinstance(context.config.faults, ManyFaults):
        context.console.line(
            f"faults=many: {context.config.faults.count} known defects are planted in this system; "
            "faults=none leaves it clean"
        )
    services = context.folder.run_stage("services", lambda: seed_services(context))
    tasks = context.folder.run_stage("tasks", lambda: _tasks(context, services["system"]))
    planted = context.folder.run_stage("faults", lambda: _faults(context, tasks["system"]))
    return SeedRound(
        context.load(planted["system"]),
        {key: services[key] for key in ("compiled", "refused", "gate_tests")},
        {key: tasks[key] for key in ("drafted", "rejected")},
    )


def seed_services(context: RoundContext) -> dict[str, Any]:
    """Return the stage that gates the services: the seed system without tasks, and the counts."""
    built = build_services(context.config, context.console)
    settings = EvaluatorSettings(completion_lambda=context.config.evaluator.completion_lambda)
    system = System(
        environment=built.environment,
        harness=seed_harness(context.config),
        evaluator=Evaluator(settings=settings),
        reference=built.reference,
    )
    return {
        "system": context.keep(system),
        "compiled": list(built.compiled),
        "refused": built.refused,
        "gate_tests": built.gate_tests,
        "recorded": built.recorded,
    }


TURNS_PER_STEP = 2
"""Turns that a policy is given for each call of a solution, `finish` included: the norm."""


def seed_harness(config: RunConfig) -> HarnessSettings:
    """Return the harness that a system starts with: the default, with the configured overrides."""
    seed = default_harness()
    chosen = config.harness
    calls = config.task.walk_length + 1 + (MOST_LOOKUPS if config.task.implicit else 0)
    # A request has at most as many parts as gold has calls, with what puts them right.
    messages = calls if config.task.multi_turn else 0
    limits = {"max_turns": chosen.max_turns or TURNS_PER_STEP * (calls + messages)}
    if TURNS_PER_STEP * messages > seed.limits.max_user_turns:
        limits["max_user_turns"] = TURNS_PER_STEP * messages
    if chosen.max_observation_chars is not None:
        limits["max_observation_chars"] = chosen.max_observation_chars
    update: dict[str, Any] = {"limits": seed.limits.model_copy(update=limits)}
    if chosen.tool_style is not None:
        update["tool_style"] = chosen.tool_style
    return seed.model_copy(update=update)


def _tasks(context: RoundContext, services: Any) -> dict[str, Any]:
    wanted = sizes_of(context.config).num_tasks
    composed = compose_tasks(context, "tasks", context.load(services), wanted)
    return {
        "system": context.keep(composed.system),
        "drafted": composed.drafted,
        "rejected": composed.rejected,
    }


def _faults(context: RoundContext, tasks: Any) -> dict[str, Any]:
    system = context.load(tasks)
    faults: tuple[Patch, ...] = ()
    if isinstance(context.config.faults, DemoFaults):
        faults = demo_faults(system, context.config.seed)
    if isinstance(context.config.faults, ManyFaults):
        count = context.config.faults.count
        faults = many_faults(
            system,
            context.config.seed,
            count,
            lambda number: context.console.progress("faults", number, count),
        )
    sealed = {"faults": [to_json(fault) for fault in faults], "clean": tasks}
    write_file(context.folder.path / PLANTED, canonical_json(sealed), point="planted")
    return {"system": context.keep(plant(system, faults)), "planted": content_hash(sealed)}
