"""What the interventions of a judgement cost: how often each was made, and the seconds it took.

Owns the counting. A meter is in force for the block that opened it and for nothing else; where none
is, nothing is counted. No result depends on it, and what is kept from an earlier judgement costs
nothing again: the same rollouts may cost otherwise in another order. So a cost goes into no record
that is hashed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from functools import wraps
from typing import ParamSpec, TypeVar

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict

P = ParamSpec("P")
R = TypeVar("R")


class Intervention(StrEnum):
    """One kind of experiment, or of comparison, that a judgement rests on."""

    GOLD_REPLAY = "gold_replay"
    """The certified calls executed again."""
    SPEC_CHECK = "spec_check"
    """Calls held against their documentation and the promised reactions."""
    ROWS = "rows"
    """Rows at the start held against the certified ones and the invariants."""
    DERIVATION = "derivation"
    """Arguments, answer and spans of a task derived again."""
    RUBRIC = "rubric"
    """The rubric compiled again from the certified run."""
    RENDERING = "rendering"
    """What the harness shows, held against what it must show."""
    LIMITS = "limits"
    """The harness's limits against the norm."""
    PARSING = "parsing"
    """A rollout's texts read by every parser."""
    CANDIDATE = "candidate"
    """One possible repair made and looked at."""
    ORACLE = "oracle"
    """The oracle played from the start."""
    CONTINUATION = "continuation"
    """Recorded texts said again, then the oracle."""
    REPLAY = "replay"
    """Recorded texts said again, and nothing more."""
    SCORING = "scoring"
    """A final state decided by a rubric."""


class Cost(Record):
    """What one kind of intervention took."""

    count: int = Field(ge=0)
    """Times that it was made; what was kept from before is not made again."""
    seconds: float = Field(ge=0)
    """Without those of other interventions that it made."""


class Meter:
    """Counts as long as it is in force. Made by `measuring`."""

    def __init__(self) -> None:
        self._counts: dict[Intervention, int] = {}
        self._seconds: dict[Intervention, float] = {}
        self._open: list[Intervention] = []
        self._since = 0.0

    def begin(self, what: Intervention) -> None:
        """Count an intervention; the one that makes it stands still until it ends."""
        self._book()
        self._counts[what] = self._counts.get(what, 0) + 1
        self._open.append(what)

    def end(self) -> None:
        """End the intervention that began last."""
        self._book()
        self._open.pop()

    def cost(self) -> FrozenDict[str, Cost]:
        """Return what was counted up to now, by name of intervention."""
        return FrozenDict(
            {
                what.value: Cost(count=count, seconds=round(self._seconds.get(what, 0.0), 6))
                for what, count in sorted(self._counts.items())
            }
        )

    def _book(self) -> None:
        now = time.perf_counter()
        if self._open:
            what = self._open[-1]
            self._seconds[what] = self._seconds.get(what, 0.0) + now - self._since
        self._since = now


_in_force: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def measuring() -> Iterator[Meter]:
    """Count the interventions of a block; a meter around it does not count them."""
    meter = Meter()
    token = _in_force.set(meter)
    try:
        yield meter
    finally:
        _in_force.reset(token)


def metered(what: Intervention) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make every call of a function count as one intervention."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def counted(*args: P.args, **kwargs: P.kwargs) -> R:
            meter = _in_force.get()
            if meter is None:
                return function(*args, **kwargs)
            meter.begin(what)
            try:
                return function(*args, **kwargs)
            finally:
                meter.end()

        return counted

    return decorate


def added(costs: Iterable[FrozenDict[str, Cost]]) -> FrozenDict[str, Cost]:
    """Return several costs as one."""
    counts: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for cost in costs:
        for name, item in cost.items():
            counts[name] = counts.get(name, 0) + item.count
            seconds[name] = seconds.get(name, 0.0) + item.seconds
    return FrozenDict(
        {
            name: Cost(count=count, seconds=round(seconds[name], 6))
            for name, count in sorted(counts.items())
        }
    )
