"""Whether a fault of a task or of the evaluator shows in an outcome.

The lines of play of a task are the oracle's run, doing nothing, and the mutants that certification
plays: all deterministic. A fault shows where one of them passes in the clean system and not in the
faulty one, or the reverse; unscored counts as not passing and not failing.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from jsonpointer import resolve_pointer

from attribution.change import Change, bind
from attribution.evidence import pointer_of, split_place
from attribution.faults.kinds import Clean, FaultKind
from attribution.interventions.runs import arm_of, oracle_run
from attribution.ownership import unreferenced_paths
from attribution.swap import body_of, swap
from components.environment.world import build_world
from components.evaluator.constraints import argument_constraints
from components.evaluator.rubric import is_pass, score_criteria
from components.records.patch import Component, Patch
from components.records.system import System
from components.task.compose import ComposedPair, ComposedTask, compose_task
from components.task.gold import Gold, run_gold
from components.task.graph import tool_graph
from components.task.mutants import Mutant, Mutants
from loop.composing import tasks_of, with_tasks
from tests.attribution.composed import SETTINGS, composed_system

NUM_TASKS, NUM_CANDIDATES = 24, 12
_MISSING = object()


@cache
def system() -> System:
    """Return the clean system that all kinds are tried on; one of its tasks picks a row of a list,
    and two are a pair under a policy rule.
    """
    made = composed_system(NUM_TASKS)
    return with_tasks(made, [_picking_task(made), *_pair(made)])


def _pair(made: System) -> tuple[ComposedTask, ...]:
    settings = SETTINGS.model_copy(update={"k": 2, "walk_length": 4, "policies": 1.0})
    for seed in range(20):
        found = compose_task(made, settings, seed)
        if isinstance(found, ComposedPair):
            return tasks_of(found)
    raise AssertionError("no draft became a pair")


def _picking_task(made: System) -> ComposedTask:
    settings = SETTINGS.model_copy(update={"k": 3, "walk_length": 6})
    for seed in range(60, 200):
        found = compose_task(made, settings, seed)
        if isinstance(found, ComposedTask) and any(
            referent.pick is not None for referent in found.task.referents.values()
        ):
            return found
    raise AssertionError("no task picks a row of a list")


def clean() -> Clean:
    """Return it with a fixed draw."""
    return Clean(system=system(), rng=random.Random(0))


def candidates(kind: FaultKind) -> list[Change]:
    """Return the first places of a kind."""
    return list(islice(kind.places(clean()), NUM_CANDIDATES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """The first candidate that shows."""

    change: Change
    patch: Patch
    number: int
    task_id: str


def first_live_task_fault(kind: FaultKind) -> Planted | None:
    """Return the first candidate with which the oracle no longer passes, or doing nothing does."""
    for number, change in enumerate(candidates(kind)):
        patch = bind(system(), change)
        task_id = change.artifact.partition("/")[2]
        assert oracle_run(arm_of(system(), task_id)).passed
        if oracle_run(arm_of(swap(system(), patch), task_id)).passed is not True:
            return Planted(change=change, patch=patch, number=number, task_id=task_id)
    return None


def first_live_evaluator_fault(kind: FaultKind) -> Planted | None:
    """Return the first candidate with which some line of play is scored otherwise."""
    for number, change in enumerate(candidates(kind)):
        patch = bind(system(), change)
        faulty = swap(system(), patch)
        family, _, name = change.artifact.partition("/")
        for task_id in [name] if family == "rubric" else sorted(system().tasks):
            if verdicts(faulty, task_id) != clean_verdicts(task_id):
                return Planted(change=change, patch=patch, number=number, task_id=task_id)
    return None


@cache
def clean_verdicts(task_id: str) -> tuple[bool | None, ...]:
    """Return how the clean evaluator scores each line of play of a task."""
    return verdicts(system(), task_id)


def verdicts(evaluated_by: System, task_id: str) -> tuple[bool | None, ...]:
    """Return how the evaluator of a system scores each line of play of a task."""
    gold, lines = _lines(task_id)
    rubric = evaluated_by.evaluator.rubrics[task_id]
    settings = evaluated_by.evaluator.settings
    return tuple(
        is_pass(
            score_criteria(rubric, settings, gold.initial, line.final, line.answer),
            rubric,
            settings,
        )
        for line in lines
    )


@cache
def _lines(task_id: str) -> tuple[Gold, tuple[Mutant, ...]]:
    task, rubric = system().tasks[task_id], system().evaluator.rubrics[task_id]
    world = build_world(system(), task.world)
    gold = run_gold(world, task)
    assert isinstance(gold, Gold)
    records = [gold.records[name] for name in gold.names]
    constraints = argument_constraints(task, records, world, rubric)
    graph = tool_graph(system(), task.world.services)
    rules = system().evaluator.settings.equivalence
    return gold, tuple(Mutants(world, task, graph, gold, constraints, rules).all())


def check_form(kind: FaultKind, component: Component) -> None:
    """Check every candidate: one artifact of the component, paths that have a reference, and a
    place that an operation reaches.
    """
    found = candidates(kind)
    assert found, f"{kind.name} has no place"
    assert found == candidates(kind), "the same draw gives the same places"
    for change in found:
        patch = bind(system(), change)
        assert kind.component is patch.component is component
        assert unreferenced_paths(patch) == ()
        faulty = swap(system(), patch)
        bodies = [body_of(system(), change.artifact), body_of(faulty, change.artifact)]
        assert bodies[0] != bodies[1], change.reason
        artifact, parts = split_place(change.place)
        pointer = pointer_of(*parts)
        assert artifact == change.artifact
        assert parts
        assert any(_is_inside(path, pointer) for _op, path, _value in change.operations)
        assert any(resolve_pointer(body, pointer, _MISSING) is not _MISSING for body in bodies)


def _is_inside(path: str, pointer: str) -> bool:
    """Return whether one pointer is the other, or lies inside it."""
    return f"{path}/".startswith(f"{pointer}/") or f"{pointer}/".startswith(f"{path}/")


def table_of(document: str) -> dict[str, str]:
    """Return the kinds that a page of the documentation has in its table, with what is wrong."""
    lines = (Path("docs") / document).read_text("utf-8").splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("| `")
    ]
    assert all(len(row) == 3 and row[2] for row in rows)
    assert len({row[0] for row in rows}) == len(rows)
    return {row[0].strip("`"): row[1] for row in rows}
