"""The units of a round that are done (a rollout, a task, a verdict), a committed row each.

A stage asks what is done, computes the rest, and puts each unit as it ends; after `kill -9` only
what was in flight is computed again. A unit that is there is never replaced.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from pydantic import ValidationError

from components.durable import open_database, transaction
from components.errors import LedgerError
from components.records.base import Record
from components.records.frozen import canonical_json

RecordT = TypeVar("RecordT", bound=Record)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS units (
    stage TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL, sha TEXT NOT NULL,
    PRIMARY KEY (stage, key)
) WITHOUT ROWID;
"""


class UnitLog:
    """The units of one round, in one SQLite file. Used by one thread; closed when its round is."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file.

        Args:
            path: the file; made when missing.
            read_only: nothing is made or written; what a driver puts meanwhile is seen, and a file
                that is not there holds no units.
        """
        self.path = path
        with self._readable():
            self._database = _open_to_read(path) if read_only else open_database(path, _SCHEMA)

    def __enter__(self) -> UnitLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was put is there already."""
        self._database.close()

    def keys(self, stage: str) -> tuple[str, ...]:
        """Return the keys of a stage's units, in order, without reading their bodies."""
        with self._readable():
            rows = self._database.execute(
                "SELECT key FROM units WHERE stage = ? ORDER BY key", (stage,)
            ).fetchall()
        return tuple(key for (key,) in rows)

    def done(self, stage: str, only: str | None = None) -> dict[str, Any]:
        """Return the bodies of a stage's units by key, in the order of the keys.

        Args:
            stage: name of the units.
            only: the one key that is wanted; None: all.

        Raises:
            LedgerError: the file, or one unit in it, is damaged.
        """
        units: dict[str, Any] = {}
        with self._readable():
            rows = self._database.execute(
                "SELECT key, body, sha FROM units WHERE stage = ? AND key = ifnull(?, key) "
                "ORDER BY key",
                (stage, only),
            ).fetchall()
        for key, body, sha in rows:
            if not isinstance(body, bytes) or hashlib.sha256(body).hexdigest() != sha:
                raise self._damaged(stage, key, "its bytes have another hash")
            try:
                units[key] = json.loads(body)
            except (ValueError, RecursionError) as error:
                raise self._damaged(stage, key, "it is no JSON") from error
        return units

    def records(
        self, stage: str, model: type[RecordT], only: str | None = None
    ) -> dict[str, RecordT]:
        """Return a stage's units as records, as `done` does.

        Raises:
            LedgerError: the file, or one unit in it, is damaged.
        """
        found: dict[str, RecordT] = {}
        for key, body in self.done(stage, only).items():
            with self.reading(stage, key):
                found[key] = model.model_validate(body)
        return found

    def record_lists(
        self, stage: str, model: type[RecordT], only: str | None = None
    ) -> dict[str, list[RecordT]]:
        """Return a stage's units, each of which is a list of records."""
        found: dict[str, list[RecordT]] = {}
        for key, body in self.done(stage, only).items():
            with self.reading(stage, key):
                found[key] = [model.model_validate(item) for item in body]
        return found

    @contextmanager
    def reading(self, stage: str, key: str) -> Iterator[None]:
        """Make a unit's body that is not of the shape it should have an error that names it."""
        try:
            yield
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise self._damaged(stage, key, f"{place}: {first['msg']}") from error
        except (KeyError, TypeError) as error:
            raise self._damaged(stage, key, "it is no unit of this stage") from error

    def refuse_other_units(self, stage: str, recorded: Mapping[str, str]) -> None:
        """Raise unless a finished stage's units are those that its result was made of.

        Args:
            stage: name of the units.
            recorded: key -> content hash of the body.

        Raises:
            LedgerError: a unit is missing, is another, or is one too many.
        """
        with self._readable():
            rows = self._database.execute("SELECT key, sha FROM units WHERE stage = ?", (stage,))
            found = dict(rows.fetchall())
        wrong = sorted({*found.items()} ^ {*recorded.items()})
        if wrong:
            raise LedgerError(
                f"{self.path} is damaged (unit {stage}/{wrong[0][0]} is not as it was recorded); "
                f"{_MEND}"
            )

    def refuse_fewer_units(self, stage: str, count: int) -> None:
        """Raise unless a finished stage has at least this many units.

        Raises:
            LedgerError: there are fewer.
        """
        found = len(self.keys(stage))
        if found < count:
            raise LedgerError(
                f"{self.path} is damaged (stage {stage} had {count} units, {found} are there); "
                f"{_MEND}"
            )

    @property
    def is_empty(self) -> bool:
        """Whether no unit of any stage is done."""
        with self._readable():
            found = self._database.execute("SELECT 1 FROM units LIMIT 1").fetchone()
        return found is None

    def put(self, stage: str, key: str, body: Any) -> None:
        """Keep one unit; it is on disk when this returns."""
        self.put_many(stage, {key: body})

    def put_many(self, stage: str, bodies: Mapping[str, Any]) -> None:
        """Keep several units in one commit: all of them or none."""
        self.put_each({(stage, key): body for key, body in bodies.items()})

    def put_each(self, bodies: Mapping[tuple[str, str], Any]) -> None:
        """Keep units of several stages, by stage and key, in one commit: all of them or none."""
        rows = []
        for stage, key in sorted(bodies):
            data = canonical_json(bodies[stage, key])
            rows.append((stage, key, data, hashlib.sha256(data).hexdigest()))
        with self._readable(), transaction(self._database, point="units.put"):
            self._database.executemany(
                "INSERT INTO units VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", rows
            )

    def _damaged(self, stage: str, key: str, why: str) -> LedgerError:
        return LedgerError(f"unit {stage}/{key} in {self.path} is damaged ({why}); {_MEND}")

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # a full disk, a folder that is read-only
            raise LedgerError(
                f"{self.path} cannot be used ({error}); mend that, then run the same command again"
            ) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise LedgerError(f"{self.path} is damaged ({error}); {_MEND}") from error


_MEND = "restore it from a copy, or remove the round's folder to run this round from its start"


def _open_to_read(path: Path) -> sqlite3.Connection:
    # A reader of a WAL database makes the files `-wal` and `-shm` where there are none. Without a
    # log nobody drives the round, and the file alone is the whole truth.
    has_log = path.with_name(path.name + "-wal").exists()
    mode = "mode=ro" if has_log else "mode=ro&immutable=1"
    if path.exists():
        database = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=30.0)
        if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'units'").fetchone():
            return database
        database.close()  # of a round that was killed before it had a table
    database = sqlite3.connect(":memory:")
    database.executescript(_SCHEMA)
    return database
