"""Clauses are read again from what was certified, and played by who sees only the harness."""

from __future__ import annotations

from typing import Any

import pytest
from jsonpointer import set_pointer

from attribution.interventions.derivation import broken_task
from attribution.interventions.runs import arm_of, oracle_run
from attribution.patchers.task import respelled_steps
from components.environment.world import build_world
from components.records.base import to_json
from components.records.system import System
from components.records.task import Condition, Every, Task
from tests.task.builders import changed, system_with

KINDS = ("restraint", "condition", "every", "count", "date")


def task_of(system: System) -> Task:
    (task,) = system.tasks.values()
    return task


def statements(system: System, task: Task) -> list[str]:
    world = build_world(system, task.world)
    return [item.statement for item in broken_task(system, task, world)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_oracle_passes_from_what_the_harness_shows_and_nothing_is_broken(kind: str) -> None:
    system = system_with(kind)
    task = task_of(system)

    assert oracle_run(arm_of(system, task.task_id)).passed
    assert statements(system, task) == []


def test_without_the_clock_a_relative_date_cannot_be_known() -> None:
    system = system_with("date")
    hidden = system.harness.system_prompt.replace("{{ now }}", "late")
    harness = system.harness.model_copy(update={"system_prompt": hidden})
    blind = system.model_copy(update={"harness": harness})

    assert oracle_run(arm_of(blind, task_of(system).task_id)).passed is False


def damaged(task: Task, kind: str) -> Task:
    """The task with its clause of a kind changed, so that it no longer fits its certified run."""
    name, clause = next(pair for pair in sorted(task.clauses.items()) if pair[1].kind == kind)
    body: dict[str, Any] = clause.model_dump()
    if isinstance(clause, Condition):
        body["holds"] = not clause.holds
    elif isinstance(clause, Every):
        body |= {"most": not clause.most} if clause.by else {"steps": body["steps"][:-1]}
    else:
        pointer = sorted(body["arguments"])[0]
        body["arguments"] = {
            **body["arguments"],
            pointer: {"kind": "default", "value": "another"},
        }
    return changed(task, clauses={**task.model_dump()["clauses"], name: body})


@pytest.mark.parametrize("kind", ["restraint", "condition", "every"])
def test_a_clause_that_no_longer_fits_is_evidence_against_the_task(kind: str) -> None:
    system = system_with(kind)

    found = statements(system, damaged(task_of(system), kind))

    assert any(line.startswith("clause c") for line in found)


@pytest.mark.parametrize("kind", ["restraint", "condition", "every", "date"])
def test_words_put_before_a_clause_move_it_along(kind: str) -> None:
    system = system_with(kind)
    body = to_json(task_of(system))

    for _operation, at, value in respelled_steps(body, [(0, 0, "Good morning. ")]):
        set_pointer(body, at, value)

    assert statements(system, Task.model_validate(body)) == []


def test_a_day_said_otherwise_is_evidence_against_the_task() -> None:
    system = system_with("date")
    task = task_of(system)
    clock = task.world.model_copy(update={"now": "2026-03-05T09:00:00Z"})

    found = statements(system, task.model_copy(update={"world": clock}))

    assert any("certified was '2026-03-" in line for line in found)
