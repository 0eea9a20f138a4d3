"""What all rollouts of one task share: shown tools and the first two messages, rendered once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jsonschema_rs

from components.environment.identity import Same
from components.environment.service import CompiledService
from components.environment.world import World
from components.errors import HarnessError, boundary
from components.harness.rendering import render_system, render_user
from components.harness.tools import ShownTool, shown_tools
from components.records.frozen import JsonObject, thaw
from components.records.harness import HarnessSettings
from components.records.task import Task
from components.task.user import opening_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The unchanging part of an episode."""

    settings: HarnessSettings
    tools: tuple[ShownTool, ...]
    by_name: Mapping[str, ShownTool]
    schemas: Mapping[str, JsonObject]
    """Policy name -> JSON Schema of the arguments."""
    system_text: str
    user_text: str
    answer_validator: Any
    """A compiled JSON Schema validator (`jsonschema_rs`) of the answer."""


def set_stage(settings: HarnessSettings, world: World, task: Task) -> Stage:
    """Return the stage of a task under this harness; siblings share one.

    Raises:
        HarnessError: a prompt does not render, or the answer's schema does not compile.
    """
    services = tuple(Same(world.services[name]) for name in sorted(world.services))
    return _stage(Same(settings), Same(task), services)


def answer_problem(stage: Stage, answer: Any) -> str:
    """Return why the argument `answer` of `finish` cannot be taken, or an empty text."""
    if not isinstance(answer, Mapping):
        return "finish needs an argument `answer` that is an object"
    error = next(iter(stage.answer_validator.iter_errors(answer)), None)
    if error is None:
        return ""
    place = "/".join(["answer", *(str(part) for part in error.instance_path)])
    return f"{place}: {error.message}"


@lru_cache(maxsize=1024)
def _stage(
    settings: Same[HarnessSettings],
    task: Same[Task],
    services: tuple[Same[CompiledService], ...],
) -> Stage:
    with boundary(HarnessError, f"compile the answer schema of task {task.value.task_id}"):
        validator = jsonschema_rs.validator_for(thaw(task.value.answer_schema))
    by_service = {same.value.spec.service: same.value for same in services}
    tools = shown_tools(by_service, task.value, settings.value)
    return Stage(
        settings=settings.value,
        tools=tools,
        by_name={tool.name: tool for tool in tools},
        schemas={tool.name: tool.schema for tool in tools},
        system_text=render_system(
            settings.value, tools, task.value.world.now, task.value.policy_rules
        ),
        user_text=render_user(settings.value, opening_of(task.value), task.value.answer_schema),
        answer_validator=validator,
    )
