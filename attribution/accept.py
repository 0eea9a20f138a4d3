"""Keep a patch or roll it back: deterministic replays decide, and the decision is on record.

Owns the checks that a patch must pass. It refuses to sample: every check is a replay that anyone
can run again. A patch is kept when it is bound to what is there, nothing that held before is lost,
what it is for gets better, and it does not merely make more runs pass. Certificates whose hashes it
moves are renewed by probing again, apart from the patch, and only where the certified run comes out
as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attribution.admitted import is_admitted_again
from attribution.agreement import is_of_rows, second_reference
from attribution.checks import defect_checks, tally, task_places
from attribution.harm import harm_checks
from attribution.interventions.gold import same_outcome
from attribution.interventions.runs import arm_of, play_on
from attribution.ownership import unreferenced_paths
from attribution.records import AcceptanceCheck, AcceptanceRecord, Regression
from attribution.regressions import come_out, one_a_task, pin, regression_check
from attribution.swap import swap
from components.artifacts import component_versions
from components.errors import BoundaryError, SelvageError, SynthesisError, boundary
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


def decide(
    system: System,
    patch: Patch,
    examples: Sequence[Example],
    pinned: Sequence[Regression] = (),
) -> AcceptanceRecord:
    """Return whether a patch is kept, with every check.

    Args:
        system: the system as it is.
        patch: the proposed change.
        examples: rollouts of the failure mode, in which this defect alone made the difference.
        pinned: entries of the regression set; those that hold must be kept.
    """
    versions = component_versions(system)
    try:
        with boundary(SynthesisError, f"try patch {patch.patch_id}"):
            return _decided(system, patch, examples, pinned, versions)
    except BoundaryError as error:  # what cannot be tried is not kept, and ends no round
        return _record(patch, {}, versions, versions, f"it cannot be decided: {error}")


def _decided(
    system: System,
    patch: Patch,
    examples: Sequence[Example],
    pinned: Sequence[Regression],
    versions: FrozenDict[str, str],
) -> AcceptanceRecord:
    try:
        after = swap(system, patch)
    except SynthesisError as error:
        return _record(patch, {}, versions, versions, f"it does not apply: {error}")
    if paths := unreferenced_paths(patch):
        reason = f"it touches {patch.artifact}#{paths[0]}, which no reference covers"
        return _record(patch, {}, versions, versions, reason)
    if path := _changed_in_code(system, patch):
        reason = (
            f"it touches {patch.artifact}#{path}, and this service is code: its tools can be put "
            "in quarantine, not patched"
        )
        return _record(patch, {}, versions, versions, reason)
    if patch.artifact == "retired":
        return _retired(system, after, patch)
    tasks = affected_tasks(system, patch)
    problem = _unbuildable(after, tasks)
    if problem:
        return _record(patch, {}, versions, versions, f"the system does not compile: {problem}")
    checks = defect_checks(system, after, patch.component, tasks)
    rollouts = [item.trajectory for item in examples if item.trajectory.task_id in tasks]
    checks |= harm_checks(system, after, patch, tasks, rollouts)
    checks["examples"], entries = _examples(system, after, patch, examples)
    if is_of_rows(patch):
        checks["second_reference"] = second_reference(system, after, tasks, checks)
    renewed: dict[str, Certificate] = {}
    if all(check.holds for check in checks.values()):
        checks["regressions"] = regression_check(system, after, tasks, pinned)
        checks["certificates"], renewed = renewed_certificates(system, after, patch, tasks)
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
        regressions=entries,
    )


def _changed_in_code(system: System, patch: Patch) -> str:
    """Return a path that a patch changes in a tool of a code service; empty where it does not."""
    family, _, name = patch.artifact.partition("/")
    if family != "blueprint" or name not in system.environment.code:
        return ""
    paths = sorted(step.path for step in patch.operations if step.op != "test")
    return next((path for path in paths if path.startswith("/tools/")), "")


def _retired(system: System, after: System, patch: Patch) -> AcceptanceRecord:
    """A task may be taken out when something speaks against it that is its own."""
    versions = component_versions(system)
    out = sorted(set(after.retired) - set(system.retired))
    sound = [name for name in out if not task_places(system, name) or _still_fits(system, name)]
    check = AcceptanceCheck(
        before=0,
        after=len(out) - len(sound),
        total=len(out),
        holds=bool(out) and not sound and set(system.retired) <= set(after.retired),
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


def _still_fits(system: System, task_id: str) -> bool:
    """Whether a task passes its gates with the certified run: then its certificate is stale, and
    not the task.
    """
    old, made = system.reference.certificates[task_id], _certified(system, task_id)
    return made is not None and _same_run(old, made)


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
    return tasks_with(system, patch.artifact)


def tasks_with(system: System, artifact: str) -> tuple[str, ...]:
    """Return the certified tasks that an artifact is part of."""
    family, _, name = artifact.partition("/")
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


def _examples(
    before: System, after: System, patch: Patch, examples: Sequence[Example]
) -> tuple[AcceptanceCheck, tuple[Regression, ...]]:
    """Rollouts that are decided rightly now: a false pass fails, a failure can still be won from
    where the patched system first answers otherwise.

    A failure that could have been won from there as things were is no success of the patch.
    Returned with the entries of the regression set that come of those which come out right.
    """
    cases = []
    entries = []
    old = 0
    for example in examples:
        trajectory = example.trajectory
        if trajectory.task_id not in after.tasks:
            continue
        try:
            arm = arm_of(after, trajectory.task_id)
        except SelvageError:
            cases.append((trajectory.rollout_id, False))
            continue
        passes = not example.scored.passed
        texts, is_right = come_out(arm, trajectory, passes=passes)
        old += passes and is_right and _was_won(before, trajectory, texts)
        cases.append((trajectory.rollout_id, is_right))
        if is_right:
            entries.append(pin(after, patch.patch_id, trajectory, texts, passes=passes))
    held, total, first = tally(cases)
    check = AcceptanceCheck(before=old, after=held, total=total, holds=True, detail=first)
    return check, one_a_task(entries)


def _was_won(system: System, trajectory: Trajectory, texts: Sequence[str]) -> bool:
    try:
        arm = arm_of(system, trajectory.task_id)
    except SelvageError:
        return False
    return play_on(arm, texts, trajectory.seed).passed is True


def _refusal(patch: Patch, checks: dict[str, AcceptanceCheck]) -> str:
    """Return why a patch is rolled back; empty when it is kept."""
    for name, check in checks.items():
        if not check.holds:
            return (
                f"{name}: {check.after} of {check.total} hold, {check.before} did ({check.detail})"
            )
    gains = {
        name
        for name, check in checks.items()
        if check.after > check.before and name not in ("examples", "regressions")
    }
    examples = checks["examples"]
    if examples.total and not examples.after and not gains:
        return "none of the rollouts that it is for is decided rightly now"
    if not gains and examples.after <= examples.before:
        return "nothing gets better"
    if patch.component is Component.EVALUATOR and not gains & {"verdicts", "criteria"}:
        return "it makes more runs pass, and no known run is decided better"
    if patch.component is Component.TASK and not gains:
        return "it makes the task easier, and fits its certified run no better"
    return ""


def renewed_certificates(
    before: System, after: System, patch: Patch, tasks: Sequence[str]
) -> tuple[AcceptanceCheck, dict[str, Certificate]]:
    """Probe again the tasks whose certificates name what the patch changed.

    A certificate is renewed only where the certified run comes out as it was: a run that another
    defect still bends must not become the reference, nor a service that fails its gates. A task
    whose gates passed before must pass them after.
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
        elif _same_reference(old, made) and is_admitted_again(after, old):
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
    return _same_run(old, new) and old.seed_rows == new.seed_rows


def _same_run(old: Certificate, new: Certificate) -> bool:
    return (
        set(old.gold_run) == set(new.gold_run)
        and all(
            old.gold_run[name].arguments == new.gold_run[name].arguments
            and same_outcome(old.gold_run[name], new.gold_run[name])
            for name in old.gold_run
        )
        and old.gold_answer == new.gold_answer
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
