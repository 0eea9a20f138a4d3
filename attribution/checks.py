"""The checks that ask whether a defect is gone, and whether anything that held is lost.

Counts of cases that hold before and after a patch, and places that something speaks against. Every
case is a replay of certified or known runs; nothing here decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attribution.facts import reviewed
from attribution.interventions.budgets import oracle_meets_norm, plain_limits
from attribution.interventions.gold import replay_gold, same_outcome
from attribution.interventions.reading import broken_rendering
from attribution.interventions.recorded import trusted
from attribution.interventions.rescoring import (
    broken_criteria,
    broken_settings,
    decides_rightly,
    known_runs,
    reference_rubric,
)
from attribution.interventions.runs import arm_of, oracle_run
from attribution.records import AcceptanceCheck, EvidenceKind, Party
from components.environment.engine import execute
from components.errors import SelvageError, SynthesisError, boundary
from components.evaluator.rubric import is_pass, score_criteria
from components.records.patch import Component
from components.records.system import System

Count = tuple[int, int, str]
"""Cases that hold, cases in all, and the first that does not."""


def defect_checks(
    before: System, after: System, component: Component, tasks: Sequence[str]
) -> dict[str, AcceptanceCheck]:
    """Return the checks by name.

    Args:
        before: the system as it is.
        after: the system with a patch.
        component: whose patch it is.
        tasks: tasks that it can change anything for.
    """
    checks = {name: _compared(count, before, after, tasks) for name, count in _COUNTS.items()}
    for name, places in _PLACES.items():
        checks[name] = _cleared(places, before, after, tasks, component is _OWN.get(name))
    return checks


def _compared(
    count: Callable[[System, Sequence[str]], Count],
    before: System,
    after: System,
    tasks: Sequence[str],
) -> AcceptanceCheck:
    old = new = total = 0
    detail = ""
    for task_id in tasks:
        held_before, _, _ = _tried(count, before, task_id)
        held_after, cases, first = _tried(count, after, task_id)
        old, new, total = old + held_before, new + held_after, total + cases
        detail = detail or first
    return AcceptanceCheck(before=old, after=new, total=total, holds=new >= old, detail=detail)


def _tried(count: Callable[[System, Sequence[str]], Count], system: System, task_id: str) -> Count:
    try:
        with boundary(SynthesisError, "replay"):
            return count(trusted(system, task_id).system, (task_id,))
    except SelvageError as error:
        return 0, 1, f"{task_id}: {error}"


def _cleared(
    places: Callable[[System, str], set[str]],
    before: System,
    after: System,
    tasks: Sequence[str],
    is_own: bool,
) -> AcceptanceCheck:
    """Count the places that are clear, of those that something speaks against before or after.

    Args:
        places: what is open in a system, for one task.
        before: the system as it is.
        after: the system with the patch.
        tasks: the tasks that it can change anything for.
        is_own: True where the patch's own component is looked at: it must open no place, however
            many it clears. In others, clearing one defect may bring the next to light.
    """
    old = new = total = 0
    detail = opened = ""
    for task_id in tasks:
        open_before, open_after = (
            _places_or_task(places, system, task_id) for system in (before, after)
        )
        concerned = max(1, len(open_before | open_after))
        total += concerned
        old += concerned - len(open_before)
        new += concerned - len(open_after)
        opened = opened or (min(open_after - open_before, default="") if is_own else "")
        if open_after and not detail:
            detail = min(open_after)
    is_held = new >= old and not opened
    return AcceptanceCheck(
        before=old, after=new, total=total, holds=is_held, detail=opened or detail
    )


def _places_or_task(
    places: Callable[[System, str], set[str]], system: System, task_id: str
) -> set[str]:
    try:
        with boundary(SynthesisError, "review"):
            return places(system, task_id)
    except SelvageError:  # its world cannot be built: all of it is open
        return {f"task/{task_id}"}


def tally(cases: Iterable[tuple[str, bool]]) -> Count:
    """Count the cases that hold, and name the first that does not."""
    held = total = 0
    first = ""
    for name, holds in cases:
        total += 1
        held += holds
        first = first or ("" if holds else name)
    return held, total, first


def _gold_answers(system: System, tasks: Sequence[str]) -> Count:
    """Certified calls that answer as recorded."""
    cases = []
    for task_id in tasks:
        certificate = system.reference.certificates[task_id]
        gold = replay_gold(arm_of(system, task_id).world, certificate)
        for name, step in zip(gold.names, gold.steps, strict=True):
            is_same = same_outcome(step.call, certificate.gold_run[name])
            cases.append((f"{task_id} {name}", is_same))
    return tally(cases)


def _gold_passes(system: System, tasks: Sequence[str]) -> Count:
    """Certified calls that, executed, pass the stored rubric."""
    cases = []
    for task_id in tasks:
        arm, certificate = arm_of(system, task_id), system.reference.certificates[task_id]
        state = arm.world.initial
        for name in sorted(certificate.gold_run):
            call = certificate.gold_run[name]
            state = execute(arm.world, state, call.service, call.tool, call.arguments).state
        rubric = system.evaluator.rubrics.get(task_id)
        if rubric is not None:
            settings = system.evaluator.settings
            scores = score_criteria(
                rubric, settings, arm.world.initial, state, certificate.gold_answer
            )
            cases.append((task_id, is_pass(scores, rubric, settings) is True))
    return tally(cases)


def _gold_plays(system: System, tasks: Sequence[str]) -> Count:
    """Tasks that the oracle passes through the harness, as a policy would.

    A rubric may let gold pass that another defect keeps from its work; mending the rubric first
    would leave the task unwinnable, so that it waits until the other defect is mended.
    """
    return tally((task_id, oracle_run(arm_of(system, task_id)).passed is True) for task_id in tasks)


def _verdicts(system: System, tasks: Sequence[str]) -> Count:
    """Known runs (gold, nothing, mutants) that the stored rubric decides rightly."""
    cases = []
    for task_id in tasks:
        arm, certificate = arm_of(system, task_id), system.reference.certificates[task_id]
        rubric = system.evaluator.rubrics.get(task_id)
        for run in known_runs(arm.world, certificate):
            is_right = rubric is not None and decides_rightly(
                rubric, system.evaluator.settings, arm.world, run
            )
            cases.append((f"{task_id} {run.name}", is_right))
    return tally(cases)


def _norm(system: System, tasks: Sequence[str]) -> Count:
    """Tasks that the oracle passes within its share of the turns."""
    limits = system.harness.limits
    return tally(
        (
            task_id,
            oracle_meets_norm(oracle_run(arm_of(system, task_id)), limits),
        )
        for task_id in tasks
    )


def _environment_places(system: System, task_id: str) -> set[str]:
    """Where what is written or promised speaks against the environment."""
    # Recorded answers are counted by themselves: a review asks them only where nothing else is in
    # doubt.
    return {
        fact.place
        for fact in reviewed(system, task_id, Party.TASK)
        if fact.party is Party.ENVIRONMENT and fact.kind is not EvidenceKind.GOLD_REPLAY
    }


def task_places(system: System, task_id: str) -> set[str]:
    """Where a task does not fit its certified run."""
    review = reviewed(system, task_id, Party.TASK)
    return {fact.place for fact in review if fact.party is Party.TASK}


def _evaluator_places(system: System, task_id: str) -> set[str]:
    """Where rubric and settings are not what the certified run and the samples make of them."""
    known = trusted(system, task_id)
    system = known.system
    arm, certificate = arm_of(system, task_id), system.reference.certificates[task_id]
    facts = list(broken_settings(system.evaluator.settings))
    if not known.is_whole:
        return {fact.place for fact in facts}
    if reference_rubric(arm.task, certificate, arm.world) is None:
        return {fact.place for fact in facts} | {f"rubric/{task_id}"}
    facts += broken_criteria(system, arm.task, arm.world)
    return {fact.place for fact in facts}


def _harness_places(system: System, task_id: str) -> set[str]:
    """Where the harness does not show what it must, or has a limit below the norm."""
    arm = arm_of(system, task_id)
    return {fact.place for fact in (*broken_rendering(arm), *plain_limits(arm))}


_COUNTS: dict[str, Callable[[System, Sequence[str]], Count]] = {
    "gold_answers": _gold_answers,
    "gold_passes": _gold_passes,
    "gold_plays": _gold_plays,
    "verdicts": _verdicts,
    "norm": _norm,
}
_PLACES: dict[str, Callable[[System, str], set[str]]] = {
    "promises": _environment_places,
    "derivations": task_places,
    "criteria": _evaluator_places,
    "harness": _harness_places,
}


_OWN = {
    "derivations": Component.TASK,
    "criteria": Component.EVALUATOR,
    "harness": Component.HARNESS,
}
"""Checks in which a patch of the component may open no place. What is promised of the environment
is found call by call, up to the first breach, so that a repair may show the next.
"""
