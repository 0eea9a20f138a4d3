"""The seam between a stage and whoever works on its units: this process, or workers elsewhere.

Owns the order of results, and what happens when a worker is lost: the units that it was working on
are worked on again, by others, and a unit that is lost too often stops the round with one line. It
keeps nothing: the stage records each result as it gets it, and what is recorded is not asked for
again. A further place to work in is one more `Backend`.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from components.errors import ComputeError, ConfigError
from components.records.base import Record
from loop.compute.config import (
    ComputeConfig,
    LocalComputeConfig,
    ProcessesComputeConfig,
    RayComputeConfig,
)
from loop.compute.in_process import InProcess
from loop.compute.jobs import Job, SharedT, UnitT
from loop.compute.outcomes import Done, Lost
from loop.compute.processes import Processes

MOST_LOSSES = 3
"""Times that one unit may be lost with its worker before the round stops."""
_AHEAD = 2
"""Units begun before their turn, in capacities, where results are wanted in order."""


class Backend(Protocol):
    """Somewhere to work. Units are known by their tickets, numbers of the pool's own."""

    def begin(self, job: Job[Any, Any], shared: Record, concurrency: int) -> int:
        """Turn to a job and return how many units may be under way at once."""

    def start(self, ticket: int, unit: Record) -> None:
        """Take one unit, to be worked on as soon as somebody is free."""

    def wait(self) -> Done | Lost:
        """Wait until a unit is done, or some are lost. At least one is under way."""

    def stop(self) -> None:
        """Give up the units that are under way; whoever worked on them may go on to another job."""

    def close(self) -> None:
        """End whatever was started."""


@dataclass(slots=True)
class _Flight:
    key: str
    unit: Record
    number: int
    """Place in the order of the units."""
    losses: int = 0


class Pool:
    """Works on units, one job at a time. Made by `open_pool`."""

    def __init__(self, make_backend: Callable[[], Backend], tell: Callable[[str], None]) -> None:
        """Args: make_backend: gives where to work, at the first unit; tell: shows a line."""
        self._make_backend = make_backend
        self._made: Backend | None = None
        self._tell = tell
        self._tickets = itertools.count()
        self.started = 0
        """Units that were begun, again and again where they were lost."""

    def map(
        self,
        job: Job[SharedT, UnitT],
        shared: SharedT,
        units: Iterable[tuple[str, UnitT]],
    ) -> Generator[tuple[str, Any], None, None]:
        """Yield each unit's key and result (a JSON body), in the order of the units.

        Units are taken as there is somebody to work on them, a few beyond the one whose turn it is;
        whoever has enough stops asking, and those few are given up.

        Args:
            job: the job.
            shared: what all units share.
            units: key and unit; may be endless.

        Raises:
            UserError: the job, or the place where it runs, cannot go on.
        """
        return self._results(job, shared, units, 1, is_ordered=True)

    def as_done(
        self,
        job: Job[SharedT, UnitT],
        shared: SharedT,
        units: Iterable[tuple[str, UnitT]],
        *,
        concurrency: int = 1,
    ) -> Generator[tuple[str, Any], None, None]:
        """Yield each unit's key and result as it ends, in no order.

        Args:
            job: the job.
            shared: what all units share.
            units: key and unit.
            concurrency: units under way at once, at least, where the job waits for others (an
                endpoint); 1 where it computes.

        Raises:
            UserError: the job, or the place where it runs, cannot go on.
        """
        return self._results(job, shared, units, concurrency, is_ordered=False)

    def close(self) -> None:
        """End whatever was started."""
        if self._made is not None:
            self._made.close()

    def _results(
        self,
        job: Job[SharedT, UnitT],
        shared: SharedT,
        units: Iterable[tuple[str, UnitT]],
        concurrency: int,
        *,
        is_ordered: bool,
    ) -> Generator[tuple[str, Any], None, None]:
        waiting = (_Flight(key, unit, number) for number, (key, unit) in enumerate(units))
        first = next(waiting, None)
        if first is None:  # nothing to do starts nothing
            return
        backend = self._made = self._made or self._make_backend()
        again, flying = deque([first]), dict[int, _Flight]()
        ended: dict[int, tuple[str, Any]] = {}
        begun = told = num_ended = 0
        try:
            capacity = backend.begin(job, shared, concurrency)
            while True:
                while len(flying) < capacity:
                    has_room = not is_ordered or begun - told < _AHEAD * capacity
                    flight = again.popleft() if again else next(waiting, None) if has_room else None
                    if flight is None:
                        break
                    begun = max(begun, flight.number + 1)
                    ticket = next(self._tickets)
                    flying[ticket] = flight
                    self.started += 1
                    backend.start(ticket, flight.unit)
                if told in ended:  # told only now: nobody is idle while it is being recorded
                    told += 1
                    yield ended.pop(told - 1)
                    continue
                if not flying:
                    return
                outcome = backend.wait()
                if isinstance(outcome, Done):
                    flight = flying.pop(outcome.ticket)
                    ended[flight.number if is_ordered else num_ended] = flight.key, outcome.body
                    num_ended += 1
                else:
                    lost = [flying.pop(ticket) for ticket in outcome.tickets]
                    again.extend(lost)
                    self._count_losses(job.name, lost, outcome.why)
        finally:
            backend.stop()

    def _count_losses(self, job: str, lost: list[_Flight], why: str) -> None:
        self._tell(f"a worker was lost ({why}); what it worked on runs again ({job}: {len(lost)})")
        for flight in lost:
            flight.losses += 1
            if flight.losses == MOST_LOSSES:
                raise ComputeError(
                    f"{job} {flight.key} was under way on {MOST_LOSSES} workers that were lost "
                    f"(the last: {why}); what is done is recorded: see that workers have memory "
                    "enough, with a smaller compute.num_workers, or set compute=local, and give "
                    "the same command again"
                )


@contextmanager
def open_pool(config: ComputeConfig, tell: Callable[[str], None]) -> Iterator[Pool]:
    """Yield the pool that a configuration asks for, and end it, however the block ends.

    Nothing is started before the first unit is there.

    Args:
        config: where to work.
        tell: shows one line to the person who waits.

    Raises:
        ConfigError: Ray is asked for and not installed.
    """
    if isinstance(config, RayComputeConfig) and importlib.util.find_spec("ray") is None:
        raise ConfigError(
            "compute=ray needs Ray, which is not installed; pip install 'ray>=2.50', or set "
            "compute=local"
        )
    pool = Pool(lambda: _backend(config), tell)
    try:
        yield pool
    finally:
        pool.close()


def _backend(config: ComputeConfig) -> Backend:
    match config:
        case LocalComputeConfig():
            return InProcess()
        case ProcessesComputeConfig():
            return Processes(config)
        case RayComputeConfig():
            from loop.compute.ray_pool import RayWorkers  # a second, and only where it is needed

            return RayWorkers(config)
