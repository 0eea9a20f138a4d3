"""What a kind of fault is, and what it may look at to find its places.

A kind is one way in which one component goes wrong. It yields candidate changes of a clean system,
the best places first; whoever plants takes those that outcomes show. Nothing that finds or repairs
may import this package: a lint keeps it so.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from attribution.change import Change
from attribution.evidence import place_of
from attribution.swap import swap
from components.records.blueprint import ToolBlueprint
from components.records.calls import CallRecord
from components.records.patch import Component, Patch
from components.records.rubric import Rubric
from components.records.system import System
from components.records.task import Task

NUM_HELD_OUT = 10
"""Kinds of each component that nobody develops on."""


class When(StrEnum):
    """When a fault is planted."""

    AFTER = "after"
    """On a system whose tasks are certified: the certificates record the clean behaviour."""
    BEFORE = "before"
    """On the services, before tasks are composed: gold, rubric and certificates inherit it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """A clean system and a seeded choice among equally good places."""

    system: System
    rng: random.Random = field(default_factory=lambda: random.Random(0))

    def tasks(self) -> list[Task]:
        """Return the certified tasks in service, in a drawn order; empty before composition."""
        names = sorted(set(self.system.reference.certificates) - set(self.system.retired))
        self.rng.shuffle(names)
        return [self.system.tasks[name] for name in names if name in self.system.tasks]

    def rubrics(self) -> list[Rubric]:
        """Return the rubrics of the certified tasks, in a drawn order."""
        rubrics = self.system.evaluator.rubrics
        return [rubrics[task.task_id] for task in self.tasks() if task.task_id in rubrics]

    def gold_run(self, task_id: str) -> list[tuple[str, CallRecord]]:
        """Return the steps of a task's gold, in order of execution, each with its recorded call."""
        run = self.system.reference.certificates[task_id].gold_run
        gold = self.system.tasks[task_id].gold
        return [(step, run[step]) for step in gold if step in run]

    def calls(self) -> Iterator[tuple[Task, str, CallRecord]]:
        """Yield task, step and call of every certified run."""
        for task in self.tasks():
            for step, call in self.gold_run(task.task_id):
                yield task, step, call

    def tools(self) -> list[tuple[str, str, ToolBlueprint]]:
        """Return service, tool and body of the blueprints' tools, in a drawn order, those that
        certified runs call most first.
        """
        uses: dict[tuple[str, str], int] = {}
        for _task, _step, call in self.calls():
            uses[call.service, call.tool] = uses.get((call.service, call.tool), 0) + 1
        found = [
            (service, tool, body)
            for service, blueprint in sorted(self.system.environment.blueprints.items())
            if service not in self.system.environment.code
            for tool, body in sorted(blueprint.tools.items())
        ]
        self.rng.shuffle(found)
        return sorted(found, key=lambda item: -uses.get((item[0], item[1]), 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """One way in which one component goes wrong."""

    name: str
    """Unique within its component."""
    component: Component
    statement: str
    """What is wrong, in one sentence that holds for every place."""
    places: Callable[[Clean], Iterator[Change]]
    """Candidate changes, the best first, each of one artifact of the component."""
    when: When = When.AFTER

    @property
    def key(self) -> str:
        """`component.name`."""
        return f"{self.component.value}.{self.name}"


def change_of(
    artifact: str,
    operations: Iterable[tuple[str, str, object]],
    place: tuple[str, ...],
    reason: str,
) -> Change:
    """Return a change whose place is a path of keys in its artifact."""
    return Change(
        artifact=artifact,
        operations=tuple(operations),
        reason=reason,
        place=place_of(artifact, *place),
    )


def held_out(kinds: Sequence[FaultKind]) -> frozenset[str]:
    """Return the keys of the kinds that nobody develops on: of each component the first
    `NUM_HELD_OUT` in the order of a hash of their key, so that nobody chose them.
    """
    chosen: set[str] = set()
    for component in Component:
        keys = [kind.key for kind in kinds if kind.component is component]
        keys.sort(key=lambda key: sha256(key.encode()).hexdigest())
        chosen |= set(keys[:NUM_HELD_OUT])
    return frozenset(chosen)


def plant(system: System, faults: Sequence[Patch]) -> System:
    """Return the system with faults planted, in order; each is bound to what those before it leave.

    Raises:
        SynthesisError: a fault was made for another system.
    """
    for fault in faults:
        system = swap(system, fault)
    return system
