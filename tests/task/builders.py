"""The built-in system, settings by keyword, and a task with parts replaced."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from components.environment.catalog_loader import (
    builtin_services,
    load_contract,
    load_reactions,
    load_service,
)
from components.environment.world import build_world
from components.evaluator.compile import compile_rubric
from components.harness.defaults import default_harness
from components.records.frozen import FrozenDict
from components.records.harness import HarnessSettings
from components.records.rubric import Rubric
from components.records.system import Environment, Evaluator, Reference, System
from components.records.task import Task
from components.task.compose import ComposedTask, compose_task
from components.task.gold import Gold, run_gold
from components.task.measures import grammar_of


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What composing reads of `task`."""

    k: int = 2
    walk_length: int = 5
    distractors: int = 1
    domains: tuple[str, ...] = ()
    multi_turn: float = 0.0
    implicit: float = 0.0
    policies: float = 0.0


SMALL = ("directory", "helpdesk", "mail")
"""Three services of which every two react to each other."""


def builtin_system() -> System:
    """Return the system that most of these tests compose on."""
    return system_of(SMALL)


@cache
def system_of(services: tuple[str, ...] = builtin_services()) -> System:
    """Return a system of built-in services without tasks."""
    loaded = {name: load_service(name) for name in services}
    return System(
        environment=Environment(
            blueprints=FrozenDict({name: item.blueprint for name, item in loaded.items()}),
            seeds=FrozenDict({name: item.seed for name, item in loaded.items()}),
            reactions=load_reactions(),
        ),
        harness=HarnessSettings(
            system_prompt="",
            user_prompt="",
            observation="",
            invalid_call_feedback="",
            parsers=FrozenDict(),
        ),
        reference=Reference(
            specs=FrozenDict({name: item.spec for name, item in loaded.items()}),
            contract=load_contract(),
        ),
    )


@cache
def composed(k: int, walk_length: int, num: int) -> tuple[ComposedTask, ...]:
    """Return the first `num` tasks of these settings."""
    found: list[ComposedTask] = []
    for seed in range(num * 6):
        drawn = compose_task(builtin_system(), Settings(k=k, walk_length=walk_length), seed)
        if isinstance(drawn, ComposedTask):
            found.append(drawn)
        if len(found) == num:
            return tuple(found)
    raise AssertionError(f"only {len(found)} of {num} tasks for k={k}, length={walk_length}")


def changed(task: Task, **parts: Any) -> Task:
    """Return the task with some fields replaced, checked again."""
    return Task.model_validate({**task.model_dump(), **parts})


def gold_of(task: Task) -> Gold:
    gold = run_gold(build_world(builtin_system(), task.world), task)
    assert isinstance(gold, Gold), gold
    return gold


def rubric_of(task: Task) -> Rubric:
    """Return the rubric that the task's own gold compiles to."""
    world = build_world(builtin_system(), task.world)
    gold = gold_of(task)
    records = [gold.records[name] for name in gold.names]
    return compile_rubric(task, records, world, gold.answer)


@cache
def system_with(kind: str) -> System:
    """Return a system with one task of three services and six steps, whose request has this kind
    of clause; its harness is the usual one.
    """
    system = system_of(builtin_services()).model_copy(update={"harness": default_harness()})
    for seed in range(60):
        sizes = Settings(k=3, walk_length=6, implicit=float(kind == "implicit"))
        made = compose_task(system, sizes, seed)
        if isinstance(made, ComposedTask) and kind in grammar_of(made.task):
            name = made.task.task_id
            certificates = FrozenDict({name: made.certificate})
            return system.model_copy(
                update={
                    "tasks": FrozenDict({name: made.task}),
                    "evaluator": Evaluator(rubrics=FrozenDict({name: made.rubric})),
                    "reference": system.reference.model_copy(update={"certificates": certificates}),
                }
            )
    raise AssertionError(kind)
