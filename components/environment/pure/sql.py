"""SQL as SQLite has it: a database that is the statements which made it, run anew in memory.

Owns what a statement may do. Nothing outside the database can be reached, nothing depends on the
clock or on chance, and none runs for long.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

_MOST_STEPS = 2_000
"""Thousands of steps that the virtual machine takes for one statement."""
_MOST_PAGES = 1_000
_MOST_ROWS = 1_000
_KINDS = {
    "read": re.compile(r"\s*(select|with|values)\b", re.IGNORECASE),
    "write": re.compile(r"\s*(insert|update|delete|replace)\b", re.IGNORECASE),
    "create": re.compile(r"\s*create\s+table\b", re.IGNORECASE),
}
_KEPT_OUT = frozenset(
    {"random", "randomblob", "load_extension", "current_timestamp", "current_date", "current_time",
     "date", "time", "datetime", "julianday", "strftime", "unixepoch"}
)  # fmt: skip
"""Functions that need a clock, chance or a file."""
_ALLOWED = frozenset({"table_info"})
"""Pragmas that only tell."""


def _allow(action: int, first: str | None, second: str | None, *_: Any) -> int:
    is_pragma = action == sqlite3.SQLITE_PRAGMA and first not in _ALLOWED
    is_kept_out = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _KEPT_OUT
    is_outside = action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH)
    denied = is_pragma or is_kept_out or is_outside
    return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK


def _open(image: bytes | None) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    if image:
        database.deserialize(image)
    database.execute(f"PRAGMA max_page_count={_MOST_PAGES}")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000)
    database.set_authorizer(_allow)
    left = [_MOST_STEPS]

    def tick() -> int:
        left[0] -= 1
        return left[0] < 0

    database.set_progress_handler(tick, 1_000)
    return database


@lru_cache(maxsize=64)
def _image(statements: tuple[str, ...]) -> bytes | None:
    """Return the database that statements make; the last one is run on that of those before."""
    if not statements:
        return None
    database = _open(_image(statements[:-1]))
    try:
        database.execute(statements[-1])
        database.set_authorizer(None)  # to be written out, a database is asked for its page size
        return database.serialize()
    finally:
        database.close()


def _run(arguments: Mapping[str, Any], query: str, values: tuple[Any, ...] = ()) -> Any:
    try:
        database = _open(_image(tuple(arguments.get("statements") or ())))
    except sqlite3.Error as error:
        raise ValueError(f"the database cannot be made: {error}") from error
    database.row_factory = sqlite3.Row
    try:
        cursor = database.execute(query, values)
        rows = cursor.fetchmany(_MOST_ROWS)
        return [dict(row) for row in rows] if cursor.description else max(cursor.rowcount, 0)
    except sqlite3.Error as error:
        raise ValueError(str(error)) from error
    finally:
        database.close()


def _statement(arguments: Mapping[str, Any]) -> str:
    query = str(arguments["query"])
    if not _KINDS[arguments["kind"]].match(query):
        raise ValueError(f"only statements that {arguments['kind']} are allowed")
    return query


def _problem(arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with a statement: `conflict`, `not_found`, `invalid`; empty: nothing."""
    try:
        _run(arguments, _statement(arguments))
    except (ValueError, sqlite3.Warning) as error:
        text = str(error)
        if "already exists" in text:
            return "conflict"
        return "not_found" if "no such table" in text else "invalid"
    return ""


def _tables(arguments: Mapping[str, Any]) -> Any:
    return _run(arguments, "SELECT name FROM sqlite_master WHERE type='table' ORDER BY rowid")


def _created(arguments: Mapping[str, Any]) -> str | None:
    """Return the table that a statement makes; None where it makes none."""
    before = _tables(arguments)
    made = (*(arguments.get("statements") or ()), _statement(arguments))
    after = [row["name"] for row in _tables({"statements": made}) if row not in before]
    return after[0] if after else None


SQL: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "sql_problem": _problem,
    "sql_run": lambda arguments: _run(arguments, _statement(arguments)),
    "sql_created": _created,
    "sql_columns": lambda arguments: _run(
        arguments, "SELECT * FROM pragma_table_info(?)", (str(arguments["table"]),)
    ),
}
"""Functions of the library: `statements` that made the database, and what each needs besides."""
