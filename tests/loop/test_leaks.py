"""What training tasks give away of held-out ones is found, each kind by itself."""

from __future__ import annotations

from functools import cache

import pytest

from components.records.frozen import FrozenDict
from components.records.system import System
from components.task.compose import ComposedTask, compose_task
from loop.composing import with_tasks
from loop.tasks.leaks import leaks_of
from loop.train.split import Kind, held_out_names, kind_of
from tests.task.builders import Settings, builtin_system


@cache
def made() -> tuple[System, FrozenDict[str, Kind]]:
    composed = [compose_task(builtin_system(), Settings(), seed) for seed in range(24)]
    system = with_tasks(
        builtin_system(), [item for item in composed if isinstance(item, ComposedTask)]
    )
    kinds = {
        name: kind_of(system.environment, task, system.reference.certificates[name])
        for name, task in system.tasks.items()
    }
    return system, FrozenDict(kinds)


def test_the_split_leaks_nothing() -> None:
    system, kinds = made()
    leaks = leaks_of(system, kinds)

    assert leaks.checked == sum(kind is not Kind.TRAIN for kind in kinds.values()) > 0
    assert leaks.found == ()


def with_copy(system: System, name: str) -> System:
    """Return the system with one of its tasks a second time, as `t_copy`."""
    copy = system.tasks[name].model_copy(update={"task_id": "t_copy"})
    certificates = {
        **system.reference.certificates,
        "t_copy": system.reference.certificates[name],
    }
    reference = system.reference.model_copy(update={"certificates": FrozenDict(certificates)})
    tasks = FrozenDict({**system.tasks, "t_copy": copy})
    return system.model_copy(update={"tasks": tasks, "reference": reference})


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Kind.SERVICES, "its set of services is that of"),
        (Kind.SEQUENCE, "its sequence of calls is that of"),
        (Kind.FAMILIAR, "a training task says nearly the same"),
    ],
)
def test_a_training_task_that_is_called_held_out_is_found(kind: Kind, says: str) -> None:
    system, kinds = made()
    name = next(name for name in kinds if kinds[name] is Kind.TRAIN)

    leaks = leaks_of(with_copy(system, name), {**kinds, "t_copy": kind})
    assert any(line.startswith("t_copy: ") and says in line for line in leaks.found)


def test_a_held_out_name_in_training_is_found() -> None:
    system, kinds = made()
    kept = held_out_names(system.environment)
    name = next(
        name
        for name in kinds
        if kinds[name] is Kind.ENTITY
        and any(one in system.tasks[name].instruction.split() for one in kept)
    )

    leaks = leaks_of(with_copy(system, name), {**kinds, "t_copy": Kind.TRAIN})
    assert any(line.startswith(f"{name}: training tasks name ") for line in leaks.found)
