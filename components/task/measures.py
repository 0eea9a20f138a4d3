"""How varied a set of tasks is, and how hard by construction: counts, and nothing judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

from components.records.base import Record
from components.records.blueprint import ToolBlueprint
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.task import Certificate, Condition, FromRows, Task
from components.task.duplicates import calls_of
from components.task.gates import length_of
from components.task.provenance import observations_of, tells_time
from components.task.rules import ruled_of


class TaskMeasures(Record):
    """Counts over a set of tasks."""

    tasks: int
    calls: int
    """Calls of all gold solutions."""
    functional: FrozenDict[str, int]
    """read, write, process -> calls."""
    walk_length: FrozenDict[str, int]
    """L -> tasks."""
    k: FrozenDict[str, int]
    """K -> tasks."""
    distractors: FrozenDict[str, int]
    """Services in the way -> tasks."""
    services: FrozenDict[str, int]
    """Service -> tasks that need it."""
    tools_used: int
    """Different tools that some gold solution calls."""
    tools_offered: int
    """Tools of the services, those that are simulated or quarantined left out."""
    patterns: int
    """Different dependency patterns: calls in their order, and which step feeds which."""
    largest_pattern: int
    """Tasks of the most frequent pattern."""
    reactions: FrozenDict[str, int]
    """Reaction -> tasks whose gold solution sets it off."""
    answers: int
    """Tasks that ask for an answer."""
    grammar: FrozenDict[str, int] = FrozenDict()
    """What requests say beyond their steps -> tasks: pick, restraint, condition, every, count, sum,
    date; implicit for one that was calibrated; policy_compliant and policy_adversarial for the
    halves of a pair; user for a request that is said bit by bit, correct and change_mind for what
    that user does; `plain` for those that say nothing beyond them.
    """
    difficulty: FrozenDict[str, int]
    """Sum of the tools' difficulties, in steps of 5 -> tasks."""
    observed_arguments: float
    """Arguments of a gold solution that only an observation gives, on average."""
    probes: FrozenDict[str, int]
    """Kind of mutant or variant -> how many the certificates hold."""


def measure_tasks(system: System) -> TaskMeasures:
    """Return the counts of a system's tasks."""
    tasks = [system.tasks[name] for name in sorted(system.tasks)]
    tools = {
        (service, name): tool
        for service, blueprint in system.environment.blueprints.items()
        for name, tool in blueprint.tools.items()
        if not tool.simulated and name not in blueprint.quarantined
    }
    steps = [(step.service, step.tool) for task in tasks for step in task.gold.values()]
    patterns = Counter(map(pattern_of, tasks))
    certificates = system.reference.certificates
    return TaskMeasures(
        tasks=len(tasks),
        calls=len(steps),
        functional=_counted(tools[step].functional.value for step in steps),
        walk_length=_counted(str(length_of(task)) for task in tasks),
        k=_counted(str(len(task.world.services)) for task in tasks),
        distractors=_counted(str(len(task.world.distractors)) for task in tasks),
        services=_counted(name for task in tasks for name in task.world.services),
        tools_used=len(set(steps)),
        tools_offered=len(tools),
        patterns=len(patterns),
        largest_pattern=max(patterns.values(), default=0),
        reactions=_counted(
            name for task in tasks for name in reactions_of(certificates[task.task_id])
        ),
        answers=sum(bool(task.answer) for task in tasks),
        grammar=_counted(kind for task in tasks for kind in grammar_of(task)),
        difficulty=_counted(f"{difficulty_of(task, tools) // 5 * 5:02d}" for task in tasks),
        observed_arguments=round(mean(map(_num_observed, tasks)), 2) if tasks else 0.0,
        probes=_counted(
            probe.kind for task in tasks for probe in certificates[task.task_id].probes.values()
        ),
    )


def pattern_of(task: Task) -> tuple[Any, ...]:
    """Return the dependency pattern: the calls in their order, and the steps that feed each."""
    feeds = tuple(
        tuple(
            sorted({p.step for source in step.arguments.values() for p in observations_of(source)})
        )
        for _, step in sorted(task.gold.items())
    )
    return calls_of(task), feeds


def grammar_of(task: Task) -> Sequence[str]:
    """Return what a task's request says beyond its steps, sorted; `plain` where that is nothing."""
    kinds = {clause.kind for clause in task.clauses.values()}
    others = {item.otherwise for item in task.clauses.values() if isinstance(item, Condition)}
    if not any(
        clause.kind == "restraint" and name not in others for name, clause in task.clauses.items()
    ):
        kinds.discard("restraint")
    found: set[str] = {kind for kind in kinds if kind != "ruled"}
    ruled = ruled_of(task)
    if ruled is not None:
        found.add("policy_compliant" if ruled[1].allows else "policy_adversarial")
    found |= {item.operation for item in task.answer.values() if isinstance(item, FromRows)}
    if tells_time(task):
        found.add("date")
    if any(referent.pick is not None for referent in task.referents.values()):
        found.add("pick")
    if task.edits:
        found.add("implicit")
    if task.user is not None:
        found |= {"user"} | {item.kind.value for item in task.user.moves.values()} - {"reveal"}
    return sorted(found) or ["plain"]


def difficulty_of(task: Task, tools: Mapping[tuple[str, str], ToolBlueprint]) -> int:
    """Return the difficulty by construction: the sum of the calls', 1 to 5 each."""
    return sum(tools[step.service, step.tool].difficulty for step in task.gold.values())


def reactions_of(certificate: Certificate) -> Sequence[str]:
    """Return the reactions that gold sets off, sorted."""
    return sorted(
        {
            change.cause.removeprefix("reaction:")
            for record in certificate.gold_run.values()
            for change in record.changes
            if change.cause.startswith("reaction:")
        }
    )


def _num_observed(task: Task) -> int:
    return sum(
        bool(list(observations_of(source)))
        for step in task.gold.values()
        for source in step.arguments.values()
    )


def _counted(names: Iterable[str]) -> FrozenDict[str, int]:
    return FrozenDict(dict(sorted(Counter(names).items())))
