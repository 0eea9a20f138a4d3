"""What a patch must not do besides what it is for.

The checks of `attribution.accept` ask whether a defect is gone. These ask what else came with it: a
rule broken where gold never goes, an answer given away, a tool no longer shown, a limit raised for
nothing, a text that is no longer read. Each compares a count before and after; none may fall.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from attribution.admitted import admission
from attribution.evidence import split_place, touched_places
from attribution.interventions.budgets import NORM_SHARE, plain_limits, tight_limits
from attribution.interventions.derivation import text_of
from attribution.interventions.promises import check_step, promised_reactions
from attribution.interventions.reading import is_read, is_shown_whole
from attribution.interventions.runs import arm_of, oracle_run
from attribution.interventions.steps import run_steps
from attribution.records import AcceptanceCheck
from attribution.spans import span_check
from attribution.touched import touched_check
from components.errors import HarnessError, SelvageError
from components.harness.tools import shown_tools
from components.records.calls import CallRecord
from components.records.frozen import thaw
from components.records.harness import HarnessSettings, Limits
from components.records.patch import Component, Patch
from components.records.system import System
from components.records.task import FromInstruction, FromObservation, Provenance
from components.records.trajectory import Trajectory

_ANSWERS = (
    {"ok": True, "data": {"items": [{"id": "itm_7f3a91", "note": 'a "quote" & <a sign>'}]}},
    {"ok": False, "error": {"code": "not_found", "message": "no such row", "details": {}}},
)
"""What any tool may answer."""
_MIN_GIVEN = 3
"""Characters of the shortest value that an instruction can be said to give away."""
_MOST_RAISED = 4
"""A limit may be raised to this many times what was needed of it."""


def harm_checks(
    before: System,
    after: System,
    patch: Patch,
    tasks: Sequence[str],
    rollouts: Sequence[Trajectory],
) -> dict[str, AcceptanceCheck]:
    """Return the checks for what came along with a repair.

    Args:
        before: the system as it is.
        after: the system with the patch.
        patch: the patch.
        tasks: tasks that it can change anything for.
        rollouts: recorded rollouts that it is for.
    """
    checks = {
        "needed_tools": _needed_tools(before, after, tasks),
        "beside": _beside(patch),
    }
    match patch.component:
        case Component.ENVIRONMENT:
            family, _, service = patch.artifact.partition("/")
            if family in ("blueprint", "seed"):
                checks["gates"] = _gates(before, after, service)
            if family in ("seed", "reactions"):
                checks["touched"] = touched_check(before, after, patch)
            checks["calls"] = _calls(before, after, rollouts)
        case Component.TASK:
            checks["hidden_values"] = _hidden_values(before, after, tasks)
            checks["answer_fields"] = _answer_fields(before, after, tasks)
            checks["spans"] = span_check(before, after, tasks)
        case Component.HARNESS:
            checks["shown_tools"] = _shown(before, after, tasks)
            checks["shown_answers"] = _shown_answers(before, after, tasks)
            checks["limits"] = _limits(before, after, tasks, rollouts)
            checks["readings"] = _readings(before, after, rollouts)
        case Component.EVALUATOR:
            checks["touched"] = touched_check(before, after, patch)
    return checks


def _check(old: int, new: int, total: int, detail: str = "") -> AcceptanceCheck:
    is_kept = new >= old
    return AcceptanceCheck(
        before=old, after=new, total=total, holds=is_kept, detail="" if is_kept else detail
    )


def _offered(system: System, task_id: str) -> set[str]:
    try:
        arm = arm_of(system, task_id)
    except SelvageError:
        return set()
    return {tool.name for tool in shown_tools(arm.world.services, arm.task, system.harness)}


def _needed_tools(before: System, after: System, tasks: Sequence[str]) -> AcceptanceCheck:
    """Tools of certified runs that the policy can call.

    A needed tool that is taken out takes its tasks with it; then they have to be retired, openly.
    """
    old = new = total = 0
    lost = ""
    for task_id in tasks:
        run = before.reference.certificates[task_id].gold_run.values()
        needed = {f"{call.service}__{call.tool}" for call in run}
        here, there = needed & _offered(before, task_id), needed & _offered(after, task_id)
        old, new, total = old + len(here), new + len(there), total + len(needed)
        lost = lost or min(here - there, default="")
    return _check(old, new, total, lost)


def _beside(patch: Patch) -> AcceptanceCheck:
    """Touched places that lie in the tool, or the reaction, that the patch is for."""
    family = patch.artifact.partition("/")[0]
    parts = {"blueprint": 2, "reactions": 1}.get(family, 0)
    own = split_place(patch.place)[1][:parts]
    places = touched_places(patch)
    if len(own) < parts or (family == "blueprint" and own[0] not in ("tools", "quarantined")):
        own = ()
    beside = [place for place in places if own and not _is_in(place, own)]
    return AcceptanceCheck(
        before=len(places) - len(beside),  # nothing is better for it
        after=len(places) - len(beside),
        total=len(places),
        holds=not beside,
        detail=f"{beside[0]} is beside what it is for" if beside else "",
    )


def _is_in(place: str, own: Sequence[str]) -> bool:
    keys = split_place(place)[1]
    is_quarantine = keys[:1] == ("quarantined",) and own[0] == "tools"
    return tuple(own) == keys[: len(own)] or (is_quarantine and keys[1:2] == tuple(own[1:2]))


def _gates(before: System, after: System, service: str) -> AcceptanceCheck:
    """Tests written from the service's documentation, on tools that are offered or were."""
    failed_before, _ = _failures(before, service)
    failed, total = _failures(after, service)
    worse = sorted(failed - failed_before)
    detail = "" if not worse else f"{worse[0][0]}: {worse[0][1]}"
    total = max(total, len(failed), len(failed_before))
    return AcceptanceCheck(
        before=total - len(failed_before),
        after=total - len(failed),
        total=total,
        holds=not worse,
        detail=detail,
    )


def _failures(system: System, service: str) -> tuple[set[tuple[str, str]], int]:
    found = admission(system, service)
    return {(item.tool, item.rule) for item in found.failures}, found.tests_run


def _calls(before: System, after: System, rollouts: Sequence[Trajectory]) -> AcceptanceCheck:
    """Recorded calls that, executed again, keep their documentation and the promised reactions."""
    old = new = total = 0
    for trajectory in rollouts:
        count = len(_recorded_calls(trajectory))
        total += count
        old += count - _num_broken(before, trajectory, count)
        new += count - _num_broken(after, trajectory, count)
    return _check(old, new, total, "a recorded call breaks what is written of it")


def _num_broken(system: System, trajectory: Trajectory, count: int) -> int:
    try:
        arm = arm_of(system, trajectory.task_id)
    except SelvageError:
        return count
    calls = _recorded_calls(trajectory)
    promised = promised_reactions(arm.world, system.reference.contract)
    _final, steps = run_steps(arm.world, arm.world.initial, calls)
    return sum(bool(check_step(arm.world, promised, step)) for step in steps)


def _recorded_calls(trajectory: Trajectory) -> list[CallRecord]:
    return [
        item.call
        for turn in trajectory.turns
        for item in turn.observations
        if item.call is not None
    ]


def _hidden_values(before: System, after: System, tasks: Sequence[str]) -> AcceptanceCheck:
    """Values that only an answer shows, and that neither instruction nor schema gives away."""
    old = new = total = 0
    given = ""
    for task_id in tasks:
        if task_id not in after.tasks:
            continue
        values = _found_out(before, after, task_id)
        here = {value for value in values if value not in _told(before, task_id)}
        there = {value for value in values if value not in _told(after, task_id)}
        old, new, total = old + len(here), new + len(there), total + len(values)
        if lost := sorted(here - there):
            given = given or f"{task_id} gives {lost[0]!r} away"
    return _check(old, new, total, given)


def _answer_fields(before: System, after: System, tasks: Sequence[str]) -> AcceptanceCheck:
    """Fields of the certified answer that the schema demands."""
    old = new = total = 0
    lost = ""
    for task_id in tasks:
        fields = set(before.reference.certificates[task_id].gold_answer)
        here, there = (
            fields & set(system.tasks[task_id].answer_schema.get("required") or ())
            for system in (before, after)
        )
        old, new, total = old + len(here), new + len(there), total + len(fields)
        lost = lost or min(here - there, default="")
    return _check(old, new, total, f"the answer's {lost} is no longer demanded")


def _told(system: System, task_id: str) -> str:
    task = system.tasks[task_id]
    schema = json.dumps(thaw(task.answer_schema), ensure_ascii=False)
    return f"{task.instruction}\n{schema}".casefold()


def _found_out(before: System, after: System, task_id: str) -> set[str]:
    """Return certified values that gold takes from answers, and did not take from the instruction
    before.
    """
    seen = {
        text
        for system in (before, after)
        for source, text in _sources(system, task_id)
        if isinstance(source, FromObservation) and len(text) >= _MIN_GIVEN
    }
    sources = _sources(before, task_id)
    return seen - {text for source, text in sources if isinstance(source, FromInstruction)}


def _sources(system: System, task_id: str) -> Iterator[tuple[Provenance, str]]:
    """Yield where gold takes each plain value from, with the certified value as text."""
    for source, value in _certified_sources(system, task_id):
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield source, text_of(value).casefold()


def _certified_sources(system: System, task_id: str) -> Iterator[tuple[Provenance, Any]]:
    task, certificate = system.tasks[task_id], system.reference.certificates[task_id]
    for name, step in sorted(task.gold.items()):
        call = certificate.gold_run.get(name)
        for pointer, source in sorted(step.arguments.items()):
            if call is not None and pointer.count("/") == 1:
                yield source, call.arguments.get(pointer[1:])
    for field, source in sorted(task.answer.items()):
        yield source, certificate.gold_answer.get(field)


def _shown(before: System, after: System, tasks: Sequence[str]) -> AcceptanceCheck:
    """Tools that the policy is shown."""
    old = new = 0
    lost = ""
    for task_id in tasks:
        here, there = _offered(before, task_id), _offered(after, task_id)
        old, new = old + len(here), new + len(there)
        lost = lost or min(here - there, default="")
    return _check(old, new, max(old, new), f"{lost} is no longer shown")


def _shown_answers(before: System, after: System, tasks: Sequence[str]) -> AcceptanceCheck:
    """Tools, those included that no task needs, whose answers and refusals are shown whole."""
    names: set[str] = set()
    if before.harness.observation != after.harness.observation:
        names = {name for task_id in tasks for name in _offered(before, task_id)}
    was, now = (
        {name for name in names if _is_answer_shown(system.harness, name)}
        for system in (before, after)
    )
    lost = min(names - now, default="")
    return AcceptanceCheck(
        before=len(was),
        after=len(now),
        total=len(names),
        holds=not lost,
        detail=f"an answer of {lost} is not shown whole" if lost else "",
    )


def _is_answer_shown(settings: HarnessSettings, name: str) -> bool:
    try:
        return all(is_shown_whole(settings, name, "t00c1", item) for item in _ANSWERS)
    except HarnessError:
        return False


def _limits(
    before: System, after: System, tasks: Sequence[str], rollouts: Sequence[Trajectory]
) -> AcceptanceCheck:
    """Limits that are as they were, or were too tight and are no wider than the norm wants; none
    is ever too wide.
    """
    old, new = (
        {name: getattr(system.harness.limits, name) for name in Limits.model_fields}
        for system in (before, after)
    )
    raised = [name for name in sorted(new) if new[name] > old[name]]
    needed = _needed(before, tasks, rollouts) if raised else {}
    bad = [name for name in raised if new[name] > _MOST_RAISED * needed.get(name, 0)]
    detail = f"{bad[0]} is raised to {new[bad[0]]} for nothing" if bad else ""
    lowered = [name for name in sorted(new) if new[name] < old[name]]
    if lowered:
        detail = detail or f"{lowered[0]} is lowered to {new[lowered[0]]}"
        bad += lowered
    return _check(len(new), len(new) - len(bad), len(new), detail)


def _needed(system: System, tasks: Sequence[str], rollouts: Sequence[Trajectory]) -> dict[str, int]:
    found: dict[str, int] = {}
    for task_id in tasks:
        arm = arm_of(system, task_id)
        for fact in (*plain_limits(arm), *tight_limits(arm, oracle_run(arm))):
            name, need = str(fact.data["setting"]), int(fact.data["needed"])
            found[name] = max(found.get(name, 0), need)
        # Where another defect stops the oracle nothing is measured; gold's length is known.
        turns = NORM_SHARE * (len(system.reference.certificates[task_id].gold_run) + 1)
        if turns > system.harness.limits.max_turns:
            found["max_turns"] = max(found.get("max_turns", 0), turns)
    most = max((len(turn.calls) for item in rollouts for turn in item.turns), default=0)
    if most > system.harness.limits.max_calls_per_turn:
        found["max_calls_per_turn"] = most
    return found


def _readings(before: System, after: System, rollouts: Sequence[Trajectory]) -> AcceptanceCheck:
    """Recorded messages in which valid calls are read, all of which are run."""
    old = new = total = 0
    for trajectory in rollouts:
        arms = [arm_of(system, trajectory.task_id) for system in (before, after)]
        for turn in trajectory.turns:
            total += 1
            was, now = (
                is_read(arm, turn.raw_text, turn.index)
                and len(turn.calls) <= arm.system.harness.limits.max_calls_per_turn
                for arm in arms
            )
            old, new = old + was, new + now
    return _check(old, new, total, "a recorded message is no longer read")
