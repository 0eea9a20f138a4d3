"""What the page's tables show: failure modes, patches with their differences, tasks, services.

Turns records into rows. Computes no figure of its own.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from components.records.frozen import thaw
from components.records.patch import PatchOperation
from components.records.system import System
from loop.blame import Blamed
from loop.decided import Decided, Fate
from loop.fault_score import FaultScore
from loop.repair import Repaired
from loop.report.round_picture import RoundFigures
from loop.report.transcript import verdict_group
from loop.report.world_picture import Use, uses_of
from loop.rollouts import Rolled
from loop.summary import RoundSummary

SURENESS = (
    (0.9, "its repair alone decides the outcome, or nothing else speaks"),
    (0.7, "one of several that speak, and the likeliest"),
    (0.0, "one of several that speak"),
)
CHECKS = {
    "answer_fields": "fields of the certified answer that the schema demands",
    "beside": "touched places that lie in what the patch is for",
    "calls": "recorded calls that keep what their documentation writes",
    "certificates": "tasks whose certificate names what is there, or is made anew and agrees",
    "criteria": "places of rubrics against which nothing speaks",
    "defective": "tasks that pass their gates",
    "derivations": "places of tasks against which nothing speaks",
    "examples": "failing rollouts that can be won with this patch alone",
    "gates": "admission tests of the service that pass",
    "gold_answers": "calls of gold that answer as certified",
    "gold_passes": "tasks whose certified calls pass the rubric",
    "gold_plays": "tasks that a run without slips passes",
    "harness": "places of the harness against which nothing speaks",
    "hidden_values": "values that have to be looked up, and are not given away",
    "limits": "limits that are raised no further than something needs",
    "needed_tools": "tools that gold needs, and that are offered",
    "norm": "tasks that a run without slips passes with turns to spare",
    "promises": "places of the environment against which nothing speaks",
    "readings": "recorded messages that are read",
    "regressions": "runs that earlier patches decided rightly, and that still come out so",
    "second_reference": "references beside the certificate that want the row so, or a lost run",
    "shown_tools": "tools that are shown",
    "shown_answers": "tools whose answers are shown whole",
    "spans": "spans that cut no word, and gaps between demands without a further request",
    "touched": "what it touches, and is as its reference says",
    "verdicts": "runs (gold, nothing, mutants) that the rubric decides rightly",
}
"""What the checks of a patch count, before and after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One line of a difference."""

    kind: str
    """`minus`, `plus` or `soft` (unchanged), as the style sheet names it."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView:
    """One operation of a patch."""

    op: str
    path: str
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchView:
    """A patch with its decision."""

    decided: Decided
    operations: tuple[OperationView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task and what its rollouts came to; `-` where there were none."""

    task_id: str
    instruction: str
    walk: tuple[str, ...]
    """`service.tool` of each step of gold."""
    world: tuple[str, ...]
    """Services; those in brackets are not needed."""
    before: str
    after: str
    retired: str
    """Why it was taken out of service; empty when it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceView:
    """A service and its tools that are not offered."""

    name: str
    domain: str
    source: str
    tools: int
    use: Use
    inferred: bool
    quarantined: tuple[tuple[str, str, str], ...]
    """Tool, reason, detail."""


def figures_of(
    summary: RoundSummary, before: Rolled, blamed: Blamed, repaired: Repaired
) -> RoundFigures:
    """Return what the picture of the round is drawn from."""
    assert summary.reeval is not None
    names = {True: "passed", False: "failed", None: "unscored"}
    fates = {
        fate: Counter(
            item.patch.component.value for item in repaired.decisions if item.fate is fate
        )
        for fate in Fate
    }
    return RoundFigures(
        tasks=summary.tasks.certified,
        verdicts=Counter(
            (names[scored.passed], verdict_group(blamed.attributions.get(key)))
            for key, scored in before.scored.items()
        ),
        kept=fates[Fate.KEPT],
        held=fates[Fate.HELD],
        rolled_back=fates[Fate.ROLLED_BACK],
        trained_on=None if summary.training is None else summary.training.samples,
        reeval=summary.reeval,
    )


def wrong_modes(score: FaultScore) -> set[str]:
    """Return the ids of failure modes that blame a place where nothing was planted.

    Empty on a clean system, where nothing is known of what should be blamed.
    """
    return {item.mode_id for item in score.wrong} if score.outcomes else set()


def patch_views(repaired: Repaired) -> list[PatchView]:
    """Return every patch with its difference."""
    views = []
    for item in repaired.decisions:
        old = {step.path: step.value for step in item.patch.operations if step.op == "test"}
        operations = tuple(
            OperationView(op=step.op, path=step.path, lines=_difference(old.get(step.path), step))
            for step in item.patch.operations
            if step.op != "test"
        )
        views.append(PatchView(decided=item, operations=operations))
    return views


def task_views(
    system: System, before: Rolled | None = None, after: Rolled | None = None
) -> list[TaskView]:
    """Return the tasks in the order of their ids."""
    return [
        TaskView(
            task_id=key,
            instruction=task.instruction,
            walk=tuple(f"{step.service}.{step.tool}" for _name, step in sorted(task.gold.items())),
            world=(*task.world.services, *(f"({name})" for name in task.world.distractors)),
            before=_passes(before, key),
            after=_passes(after, key),
            retired=system.retired.get(key, ""),
        )
        for key, task in sorted(system.tasks.items())
    ]


def service_views(system: System) -> list[ServiceView]:
    """Return the services in the order of their names."""
    uses = uses_of(system)
    return [
        ServiceView(
            name=name,
            domain=spec.domain,
            source=spec.source,
            tools=len(spec.tools),
            use=uses[name],
            inferred=system.environment.blueprints[name].inferred,
            quarantined=tuple(
                (tool, item.reason.value, item.detail)
                for tool, item in system.environment.blueprints[name].quarantined.items()
            ),
        )
        for name, spec in sorted(system.reference.specs.items())
    ]


def sureness(confidence: float) -> str:
    """Say in a word what is a class of evidence and no measured probability."""
    return next(word for least, word in SURENESS if confidence >= least)


def _difference(old: Any, step: PatchOperation) -> tuple[DiffLine, ...]:
    """Return the lines that an operation changes, with two lines around them."""
    before = [] if old is None else json.dumps(thaw(old), indent=1, sort_keys=True).splitlines()
    after: list[str] = []
    if step.op != "remove":
        after = json.dumps(thaw(step.value), indent=1, sort_keys=True).splitlines()
    changed = list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:]
    kinds = {"-": "minus", "+": "plus"}
    return tuple(
        DiffLine(kind=kinds.get(line[0], "soft"), text="..." if line[:2] == "@@" else line)
        for line in changed[1:]  # the first only says where the lines stand
    )


def _passes(rolled: Rolled | None, task_id: str) -> str:
    group = (
        []
        if rolled is None
        else [item.passed for item in rolled.scored.values() if item.task_id == task_id]
    )
    return f"{group.count(True)} of {len(group)}" if group else "-"
