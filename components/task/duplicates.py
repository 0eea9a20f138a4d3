"""Tasks that say nearly the same: the same calls in the same order, in nearly the same words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from components.records.task import Task

NEAR = 0.8
"""Share of pairs of neighbouring words (Jaccard) from which two requests say nearly the same."""

Pairs = frozenset[tuple[str, str]]


class NearDuplicates:
    """The requests of a set of tasks, by the calls that they take."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        """Args: tasks: those that are there already."""
        self._by_calls: dict[tuple[str, ...], list[Pairs]] = {}
        for task in tasks:
            self.add(task)

    def add(self, task: Task) -> None:
        """Remember a task."""
        self._by_calls.setdefault(calls_of(task), []).append(_pairs(task.instruction))

    def is_one(self, task: Task) -> bool:
        """Return whether a task says nearly what one that is remembered says."""
        own = _pairs(task.instruction)
        return any(
            _likeness(own, other) >= NEAR for other in self._by_calls.get(calls_of(task), ())
        )


def calls_of(task: Task) -> tuple[str, ...]:
    """Return the calls of a task's gold solution in their order: `service.tool`."""
    return tuple(f"{step.service}.{step.tool}" for _, step in sorted(task.gold.items()))


def _pairs(text: str) -> Pairs:
    words = re.findall(r"\w+", text.lower())
    return frozenset(pairwise(("", *words)))


def _likeness(left: Pairs, right: Pairs) -> float:
    return len(left & right) / len(left | right) if left or right else 1.0
