"""Working in this process: the default. Records are handed over as they are."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from components.records.base import Record
from loop.compute.jobs import Job, Work
from loop.compute.outcomes import Done


class InProcess:
    """An event loop of our own: it runs while somebody waits for a unit, and stands still between.

    A unit is begun when those before it wait for something or are done, so that work that only
    computes is done, and can be recorded, one unit at a time.
    """

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._scope: AbstractAsyncContextManager[Callable[[Any], Work]] | None = None
        self._work: Callable[[Any], Work] | None = None
        self._waiting: deque[tuple[int, Record]] = deque()
        self._tasks: dict[asyncio.Task[Any], int] = {}

    def begin(self, job: Job[Any, Any], shared: Record, concurrency: int) -> int:
        """Open the job."""
        self._runner = asyncio.Runner()
        scope = job.open(shared)
        self._work = self._runner.run(scope.__aenter__())
        self._scope = scope
        return concurrency

    def start(self, ticket: int, unit: Record) -> None:
        """Take one unit; it is begun in `wait`."""
        self._waiting.append((ticket, unit))

    def wait(self) -> Done:
        """Run until a unit is done."""
        assert self._runner is not None
        task = self._runner.run(self._next_done())
        return Done(self._tasks.pop(task), task.result())

    def stop(self) -> None:
        """Cancel what is under way, and close the job."""
        runner, scope = self._runner, self._scope
        self._runner = self._scope = self._work = None
        self._waiting.clear()
        if runner is not None:
            with runner:
                runner.run(self._cancel())
                if scope is not None:
                    runner.run(scope.__aexit__(None, None, None))

    def close(self) -> None:
        """Nothing was started that `stop` leaves behind."""

    async def _next_done(self) -> asyncio.Task[Any]:
        assert self._work is not None
        while True:
            done = next((task for task in self._tasks if task.done()), None)
            if done is not None:
                return done
            if self._waiting:
                ticket, unit = self._waiting.popleft()
                self._tasks[asyncio.create_task(self._work(unit))] = ticket
                await asyncio.sleep(0)
            else:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    async def _cancel(self) -> None:
        tasks = list(self._tasks)
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
