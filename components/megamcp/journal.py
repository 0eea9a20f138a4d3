"""The journal: every call of every session, in one SQLite file, before its answer leaves.

Owns the file and the moment of commit. It holds requests and a check value of what each came to,
not states: a session is recovered by executing its requests again. With `CommitMode.EACH` every
entry is its own transaction; with `CommitMode.GROUP` the entries of many sessions wait for `flush`,
or for the end of the event loop's present step, and share one. One transaction is one row: a batch
of entries in the order in which they were appended.
"""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from components.durable import open_database, transaction
from components.environment.values import valid_text
from components.errors import ToolError

SCHEMA_VERSION = 1
_SCHEMA = "CREATE TABLE IF NOT EXISTS batches (number INTEGER PRIMARY KEY, body BLOB NOT NULL);"


class CommitMode(StrEnum):
    """When entries become durable."""

    EACH = "each"
    """At once, one transaction a call."""
    GROUP = "group"
    """At the next `flush`, with those of the other sessions."""


class StepKind(StrEnum):
    """What a step of a session was."""

    BEGIN = "begin"
    CALL = "call"
    RESTORE = "restore"


class Step(NamedTuple):
    """One step of a session, as it lies in the file; a tuple, since every call makes one."""

    session_id: str
    kind: StepKind
    check: str
    """Check value of what came of it: of answer and state for a call, of the state otherwise."""
    service: str = ""
    tool: str = ""
    arguments: Any = None
    key: str | None = None
    """Idempotency key of a call."""
    parent_id: str | None = None
    """begin: session that it was forked from; None when it began with the world."""
    position: int = 0
    """begin: number of the parent's steps before the fork. restore: position returned to."""


@dataclass(slots=True)
class Kept:
    """What the file holds of one session: how it began and what it did since."""

    begin: Step
    steps: list[Step] = field(default_factory=list)


class Journal:
    """One open journal file. Used from one thread; many sessions append to it."""

    def __init__(self, path: Path, mode: CommitMode = CommitMode.EACH) -> None:
        """Args: path: the file, made when missing; mode: when entries become durable.

        Raises:
            ToolError: the file is no journal of this version.
        """
        self.mode = mode
        self._pending: list[Step] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._kept: dict[str, Kept] = {}
        self._num_read = 0
        try:
            self._database = open_database(path, _SCHEMA)
            # A commit outlives the process without a sync; only a power cut can take the last ones,
            # and what must outlive that is in the ledger.
            self._database.execute("PRAGMA synchronous=NORMAL")
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        except sqlite3.Error as error:
            raise ToolError(f"journal {path}: {error}") from error
        if version not in (0, SCHEMA_VERSION):
            self._database.close()
            raise ToolError(f"journal {path} has version {version}, not {SCHEMA_VERSION}")
        self._begun = set(self.session_ids())

    def begin(self, step: Step) -> None:
        """Append the beginning of a session.

        Raises:
            ToolError: the journal has a session of this id, the id has no bytes (it would spoil
            every later commit), or it could not be written.
        """
        if step.session_id != valid_text(step.session_id):
            raise ToolError("journal: the session's id is no valid text")
        if step.session_id in self._begun:
            raise ToolError("journal: a session of this id exists; recover it instead")
        self._begun.add(step.session_id)
        self.append(step)

    def append(self, step: Step) -> None:
        """Append one step; durable on return only with `CommitMode.EACH`.

        Raises:
            ToolError: it could not be committed; it waits for the next flush.
        """
        self._pending.append(step)
        if self.mode is CommitMode.EACH:
            self.flush()

    def flush(self) -> None:
        """Commit everything appended so far, in one transaction.

        Raises:
            ToolError: nothing was committed; the entries wait for the next flush.
        """
        if not self._pending:
            return
        body = orjson.dumps([tuple(step) for step in self._pending])
        try:
            with transaction(self._database, point="journal"):
                self._database.execute("INSERT INTO batches (body) VALUES (?)", (body,))
        except sqlite3.Error as error:
            raise ToolError(f"journal: nothing was committed: {error}") from error
        self._pending.clear()

    async def flushed(self) -> None:
        """Wait until everything appended so far is durable.

        All who wait in one step of the event loop share one transaction.
        """
        if not self._pending:
            return
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._flush_for_all)
        # One future each: a shared one would be cancelled for all with the first task that is.
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting.append(waiter)
        await waiter

    def _flush_for_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        problem: ToolError | None = None
        try:
            self.flush()
        except ToolError as error:
            problem = error
        for waiter in waiting:
            if waiter.cancelled():
                continue
            if problem is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(problem)

    def kept(self, session_id: str) -> Kept:
        """Return what is durable of a session.

        Raises:
            ToolError: the journal does not know it.
        """
        self._read_on()
        found = self._kept.get(session_id)
        if found is None:
            raise ToolError("journal: no such session")
        return found

    def session_ids(self) -> tuple[str, ...]:
        """Return the ids of all durable sessions, sorted."""
        self._read_on()
        return tuple(sorted(self._kept))

    def _read_on(self) -> None:
        """Read the batches that were committed since the last time."""
        rows = self._database.execute(
            "SELECT number, body FROM batches WHERE number > ? ORDER BY number", (self._num_read,)
        )
        for number, body in rows:
            for session_id, kind, *rest in orjson.loads(body):
                step = Step(session_id, StepKind(kind), *rest)
                if step.kind is StepKind.BEGIN:
                    self._kept[session_id] = Kept(step)
                else:
                    self._kept[session_id].steps.append(step)
            self._num_read = number

    def close(self) -> None:
        """Commit what waits and close the file."""
        try:
            self.flush()
        finally:
            self._database.close()
