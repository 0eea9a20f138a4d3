"""Working in several processes of this machine: for what computes, with nothing to install.

Owns the processes: one unit at a time in each, the job's shared record read from a file by those
that need it, and an end with the process that started them, however that ends. Each answers through
a pipe of its own, so that one that dies, even in the middle of an answer, takes its own unit with
it and keeps nobody waiting; that unit is reported as lost, and run again by another.
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import signal
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from components.records.base import Record
from loop.compute.config import ProcessesComputeConfig
from loop.compute.jobs import Job
from loop.compute.outcomes import Done, Lost
from loop.compute.worker import Worker, as_bytes, read_answer

_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(slots=True, eq=False)
class _Child:
    """A process that works, and our end of its pipe."""

    process: SpawnProcess
    pipe: Connection
    ticket: int | None = None
    """Of the unit that it works on."""


class Processes:
    """Processes of our own. They are started as units come and kept for the next job."""

    def __init__(self, config: ProcessesComputeConfig) -> None:
        """Args: config: how many."""
        self.num_workers = config.num_workers or os.cpu_count() or 1
        self._children: list[_Child] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._numbers = itertools.count()
        self._job = self._key = ""

    @property
    def processes(self) -> tuple[int, ...]:
        """Process ids of those that were started."""
        return tuple(one.process.pid for one in self._children if one.process.pid is not None)

    def begin(self, job: Job[Any, Any], shared: Record, concurrency: int) -> int:
        """Write what the job shares where the processes find it."""
        del concurrency  # one unit at a time in each
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="selvage-")
        self._job, self._key = job.name, f"{job.name}-{next(self._numbers)}"
        self._shared_file.write_bytes(as_bytes(shared))
        return self.num_workers

    def start(self, ticket: int, unit: Record) -> None:
        """Take one unit."""
        child = self._idle() or self._started()
        child.ticket = ticket
        with suppress(OSError):  # who is gone meanwhile is found when its answer is waited for
            child.pipe.send((self._job, self._key, str(self._shared_file), as_bytes(unit)))

    def wait(self) -> Done | Lost:
        """Wait for an answer.

        Raises:
            UserError: what the job raised.
        """
        flying = {one.pipe: one for one in self._children if one.ticket is not None}
        ready = [flying[pipe] for pipe in wait_for(list(flying)) if isinstance(pipe, Connection)]
        child = min(ready, key=lambda one: one.ticket or 0)
        ticket, child.ticket = child.ticket, None
        assert ticket is not None
        try:
            answer = child.pipe.recv_bytes()
        except (EOFError, OSError):
            self._end(child)
            return Lost((ticket,), "a process ended")
        return Done(ticket, read_answer(answer, self._job))

    def stop(self) -> None:
        """Give up the units that are under way; a process that is at work is ended."""
        for child in list(self._children):
            if child.ticket is not None:
                self._end(child)

    def close(self) -> None:
        """End the processes."""
        for child in list(self._children):
            self._end(child)
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @property
    def _shared_file(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / self._key

    def _idle(self) -> _Child | None:
        for child in list(self._children):
            if child.ticket is None:
                if child.process.is_alive():
                    return child
                self._end(child)
        return None

    def _started(self) -> _Child:
        ours, theirs = _CONTEXT.Pipe()
        threads = max(1, (os.cpu_count() or 1) // self.num_workers)
        process = _CONTEXT.Process(target=_serve, args=(theirs, threads), daemon=True)
        process.start()
        theirs.close()  # or its death would not end the pipe
        child = _Child(process, ours)
        self._children.append(child)
        return child

    def _end(self, child: _Child) -> None:
        self._children.remove(child)
        child.process.kill()
        child.process.join()
        child.pipe.close()


def _serve(pipe: Connection, num_threads: int) -> None:
    """Work on units until whoever asks is gone; that one handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", str(num_threads))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    worker = Worker()
    with asyncio.Runner() as runner:
        while True:
            try:
                job, key, place, unit = pipe.recv()
            except EOFError:
                return
            pipe.send_bytes(runner.run(_work(worker, job, key, place, unit)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


async def _work(worker: Worker, job: str, key: str, place: str, unit: bytes) -> bytes:
    async def shared() -> bytes:
        return await asyncio.to_thread(Path(place).read_bytes)

    return await worker.run(job, key, shared, unit)
