"""The ledger's files read with care, the difference of two configurations, and the lock of a
run."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from components.errors import LedgerError
from components.records.base import Record
from components.records.frozen import freeze, thaw
from loop.ledger_records import Change

RecordT = TypeVar("RecordT", bound=Record)

NO_EFFECT = ("run", "runs_dir", "round", "out", "tracking", "rollout.concurrency")
"""Keys and sections that change no result (the folder names run and round): they may differ on a
resume."""

_ABSENT = "(absent)"
"""Stands for a key that one of two configurations has not got."""


def pretty_json(value: Any) -> bytes:
    """Return JSON for a file that people read too: indented, one form for one value."""
    text = json.dumps(thaw(value), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode("utf-8", "surrogatepass")


def read_json(path: Path) -> Any:
    """Return a file's JSON.

    Raises:
        LedgerError: the file cannot be read as JSON.
    """
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error


def read_record(path: Path, model: type[RecordT]) -> RecordT:
    """Return a file's record.

    Raises:
        LedgerError: the file cannot be read, or is no such record.
    """
    try:
        return model.model_validate(freeze(read_json(path)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise _damaged(path, f"{place}: {first['msg']}") from error


def config_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return the keys that differ between two configurations and can change results, in order."""
    before, after = dict(_flat(old)), dict(_flat(new))
    return tuple(
        Change(key=key, old=before.get(key, _ABSENT), new=after.get(key, _ABSENT))
        for key in sorted(before.keys() | after.keys())
        if not _has_no_effect(key) and before.get(key, _ABSENT) != after.get(key, _ABSENT)
    )


def shown_change(change: Change) -> str:
    """Return a change as `key: old -> new`."""
    old, new = (json.dumps(thaw(value), ensure_ascii=False) for value in (change.old, change.new))
    return f"{change.key}: {old} -> {new}"


@contextmanager
def locked(path: Path, run: str) -> Iterator[None]:
    """Hold a run's lock: the file stays, with the driver's pid; the lock goes with the process."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = path.open("a+", encoding="ascii")
    except OSError as error:
        raise LedgerError(
            f"run '{run}' cannot be written ({error}); set runs_dir to a folder that can be written"
        ) from error
    with opened as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise LedgerError(
                f"run '{run}' is being driven by process {holder}; wait until it ends, or give "
                "run= another name"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key in sorted(value):
            yield from _flat(value[key], f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def _has_no_effect(key: str) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in NO_EFFECT)


def _damaged(path: Path, why: str) -> LedgerError:
    return LedgerError(
        f"{path} is damaged ({' '.join(why.split())}); restore it from a copy, or give run= "
        "another name"
    )
