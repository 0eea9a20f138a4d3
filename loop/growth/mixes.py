"""What kinds of tasks there are, and which of them prevail.

A mix is one way of telling tasks apart. It is judged over tasks that are long enough to come in
several kinds: three calls are always a reading, a change and a reading again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from components.records.blueprint import ToolBlueprint
from components.records.system import System
from components.records.task import Task
from components.task.clauses import LEAST_LENGTH
from components.task.gates import length_of
from components.task.measures import grammar_of
from components.task.provenance import observations_of

Tools = Mapping[tuple[str, str], ToolBlueprint]
FEWEST = 4
"""Tasks that a mix is judged over, at least."""
_ANY_LENGTH = 2
_LEAST_FREE = 4
"""Calls from which on a solution may end in a change or in a reading."""
_OF_USERS = frozenset({"user", "correct", "change_mind"})
"""What a conversation alone has: that is a mix of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """One way of telling tasks apart."""

    name: str
    """As the report names it: `conversation`, ..."""
    noun: str
    """What is counted: tasks or calls."""
    least_length: int
    """Shorter tasks are not looked at."""
    kinds: Callable[[Task, Tools], Iterable[str]]
    """Kinds that a task has, or of each of its calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prevailing:
    """A kind that has more than its share."""

    mix: Mix
    kind: str
    count: int
    total: int
    judged: tuple[Task, ...]
    """Tasks that were looked at."""

    @property
    def share(self) -> float:
        """Return the share of what was counted."""
        return self.count / self.total

    def is_other(self, task: Task, tools: Tools, most_share: float) -> bool:
        """Return whether a task has less of the kind than may be."""
        if length_of(task) < self.mix.least_length:
            return False
        found = Counter(self.mix.kinds(task, tools))
        return found[self.kind] <= most_share * (found.total() if self.mix.noun == "calls" else 0)


def tools_of(system: System) -> Tools:
    """Return every tool by service and name."""
    return {
        (service, name): tool
        for service, blueprint in system.environment.blueprints.items()
        for name, tool in blueprint.tools.items()
    }


def prevailing(tasks: Iterable[Task], tools: Tools, most_share: float) -> Iterator[Prevailing]:
    """Yield what prevails, in the order of `MIXES`.

    Args:
        tasks: live ones.
        tools: of the system.
        most_share: `grow.most_share`.
    """
    tasks = tuple(tasks)
    for mix in MIXES:
        judged = tuple(task for task in tasks if length_of(task) >= mix.least_length)
        found = Counter(kind for task in judged for kind in mix.kinds(task, tools))
        if len(judged) < FEWEST or not found:
            continue
        total = found.total() if mix.noun == "calls" else len(judged)
        kind, count = min(found.items(), key=lambda item: (-item[1], item[0]))
        if count > most_share * total:
            yield Prevailing(mix=mix, kind=kind, count=count, total=total, judged=judged)


def _conversation(task: Task, _tools: Tools) -> Iterable[str]:
    return ["said at once" if task.user is None else "in a conversation"]


def _ending(task: Task, _tools: Tools) -> Iterable[str]:
    return ["with an answer" if task.answer else "without an answer"]


def _functional(task: Task, tools: Tools) -> Iterable[str]:
    return [tools[step.service, step.tool].functional.value for step in task.gold.values()]


def _clauses(task: Task, _tools: Tools) -> Iterable[str]:
    """Return the kinds of clauses; a task without any is plain."""
    return sorted(set(grammar_of(task)) - _OF_USERS) or ["plain"]


def _pattern(task: Task, tools: Tools) -> Iterable[str]:
    """Return how the calls depend on one another, whatever tools they are: `r w1 r1 w1+3`."""
    numbers = {name: str(number) for number, name in enumerate(sorted(task.gold), start=1)}
    calls = []
    for _, step in sorted(task.gold.items()):
        fed = {
            place.step for source in step.arguments.values() for place in observations_of(source)
        }
        letter = tools[step.service, step.tool].functional.value[0]
        calls.append(letter + "+".join(sorted(numbers[name] for name in fed)))
    return [" ".join(calls)]


MIXES = (
    Mix(name="conversation", noun="tasks", least_length=_ANY_LENGTH, kinds=_conversation),
    Mix(name="clauses", noun="tasks", least_length=LEAST_LENGTH, kinds=_clauses),
    Mix(name="ending", noun="tasks", least_length=_LEAST_FREE, kinds=_ending),
    Mix(name="calls", noun="calls", least_length=_LEAST_FREE, kinds=_functional),
    Mix(name="pattern", noun="tasks", least_length=_LEAST_FREE, kinds=_pattern),
)
"""Looked at in this order."""
