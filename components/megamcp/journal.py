"""The journal: every acknowledged call of every session, in one SQLite file, before its answer leaves.

Owns the file and the moment of commit. It holds requests and the hashes of what they came to, not states: a session
is recovered by executing its requests again. With `CommitMode.EACH` every entry is its own transaction; with
`CommitMode.GROUP` entries of many sessions wait for `flush`, or for the end of the event loop's present step, and
share one. Entries of one journal are committed in the order in which they were appended.
"""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from components.durable import open_database, transaction
from components.errors import ToolError

SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (
    session_id TEXT PRIMARY KEY, parent_id TEXT, parent_position INTEGER, start TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
    session_id TEXT NOT NULL, position INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (session_id, position)
) WITHOUT ROWID;
"""


class CommitMode(StrEnum):
    """When entries become durable."""

    EACH = "each"
    """At once, one transaction a call."""
    GROUP = "group"
    """At the next `flush`, with those of the other sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart:
    """How a session began."""

    session_id: str
    parent_id: str | None
    """Session that it was forked from; None when it began with the world."""
    parent_position: int
    """Number of the parent's entries before the fork."""
    start: str
    """Hash of the state that it began with."""


@dataclass(slots=True, kw_only=True)
class Entry:
    """One step of a session: a call, or a return to an earlier position. Not changed once appended."""

    position: int
    """Number of entries of this session before this one."""
    service: str = ""
    tool: str = ""
    arguments: Any = None
    key: str | None = None
    """Idempotency key of the call."""
    answer: str = ""
    """Hash of the answer's envelope."""
    state: str = ""
    """Hash of the state after the step."""
    restored: int | None = None
    """Position that was returned to; None for a call."""


class Journal:
    """One open journal file. Used from one thread; many sessions append to it."""

    def __init__(self, path: Path, mode: CommitMode = CommitMode.EACH) -> None:
        """Args: path: the file, made when missing; mode: when entries become durable.

        Raises:
            ToolError: the file is no journal of this version.
        """
        self.mode = mode
        self._entries: list[tuple[str, int, bytes]] = []
        self._starts: dict[str, tuple[str, str | None, int, str]] = {}
        self._waiting: list[asyncio.Future[None]] = []
        try:
            self._database = open_database(path, _SCHEMA)
            # A commit outlives the process without a sync; only a power cut can take the last ones, and what
            # must outlive that is in the ledger.
            self._database.execute("PRAGMA synchronous=NORMAL")
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        except sqlite3.Error as error:
            raise ToolError(f"journal {path}: {error}") from error
        if version not in (0, SCHEMA_VERSION):
            self._database.close()
            raise ToolError(f"journal {path} has version {version}, not {SCHEMA_VERSION}")

    def begin(self, start: SessionStart) -> None:
        """Append the beginning of a session.

        Raises:
            ToolError: the journal has a session of this id, or could not be written.
        """
        name = start.session_id
        if name in self._starts or self._start_row(name) is not None:
            raise ToolError("journal: a session of this id exists; recover it instead")
        self._starts[name] = (name, start.parent_id, start.parent_position, start.start)
        if self.mode is CommitMode.EACH:
            self.flush()

    def append(self, session_id: str, entry: Entry) -> None:
        """Append one step of a session; durable on return only with `CommitMode.EACH`."""
        body = orjson.dumps(
            (
                entry.service,
                entry.tool,
                entry.arguments,
                entry.key,
                entry.answer,
                entry.state,
                entry.restored,
            )
        )
        self._entries.append((session_id, entry.position, body))
        if self.mode is CommitMode.EACH:
            self.flush()

    @property
    def is_pending(self) -> bool:
        """Whether something appended is not durable yet."""
        return bool(self._entries or self._starts)

    def flush(self) -> None:
        """Commit everything appended so far, in one transaction.

        Raises:
            ToolError: nothing was committed; the entries wait for the next flush.
        """
        if not self.is_pending:
            return
        try:
            with transaction(self._database, point="journal"):
                self._database.executemany(
                    "INSERT INTO sessions VALUES (?, ?, ?, ?)", self._starts.values()
                )
                self._database.executemany("INSERT INTO entries VALUES (?, ?, ?)", self._entries)
        except sqlite3.Error as error:
            raise ToolError(f"journal: nothing was committed: {error}") from error
        self._starts.clear()
        self._entries.clear()

    async def flushed(self) -> None:
        """Wait until everything appended so far is durable.

        All who wait in one step of the event loop share one transaction.
        """
        if not self.is_pending:
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

    def start_of(self, session_id: str) -> SessionStart:
        """Return how a durable session began.

        Raises:
            ToolError: the journal does not know it.
        """
        found = self._start_row(session_id)
        if found is None:
            raise ToolError("journal: no such session")
        name, parent, position, start = found
        return SessionStart(
            session_id=name, parent_id=parent, parent_position=position, start=start
        )

    def _start_row(self, session_id: str) -> tuple[str, str | None, int, str] | None:
        found: tuple[str, str | None, int, str] | None = self._database.execute(
            "SELECT session_id, parent_id, parent_position, start FROM sessions"
            " WHERE session_id = ?",
            (session_id,),
        ).fetchone()
        return found

    def entries_of(self, session_id: str) -> list[Entry]:
        """Return the durable steps of a session, in order."""
        rows = self._database.execute(
            "SELECT position, body FROM entries WHERE session_id = ? ORDER BY position",
            (session_id,),
        )
        return [_entry(position, body) for position, body in rows]

    def session_ids(self) -> tuple[str, ...]:
        """Return the ids of all durable sessions, sorted."""
        rows = self._database.execute("SELECT session_id FROM sessions ORDER BY session_id")
        return tuple(row[0] for row in rows)

    def close(self) -> None:
        """Commit what waits and close the file."""
        self.flush()
        self._database.close()


def _entry(position: int, body: bytes) -> Entry:
    service, tool, arguments, key, answer, state, restored = orjson.loads(body)
    return Entry(
        position=position,
        service=service,
        tool=tool,
        arguments=arguments,
        key=key,
        answer=answer,
        state=state,
        restored=restored,
    )
