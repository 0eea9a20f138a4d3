"""Keep a patch or roll it back: deterministic replays decide, and the decision is on record.

Owns the checks that a patch must pass. It refuses to sample: every check is a replay that anyone
can run again. A patch is kept when it is bound to what is there, nothing that held before is lost,
what it is for gets better, and it does not merely make more runs pass. Certificates whose hashes it
moves are renewed by probing again, apart from the patch, and only where the certified run comes out
as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from attribution.facts import reviewed
from attribution.interventions.budgets import oracle_meets_norm, plain_limits
from attribution.interventions.gold import replay_gold, same_outcome
from attribution.interventions.reading import broken_rendering
from attribution.interventions.rescoring import (
    broken_criteria,
    broken_settings,
    decides_rightly,
    known_runs,
    reference_rubric,
)
from attribution.interventions.runs import (
    arm_of,
    first_difference,
    oracle_run,
    play_on,
    replay,
    texts_of,
)
from attribution.records import AcceptanceCheck, AcceptanceRecord, EvidenceKind, Party
from attribution.swap import swap
from components.artifacts import component_versions
from components.environment.engine import execute
from components.errors import SelvageError, SynthesisError
from components.evaluator.rubric import is_pass, score_criteria
from components.records.frozen import FrozenDict
from components.records.patch import Component, Patch
from components.records.system import System
from components.records.task import Certificate
from components.records.trajectory import ScoredTrajectory, Trajectory
from components.task.certify import certify


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A rollout that was decided wrongly because of what the patch repairs."""

    trajectory: Trajectory
    scored: ScoredTrajectory


Count = tuple[int, int, str]
"""Cases that hold, cases in all, and the first that does not."""


def decide(system: System, patch: Patch, examples: Sequence[Example]) -> AcceptanceRecord:
    """Return whether a patch is kept, with every check.

    Args:
        system: the system as it is.
        patch: the proposed change.
        examples: rollouts of the failure mode, in which this defect alone made the difference.
    """
    versions = component_versions(system)
    try:
        after = swap(system, patch)
    except SynthesisError as error:
        return _record(patch, {}, versions, versions, f"it does not apply: {error}")
    if patch.artifact == "retired":
        return _retired(system, after, patch)
    tasks = affected_tasks(system, patch)
    problem = _unbuildable(after, tasks)
    if problem:
        return _record(patch, {}, versions, versions, f"the system does not compile: {problem}")
    checks = {name: _compared(count, system, after, tasks) for name, count in _COUNTS.items()}
    for name, places in _PLACES.items():
        checks[name] = _cleared(places, system, after, tasks)
    checks["examples"] = _examples(after, examples)
    renewed: dict[str, Certificate] = {}
    if all(check.holds for check in checks.values()):
        checks["certificates"], renewed = _renewed(system, after, patch, tasks)
    reason = _refusal(patch, checks)
    if reason:
        return _record(patch, checks, versions, versions, reason)
    return AcceptanceRecord(
        patch_id=patch.patch_id,
        accepted=True,
        reason="nothing is lost, and what it is for gets better",
        checks=FrozenDict(checks),
        versions_before=versions,
        versions_after=component_versions(after),
        certificates=FrozenDict(renewed),
    )


def _retired(system: System, after: System, patch: Patch) -> AcceptanceRecord:
    """A task may be taken out when something speaks against it that is its own."""
    versions = component_versions(system)
    out = sorted(set(after.retired) - set(system.retired))
    sound = [name for name in out if not _task_places(system, name)]
    check = AcceptanceCheck(
        before=0, after=len(out) - len(sound), total=len(out), holds=bool(out) and not sound
    )
    checks = {"defective": check}
    if not check.holds:
        return _record(patch, checks, versions, versions, "nothing speaks against the task")
    return AcceptanceRecord(
        patch_id=patch.patch_id,
        accepted=True,
        reason="the task does not fit its certified run, and no repair does",
        checks=FrozenDict(checks),
        versions_before=versions,
        versions_after=component_versions(after),
    )


def accepted_system(system: System, patch: Patch, record: AcceptanceRecord) -> System:
    """Return the system after a decision: patched, with renewed certificates, or as it was."""
    if not record.accepted:
        return system
    after = swap(system, patch)
    certificates = FrozenDict({**after.reference.certificates, **record.certificates})
    reference = after.reference.model_copy(update={"certificates": certificates})
    return after.model_copy(update={"reference": reference})


def affected_tasks(system: System, patch: Patch) -> tuple[str, ...]:
    """Return the certified tasks that a patch can change anything for."""
    family, _, name = patch.artifact.partition("/")
    live = [
        task_id
        for task_id in sorted(system.reference.certificates)
        if task_id in system.tasks and task_id not in system.retired
    ]
    match family:
        case "blueprint" | "seed":
            worlds = {task_id: system.tasks[task_id].world for task_id in live}
            return tuple(
                task_id
                for task_id, world in worlds.items()
                if name in world.services or name in world.distractors
            )
        case "task" | "rubric":
            return tuple(task_id for task_id in live if task_id == name)
        case _:
            return tuple(live)


def _unbuildable(system: System, tasks: Iterable[str]) -> str:
    for task_id in tasks:
        try:
            arm_of(system, task_id)
        except SynthesisError as error:
            return f"{task_id}: {error}"
    return ""


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
        return count(system, (task_id,))
    except SelvageError as error:
        return 0, 1, f"{task_id}: {error}"


def _cleared(
    places: Callable[[System, str], set[str]],
    before: System,
    after: System,
    tasks: Sequence[str],
) -> AcceptanceCheck:
    """Count the places that are clear, of those that something speaks against before or after."""
    old = new = total = 0
    detail = ""
    for task_id in tasks:
        open_before, open_after = (
            _places_or_task(places, system, task_id) for system in (before, after)
        )
        concerned = max(1, len(open_before | open_after))
        total += concerned
        old += concerned - len(open_before)
        new += concerned - len(open_after)
        if open_after and not detail:
            detail = min(open_after)
    return AcceptanceCheck(before=old, after=new, total=total, holds=new >= old, detail=detail)


def _places_or_task(
    places: Callable[[System, str], set[str]], system: System, task_id: str
) -> set[str]:
    try:
        return places(system, task_id)
    except SelvageError:  # its world cannot be built: all of it is open
        return {f"task/{task_id}"}


def _tally(cases: Iterable[tuple[str, bool]]) -> Count:
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
    return _tally(cases)


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
    return _tally(cases)


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
    return _tally(cases)


def _norm(system: System, tasks: Sequence[str]) -> Count:
    """Tasks that the oracle passes within its share of the turns."""
    limits = system.harness.limits
    return _tally(
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


def _task_places(system: System, task_id: str) -> set[str]:
    """Where a task does not fit its certified run."""
    review = reviewed(system, task_id, Party.TASK)
    return {fact.place for fact in review if fact.party is Party.TASK}


def _evaluator_places(system: System, task_id: str) -> set[str]:
    """Where rubric and settings are not what the certified run and the samples make of them."""
    arm, certificate = arm_of(system, task_id), system.reference.certificates[task_id]
    facts = list(broken_settings(system.evaluator.settings))
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
    "verdicts": _verdicts,
    "norm": _norm,
}
_PLACES: dict[str, Callable[[System, str], set[str]]] = {
    "promises": _environment_places,
    "derivations": _task_places,
    "criteria": _evaluator_places,
    "harness": _harness_places,
}


def _examples(after: System, examples: Sequence[Example]) -> AcceptanceCheck:
    """Rollouts that are decided rightly now: a false pass fails, a failure can still be won from
    where the patched system first answers otherwise.
    """
    cases = []
    for example in examples:
        trajectory = example.trajectory
        if trajectory.task_id not in after.tasks:
            continue
        try:
            arm = arm_of(after, trajectory.task_id)
        except SelvageError:
            cases.append((trajectory.rollout_id, False))
            continue
        texts = texts_of(trajectory)
        again = replay(arm, texts, trajectory.seed)
        if example.scored.passed:
            cases.append((trajectory.rollout_id, again.passed is False))
            continue
        differs = first_difference(trajectory, again.trajectory)
        point = len(texts) if differs is None else min(differs + 1, len(texts))
        is_won = play_on(arm, texts[:point], trajectory.seed).passed is True
        cases.append((trajectory.rollout_id, is_won))
    held, total, first = _tally(cases)
    return AcceptanceCheck(before=0, after=held, total=total, holds=True, detail=first)


def _refusal(patch: Patch, checks: dict[str, AcceptanceCheck]) -> str:
    """Return why a patch is rolled back; empty when it is kept."""
    for name, check in checks.items():
        if not check.holds:
            return (
                f"{name}: {check.after} of {check.total} hold, {check.before} did ({check.detail})"
            )
    gains = {
        name for name, check in checks.items() if check.after > check.before and name != "examples"
    }
    examples = checks["examples"]
    if examples.total and not examples.after and not gains:
        return "none of the rollouts that it is for is decided rightly now"
    if not gains and not examples.after:
        return "nothing gets better"
    if patch.component is Component.EVALUATOR and not gains & {"verdicts", "criteria"}:
        return "it makes more runs pass, and no known run is decided better"
    if patch.component is Component.TASK and not gains:
        return "it makes the task easier, and fits its certified run no better"
    return ""


def _renewed(
    before: System, after: System, patch: Patch, tasks: Sequence[str]
) -> tuple[AcceptanceCheck, dict[str, Certificate]]:
    """Probe again the tasks whose certificates name what the patch changed.

    A certificate is renewed only where the certified run comes out as it was: a run that another
    defect still bends must not become the reference. A task whose gates passed before must pass
    them after.
    """
    if patch.component is Component.HARNESS:
        return AcceptanceCheck(before=0, after=0, total=0, holds=True), {}
    renewed: dict[str, Certificate] = {}
    lost = ""
    for task_id in tasks:
        old = before.reference.certificates[task_id]
        made = _certified(after, task_id)
        if made is None:
            if patch.component is Component.TASK:
                lost = lost or f"{task_id} does not pass its gates"
            elif _certified(before, task_id) is not None:
                lost = lost or f"{task_id} passed its gates before"
        elif _same_reference(old, made):
            renewed[task_id] = made
        elif patch.component is Component.TASK:
            lost = lost or f"{task_id} asks for something else than was certified"
    check = AcceptanceCheck(
        before=len(tasks) if not lost else len(renewed) + 1,
        after=len(renewed),
        total=len(tasks),
        holds=not lost,
        detail=lost,
    )
    return check, renewed


def _certified(system: System, task_id: str) -> Certificate | None:
    rubric = system.evaluator.rubrics.get(task_id)
    if rubric is None:
        return None
    made = certify(system, system.tasks[task_id], rubric)
    return made if isinstance(made, Certificate) else None


def _same_reference(old: Certificate, new: Certificate) -> bool:
    return (
        set(old.gold_run) == set(new.gold_run)
        and all(
            old.gold_run[name].arguments == new.gold_run[name].arguments
            and same_outcome(old.gold_run[name], new.gold_run[name])
            for name in old.gold_run
        )
        and old.gold_answer == new.gold_answer
        and old.seed_rows == new.seed_rows
    )


def _record(
    patch: Patch,
    checks: dict[str, AcceptanceCheck],
    before: FrozenDict[str, str],
    after: FrozenDict[str, str],
    reason: str,
) -> AcceptanceRecord:
    return AcceptanceRecord(
        patch_id=patch.patch_id,
        accepted=False,
        reason=reason,
        checks=FrozenDict(checks),
        versions_before=before,
        versions_after=after,
    )
