"""Warm workers, one a code service, each told only what changed since its last call.

Owns which worker holds which state, their replacement and their number. A worker that is lost is
replaced once and told the whole state; a call that loses two workers is answered as a fault.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import immutables
import orjson

from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls, check_walls
from components.environment.sandbox.worker import Came, Said, Worker
from components.environment.state import Row, Table
from components.records.frozen import content_hash

_NO_ROWS: immutables.Map[str, Row] = immutables.Map()


@dataclass(slots=True)
class _Loaded:
    """A worker that holds a service's files, and the tables that it was last told."""

    worker: Worker
    tables: Mapping[str, Table] = field(default_factory=dict)
    is_told: bool = False


class Workers:
    """Runs calls of code services; where there are too many, the least recently used worker is
    given other files.

    One call at a time: a lock holds the others. Close it, or leave that to the end of the program.
    """

    def __init__(
        self,
        walls: Walls = Walls.BUBBLEWRAP,
        limits: SandboxLimits | None = None,
        *,
        key: str = "environment.author.sandbox",
        max_workers: int = 4,
    ) -> None:
        """Args: key: configuration key that chose the walls, for messages.

        Raises:
            ComputeError: the walls do not stand here; it says what mends that.
        """
        check_walls(walls, key)
        self.walls, self.limits = walls, limits or SandboxLimits()
        self._max_workers = max_workers
        self._loaded: OrderedDict[str, _Loaded] = OrderedDict()
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._inherited: list[Worker] = []

    def describe(self, sources: Mapping[str, str]) -> Said:
        """Load files and return what they declare; see `kit.describe`."""
        with self._lock:
            self._disown()
            name = content_hash(dict(sources))
            known = self._loaded.pop(name, None)
            if known is not None:
                self._idle.append(known.worker)
            return self._load(name, sources)

    def call(
        self,
        sources: Mapping[str, str],
        tool: str,
        arguments: Mapping[str, Any],
        now: str,
        tables: Mapping[str, Table],
        *,
        name: str = "",
    ) -> Said:
        """Run one tool on a state.

        Args:
            sources: the service's files by name.
            tool: name of the tool.
            arguments: JSON values.
            now: the world's clock.
            tables: the service's tables before the call.
            name: content hash of `sources`, where it is known.
        """
        name = name or content_hash(dict(sources))
        with self._lock:
            self._disown()
            said = Said(Came.LOST)
            for _ in range(2):
                if name not in self._loaded or not self._loaded[name].worker.is_alive:
                    self._loaded.pop(name, None)
                    said = self._load(name, sources)
                    if name not in self._loaded:
                        return said
                loaded = self._loaded[name]
                self._loaded.move_to_end(name)
                request = {
                    "do": "call",
                    "tool": tool,
                    "arguments": arguments,
                    "now": now,
                    "tables": _delta(loaded.tables, tables),
                    "is_whole": not loaded.is_told,
                }
                said = loaded.worker.request(request)
                loaded.tables, loaded.is_told = tables, True
                if said.came is not Came.LOST:
                    return said
            return said

    def close(self) -> None:
        """End all workers; a later call starts new ones."""
        with self._lock:
            self._disown()
            for worker in (*self._idle, *(loaded.worker for loaded in self._loaded.values())):
                worker.close()
            self._loaded.clear()
            self._idle.clear()

    def _load(self, name: str, sources: Mapping[str, str]) -> Said:
        """Load files into a worker, remember it when that went well, and return what came."""
        while len(self._loaded) >= self._max_workers:
            self._idle.append(self._loaded.popitem(last=False)[1].worker)
        self._idle = [worker for worker in self._idle if worker.is_alive]
        worker = self._idle.pop() if self._idle else Worker(self.walls, self.limits)
        request = {"do": "load", "sources": sources}
        said = worker.request(request, num_calls=len(sources) + 1)
        if said.came is Came.LOST:  # it may have gone long before: nobody looked
            worker = Worker(self.walls, self.limits)
            said = worker.request(request, num_calls=len(sources) + 1)
        if said.came is Came.ANSWER and "fault" not in parsed(said):
            self._loaded[name] = _Loaded(worker)
        elif worker.is_alive:
            self._idle.append(worker)
        return said

    def _disown(self) -> None:
        """After a fork the workers are the parent's: keep them, unused."""
        if self._owner != os.getpid():
            self._owner = os.getpid()
            self._inherited += [*self._idle, *(item.worker for item in self._loaded.values())]
            self._loaded.clear()
            self._idle.clear()


def _delta(known: Mapping[str, Table], tables: Mapping[str, Table]) -> dict[str, Any]:
    """Return the rows to put and drop by table; tables that two states share cost nothing."""
    changed = {}
    for name, table in sorted(tables.items()):
        old = known.get(name)
        if old is table:
            continue
        before, after = _NO_ROWS if old is None else old.rows, table.rows
        put = {row_id: row.values for row_id, row in after.items() if before.get(row_id) is not row}
        drop = [row_id for row_id in before if row_id not in after]
        if put or drop:
            changed[name] = {"put": put, "drop": drop}
    return changed


@lru_cache(maxsize=4)
def shared_workers(walls: Walls, limits: SandboxLimits) -> Workers:
    """Return this process's workers with these walls and limits.

    Raises:
        ComputeError: the walls do not stand here.
    """
    workers = Workers(walls, limits)
    atexit.register(workers.close)
    return workers


def parsed(said: Said) -> dict[str, Any]:
    """Return an answer's body as a JSON object; `fault` in it where nothing useful came.

    The body is text that a service's code had in its hands: anything at all may stand in it.
    """
    if said.came is Came.ANSWER:
        try:
            found = orjson.loads(said.body)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
        return {"fault": {"kind": "NoAnswer", "problem": "it answered no JSON object"}}
    kind, problem = _PROBLEMS[said.came]
    return {"fault": {"kind": kind, "problem": f"{problem}{f' ({said.why})' if said.why else ''}"}}


_PROBLEMS = {
    Came.DIED: ("Died", "the call's process ended"),
    Came.LATE: ("Late", "it did not answer in time"),
    Came.LARGE: ("TooLarge", "its answer is too large"),
    Came.LOST: ("Lost", "its worker was lost twice"),
}
