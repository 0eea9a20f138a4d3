"""Working in several processes of this machine: for what computes, with nothing to install.

Owns the processes: one unit at a time in each, the job's shared record read from a file by those
that need it, and an end with the process that started them, however that ends. A process that dies
takes the others' units with it; all of them are reported as lost, and run again.
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from components.records.base import Record
from loop.compute.config import ProcessesComputeConfig
from loop.compute.jobs import Job
from loop.compute.outcomes import Done, Lost
from loop.compute.worker import Worker, as_bytes, read_answer


class Processes:
    """Processes of our own. They are started with the first job and kept for the next."""

    def __init__(self, config: ProcessesComputeConfig) -> None:
        """Args: config: how many."""
        self.num_workers = config.num_workers or os.cpu_count() or 1
        self._executor: ProcessPoolExecutor | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._numbers = itertools.count()
        self._job = self._key = ""
        self._flying: dict[Future[bytes], int] = {}

    @property
    def processes(self) -> tuple[int, ...]:
        """Process ids of those that were started."""
        return tuple(process.pid for process in self._running() if process.pid is not None)

    def begin(self, job: Job[Any, Any], shared: Record, concurrency: int) -> int:
        """Write what the job shares where the processes find it."""
        del concurrency  # one unit at a time in each
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="selvage-")
        self._job, self._key = job.name, f"{job.name}-{next(self._numbers)}"
        self._shared_file.write_bytes(as_bytes(shared))
        return self.num_workers

    def start(self, ticket: int, unit: Record) -> None:
        """Take one unit."""
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self.num_workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_begin,
                initargs=(max(1, (os.cpu_count() or 1) // self.num_workers),),
            )
        place = str(self._shared_file)
        try:
            future = self._executor.submit(_work, self._job, self._key, place, as_bytes(unit))
        except BrokenProcessPool as error:
            future = Future()
            future.set_exception(error)
        self._flying[future] = ticket

    def wait(self) -> Done | Lost:
        """Wait for an answer.

        Raises:
            UserError: what the job raised.
        """
        done, _ = wait(self._flying, return_when=FIRST_COMPLETED)
        future = min(done, key=lambda item: self._flying[item])
        try:
            answer = future.result()
        except BrokenProcessPool:
            tickets = tuple(sorted(self._flying.values()))
            self._flying.clear()
            self._end_processes()
            return Lost(tickets, "a process ended")
        return Done(self._flying.pop(future), read_answer(answer, self._job))

    def stop(self) -> None:
        """Give up the units that are under way; a process that is at work is ended."""
        if not all(future.cancel() or future.done() for future in self._flying):
            self._end_processes()
        self._flying.clear()

    def close(self) -> None:
        """End the processes."""
        self._end_processes()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @property
    def _shared_file(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / self._key

    def _end_processes(self) -> None:
        running = self._running()
        executor, self._executor = self._executor, None
        if executor is None:
            return
        for process in running:
            process.kill()
        executor.shutdown(wait=True, cancel_futures=True)

    def _running(self) -> list[BaseProcess]:
        # Before Python 3.14 there is no public way to them.
        held = None if self._executor is None else self._executor._processes
        return list((held or {}).values())


_worker = Worker()
_run: Callable[..., Any] = asyncio.run


def _begin(num_threads: int) -> None:
    """Set up a process: who started it handles Ctrl-C, and takes it along when it ends."""
    global _run
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", str(num_threads))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _run = asyncio.Runner().run


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _work(job: str, key: str, place: str, unit: bytes) -> bytes:
    async def shared() -> bytes:
        return await asyncio.to_thread(Path(place).read_bytes)

    answer: bytes = _run(_worker.run(job, key, shared, unit))
    return answer
