"""One task of a set, measured: a unit of work.

Owns what is played on a task. Every line is executed in the task's world and scored by the task's
own rubric; what should come of it is known without the rubric.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from components.environment.engine import execute
from components.environment.state import WorldState
from components.environment.world import World, build_world
from components.evaluator.rubric import is_pass, score_criteria
from components.records.base import Record, to_json
from components.records.frozen import FrozenDict, JsonObject
from components.records.system import System
from components.records.task import Task
from components.task.alternatives import Alternatives
from components.task.certify import recertify
from components.task.gold import Gold, derived_line, run_gold
from components.task.graph import ToolGraph, tool_graph
from components.task.lines import play_on
from components.task.other_mutants import OtherMutants
from components.task.other_values import ValueMistakes
from components.task.reasons import Rejection
from components.task.rules import OUTCOME, REFUSED, complied, refusing
from components.task.wanderer import random_calls
from loop.compute.jobs import Job, Work

VALID_CALLS = 200
"""Calls of a random agent that a tool accepts and that change something."""
_MOST_TRIES = 20
"""Times that as many calls are drawn before the agent is left with what was accepted."""


class Ground(Record):
    """What all units share."""

    system: System
    """Services, tasks, rubrics, certificates."""


class Named(Record):
    """One task."""

    task_id: str


class Told(Record):
    """One line of play that did not come out as it should."""

    task_id: str
    kind: str
    target: str
    did: str
    """What was done, in words."""
    found: str
    """What the rubric said of it."""


class Measured(Record):
    """The counts of one task."""

    task_id: str
    lapsed: str
    """Why the certificate does not come out the same; empty where it does."""
    does_nothing_pass: bool
    random_agents: int
    random_calls: int
    """Calls of all random agents that changed something."""
    random_passes: int
    alternatives: FrozenDict[str, int]
    """Kind -> other right lines that were executed."""
    refused: tuple[Told, ...]
    """Those that do not pass."""
    mutants: FrozenDict[str, int]
    """Kind -> wrong lines that were executed."""
    survivors: tuple[Told, ...]
    """Those that are not failed."""
    hedges: int
    """Texts that hold another row's value beside the right one."""
    hedges_passed: int
    pair: str = ""
    """The pair that it is half of; empty: of none."""
    ways: FrozenDict[str, bool] = FrozenDict()
    """Of half of a pair: always_comply, always_refuse, canned_refusal -> whether it passes."""


def measure_task(system: System, task_id: str) -> Measured:
    """Return the counts of one task.

    Args:
        system: services, and the task with its rubric and certificate.
        task_id: its name.
    """
    task = system.tasks[task_id]
    made = recertify(system, task_id)
    lapsed = f"{made.reason.value}: {made.detail}" if isinstance(made, Rejection) else ""
    world = build_world(system, task.world)
    gold = run_gold(world, task)
    if isinstance(gold, Rejection):
        return _unplayable(task_id, lapsed)
    return _Player(system, world, task, gold).measured(lapsed)


def _unplayable(task_id: str, lapsed: str) -> Measured:
    return Measured(
        task_id=task_id,
        lapsed=lapsed,
        does_nothing_pass=False,
        random_agents=0,
        random_calls=0,
        random_passes=0,
        alternatives=FrozenDict(),
        refused=(),
        mutants=FrozenDict(),
        survivors=(),
        hedges=0,
        hedges_passed=0,
    )


class _Player:
    def __init__(self, system: System, world: World, task: Task, gold: Gold) -> None:
        self._system, self._world, self._task, self._gold = system, world, task, gold
        self._rubric = system.evaluator.rubrics[task.task_id]
        self._graph = tool_graph(system, task.world.services)

    def measured(self, lapsed: str) -> Measured:
        alternatives: Counter[str] = Counter()
        mutants: Counter[str] = Counter()
        refused, survivors = list[Told](), list[Told]()
        for line in Alternatives(self._system, self._world, self._task, self._gold).all():
            alternatives[line.kind] += 1
            passed, found = self._verdict(line.final, line.answer)
            if passed is not True:
                refused.append(self._told(line.kind, "", line.did, found))
        for wrong in OtherMutants(self._system, self._world, self._task, self._gold).all():
            mutants[wrong.kind] += 1
            passed, found = self._verdict(wrong.final, wrong.answer)
            if passed is not False:
                survivors.append(self._told(wrong.kind, wrong.target, wrong.did, found))
        hedges = self._hedges()
        agents = self._random_agents()
        return Measured(
            task_id=self._task.task_id,
            lapsed=lapsed,
            does_nothing_pass=self._verdict(self._gold.initial, None)[0] is not False,
            random_agents=len(agents),
            random_calls=sum(calls for calls, _passed in agents),
            random_passes=sum(passed for _calls, passed in agents),
            alternatives=FrozenDict(alternatives),
            refused=tuple(refused),
            mutants=FrozenDict(mutants),
            survivors=tuple(survivors),
            hedges=len(hedges),
            hedges_passed=sum(hedges),
            pair=self._task.pair,
            ways=FrozenDict(self._ways() if self._task.pair else {}),
        )

    def _ways(self) -> dict[str, bool]:
        """Return what comes of those who do not look at what a rule looks at."""
        found = {}
        for name, taken in (
            ("always_comply", complied(self._task)),
            ("always_refuse", refusing(self._task)),
        ):
            line = derived_line(self._world, taken, sorted(taken.gold))
            found[name] = self._verdict(line.final, line.answer)[0] is not False
        canned = FrozenDict({OUTCOME: REFUSED})
        found["canned_refusal"] = self._verdict(self._gold.initial, canned)[0] is not False
        return found

    def _verdict(self, final: WorldState, answer: JsonObject | None) -> tuple[bool | None, str]:
        """Return whether the rubric passes an end, and which criteria it fails."""
        settings = self._system.evaluator.settings
        scores = score_criteria(self._rubric, settings, self._gold.initial, final, answer)
        failed = [f"{name}: {item.detail}" for name, item in scores.items() if not item.value]
        return is_pass(scores, self._rubric, settings), "; ".join(
            failed
        ) or "every criterion is met"

    def _told(self, kind: str, target: str, did: str, found: str) -> Told:
        return Told(task_id=self._task.task_id, kind=kind, target=target, did=did, found=found)

    def _hedges(self) -> list[bool]:
        mistakes = ValueMistakes(self._world, self._task, self._graph, self._gold)
        found = []
        for item in mistakes.hedges():
            line = play_on(self._world, item.task, self._gold.names)
            found.append(self._verdict(line.final, self._gold.answer or None)[0] is True)
        return found

    def _random_agents(self) -> list[tuple[int, bool]]:
        """Return for each random agent its calls, and whether it passes, the right answer given it.

        One stays in the services that the task needs, one goes through all of its world.
        """
        world = self._task.world
        everywhere = tool_graph(self._system, (*world.services, *world.distractors))
        found = []
        for place, graph in (("needed", self._graph), ("all", everywhere)):
            state, calls = self._wandered(graph, f"{self._task.seed}:bench:{place}")
            found.append((calls, self._verdict(state, self._gold.answer or None)[0] is not False))
        return found

    def _wandered(self, graph: ToolGraph, seed: str) -> tuple[WorldState, int]:
        state, done = self._gold.initial, 0
        for attempt in count():
            for call in random_calls(self._world, graph, f"{seed}:{attempt}"):
                outcome = execute(self._world, state, call.service, call.tool, call.arguments)
                state, done = outcome.state, done + bool(outcome.changes)
                if done == VALID_CALLS:
                    return state, done
            if attempt == _MOST_TRIES:
                break
        return state, done


@asynccontextmanager
async def _open(ground: Ground) -> AsyncIterator[Callable[[Named], Work]]:
    async def measure(unit: Named) -> dict[str, Any]:
        body: dict[str, Any] = to_json(measure_task(ground.system, unit.task_id))
        return body

    yield measure


MEASURE = Job(name="measure", shared=Ground, unit=Named, open=_open)
