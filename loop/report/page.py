"""The page that a person reads: one HTML file that needs nothing beside it.

Turns records into what the template shows, and decides which trajectories are shown in full: the
shortest example of each failure mode, and two successes. Computes no figure of its own.
"""

from __future__ import annotations

import difflib
import json
import re
from importlib import resources
from typing import Any

from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

from attribution.records import Attribution, FailureMode
from components.records.base import to_json
from components.records.frozen import thaw
from components.records.patch import PatchOperation
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import ScoredTrajectory, Trajectory
from loop.blame import Blamed
from loop.fault_score import FaultScore
from loop.repair import Decided, Repaired
from loop.rollouts import Rolled
from loop.summary import RoundSummary

MAX_EXAMPLES = 16
"""Trajectories that are shown turn by turn."""
SURENESS = (
    (0.9, "its repair alone decides the outcome, or nothing else speaks"),
    (0.7, "one of several that speak, and the likeliest"),
    (0.0, "one of several that speak"),
)
CHECKS = {
    "calls": "recorded calls that keep what their documentation writes",
    "certificates": "tasks whose certificate names what is there, or is made anew and agrees",
    "criteria": "places of rubrics against which nothing speaks",
    "defective": "tasks that pass their gates",
    "derivations": "places of tasks against which nothing speaks",
    "examples": "failing rollouts that can be won with this patch alone",
    "gates": "admission tests of the service that pass",
    "gold_answers": "calls of gold that answer as certified",
    "gold_passes": "tasks whose certified calls pass the rubric",
    "harness": "places of the harness against which nothing speaks",
    "hidden_values": "values that have to be looked up, and are not given away",
    "limits": "limits that are raised no further than something needs",
    "needed_tools": "tools that gold needs, and that are offered",
    "norm": "tasks that a run without slips passes with turns to spare",
    "promises": "places of the environment against which nothing speaks",
    "readings": "recorded messages that are read",
    "shown_tools": "tools that are shown",
    "verdicts": "runs (gold, nothing, mutants) that the rubric decides rightly",
}
"""What the checks of a patch count, before and after it."""
_FILES = resources.files("loop.report")


def render_seed(summary: RoundSummary, system: System) -> str:
    """Return the page of round 0: services, tools, tasks."""
    return _render(
        "seed.html.j2", summary=summary, services=_services(system), tasks=_tasks(system)
    )


def render_round(
    summary: RoundSummary,
    system: System,
    before: Rolled,
    blamed: Blamed,
    repaired: Repaired,
    after: Rolled,
    score: FaultScore,
) -> str:
    """Return the page of a round.

    Args:
        summary: the figures.
        system: the system that the first pass ran on.
        before: the first pass.
        blamed: its verdicts and failure modes.
        repaired: every patch with its decision.
        after: the second pass.
        score: how the round did against planted faults; the page opens with it.
    """
    examples = _examples(before, blamed)
    return _render(
        "round.html.j2",
        summary=summary,
        score=score,
        checks=CHECKS,
        modes=[_mode(mode, score) for mode in blamed.modes],
        decisions=[_decision(item) for item in repaired.decisions],
        services=_services(system),
        tasks=_tasks(system, before, after),
        trajectories=[
            _trajectory(
                before.trajectories[key],
                before.scored[key],
                blamed.attributions.get(key),
                system.tasks[before.trajectories[key].task_id],
            )
            for key in examples
        ],
        shown=set(examples),
    )


def _render(template: str, **values: Any) -> str:
    environment = ImmutableSandboxedEnvironment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["style"] = _read("style.css")
    environment.globals["macros"] = environment.from_string(_read("macros.html.j2")).module
    environment.filters["soft"] = _breakable
    environment.filters["sureness"] = _sureness
    environment.filters["json"] = lambda value: json.dumps(value, indent=1, ensure_ascii=False)
    environment.filters["percent"] = lambda value: "-" if value is None else f"{value:.0%}"
    return environment.from_string(_read(template)).render(**values)


def _breakable(text: str) -> Markup:
    """Return the text with places where a narrow column may break it, all else escaped."""
    return Markup(re.sub(r"(?<=[_./#])(?=\w)", "<wbr>", str(escape(text))))


def _sureness(confidence: float) -> str:
    """Say in a word what is a class of evidence and no measured probability."""
    return next(word for least, word in SURENESS if confidence >= least)


def _read(name: str) -> str:
    return _FILES.joinpath(name).read_text(encoding="utf-8")


def _examples(before: Rolled, blamed: Blamed) -> list[str]:
    chosen = [mode.example for mode in blamed.modes if mode.example in before.trajectories]
    chosen += [key for key, item in before.scored.items() if item.passed][:2]
    return list(dict.fromkeys(chosen))[:MAX_EXAMPLES]


def _mode(mode: FailureMode, score: FaultScore) -> dict[str, Any]:
    wrong = {item.mode_id for item in score.wrong}
    return {
        "party": mode.party.value,
        "place": mode.place,
        "statement": mode.statement,
        "rollouts": len(mode.rollouts),
        "lost": mode.lost_reward,
        "example": mode.example,
        "is_wrong": bool(score.outcomes) and mode.mode_id in wrong,
    }


def _decision(item: Decided) -> dict[str, Any]:
    old = {step.path: step.value for step in item.patch.operations if step.op == "test"}
    return {
        "patch": item.patch,
        "operations": [
            {"op": step.op, "path": step.path, "lines": _difference(old.get(step.path), step)}
            for step in item.patch.operations
            if step.op != "test"
        ],
        "accepted": item.acceptance.accepted,
        "reason": item.acceptance.reason,
        "checks": item.acceptance.checks,
        "reprobed": sorted(item.acceptance.certificates),
    }


def _difference(old: Any, step: PatchOperation) -> list[dict[str, str]]:
    """Return the lines that an operation changes, with two lines around them."""
    before = [] if old is None else json.dumps(thaw(old), indent=1, sort_keys=True).splitlines()
    after: list[str] = []
    if step.op != "remove":
        after = json.dumps(thaw(step.value), indent=1, sort_keys=True).splitlines()
    changed = list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:]
    kinds = {"-": "minus", "+": "plus"}
    return [
        {"kind": kinds.get(line[0], "soft"), "text": "..." if line[:2] == "@@" else line}
        for line in changed
    ]


def _services(system: System) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "domain": spec.domain,
            "source": spec.source,
            "tools": len(spec.tools),
            "inferred": system.environment.blueprints[name].inferred,
            "quarantined": [
                (tool, item.reason.value, item.detail)
                for tool, item in system.environment.blueprints[name].quarantined.items()
            ],
        }
        for name, spec in sorted(system.reference.specs.items())
    ]


def _tasks(
    system: System, before: Rolled | None = None, after: Rolled | None = None
) -> list[dict[str, Any]]:
    return [
        {
            "task_id": key,
            "instruction": task.instruction,
            "walk": [f"{step.service}.{step.tool}" for _name, step in sorted(task.gold.items())],
            "world": (*task.world.services, *(f"({name})" for name in task.world.distractors)),
            "before": _passes(before, key),
            "after": _passes(after, key),
            "retired": system.retired.get(key, ""),
        }
        for key, task in sorted(system.tasks.items())
    ]


def _passes(rolled: Rolled | None, task_id: str) -> str:
    group = (
        []
        if rolled is None
        else [item.passed for item in rolled.scored.values() if item.task_id == task_id]
    )
    return f"{group.count(True)} of {len(group)}" if group else "-"


def _trajectory(
    trajectory: Trajectory,
    scored: ScoredTrajectory,
    attribution: Attribution | None,
    task: Task,
) -> dict[str, Any]:
    turns = []
    for turn in trajectory.turns:
        observations = {item.call_id: item for item in turn.observations}
        calls = [
            {
                "name": call.name,
                "arguments": to_json(call)["arguments"],
                "shown": observations[call.call_id].shown if call.call_id in observations else "",
                "changes": _changes(observations.get(call.call_id)),
            }
            for call in turn.calls
        ]
        turns.append(
            {
                "index": turn.index,
                "raw": turn.raw_text,
                "calls": calls,
                "problem": turn.problem,
                "feedback": turn.feedback,
            }
        )
    return {
        "rollout_id": trajectory.rollout_id,
        "instruction": task.instruction,
        "stop": trajectory.stop_reason.value,
        "failure": trajectory.failure,
        "passed": scored.passed,
        "reward": scored.reward,
        "criteria": scored.criteria,
        "reason": scored.reason,
        "verdict": None if attribution is None else attribution.verdict,
        "evidence": () if attribution is None else attribution.evidence,
        "turns": turns,
        "answer": to_json(trajectory)["answer"],
    }


def _changes(observation: Any) -> list[str]:
    if observation is None or observation.call is None:
        return []
    lines = []
    for change in observation.call.changes:
        where = f"{change.service}.{change.table} {change.row_id}"
        before, after = change.before or {}, change.after or {}
        if not before or not after:
            lines.append(f"{where}: {'created' if not before else 'deleted'} ({change.cause})")
            continue
        fields = [
            f"{field}: {json.dumps(before.get(field))} -> {json.dumps(after.get(field))}"
            for field in sorted(after)
            if before.get(field) != after.get(field)
        ]
        lines.append(f"{where}: {', '.join(fields)} ({change.cause})")
    return lines
