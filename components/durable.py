"""Bytes that survive `kill -9`: atomic files, SQLite in WAL mode, and the failpoints that test
both.

Every rename and every commit of the program goes through this module, so that one environment
variable can kill the process at any of them: `SELVAGE_FAILPOINT=<name>:<n>` sends SIGKILL at the
n-th pass of the named point (`*` matches every name). `SELVAGE_FAILPOINT_TRACE=<file>` appends each
pass to a file, which lists the points there are.
"""

from __future__ import annotations

import os
import secrets
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_passes: dict[str, int] = {}


def failpoint(name: str) -> None:
    """Die here if the environment asks for it; otherwise do nothing."""
    trace = os.environ.get("SELVAGE_FAILPOINT_TRACE")
    if trace:
        with open(trace, "a", encoding="utf-8") as file:
            file.write(name + "\n")
    wanted = os.environ.get("SELVAGE_FAILPOINT")
    if not wanted:
        return
    point, _, count = wanted.rpartition(":")
    if point not in ("*", name):
        return
    _passes[point] = _passes.get(point, 0) + 1
    if _passes[point] == int(count):
        os.kill(os.getpid(), signal.SIGKILL)


def write_atomic(path: Path, data: bytes, *, point: str) -> None:
    """Replace `path` by `data`: temporary file, fsync, rename, fsync of the folder.

    Args:
        path: file to write; its folder is made when missing.
        data: whole new content.
        point: name of the failpoints around the rename (`<point>.before`, `<point>.after`).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{secrets.token_hex(6)}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        failpoint(f"{point}.before")
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    failpoint(f"{point}.after")


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_database(path: Path, schema: str) -> sqlite3.Connection:
    """Open (and create) a SQLite file in WAL mode, every commit synced to disk.

    Args:
        path: database file; its folder is made when missing.
        schema: `CREATE TABLE IF NOT EXISTS ...` statements.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, isolation_level=None, timeout=30.0)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.executescript(schema)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, *, point: str) -> Iterator[None]:
    """One transaction: committed when the block ends, rolled back when it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    failpoint(f"{point}.before")
    connection.execute("COMMIT")
    failpoint(f"{point}.after")
