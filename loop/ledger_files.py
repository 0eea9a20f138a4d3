"""The ledger's files written and read with care, the difference of two configurations, and the
lock of a run.

A file that cannot be written or is damaged is one line that names it and says how to mend it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

from pydantic import ValidationError

from components.durable import write_atomic
from components.errors import LedgerError
from components.records.base import Record, hash_record, to_json
from components.records.frozen import content_hash, freeze, thaw
from loop.ledger_records import Change

RecordT = TypeVar("RecordT", bound=Record)

NO_EFFECT = (
    "run",
    "runs_dir",
    "round",
    "out",
    "dry_run",
    "tracking",
    "compute",
    "rollout.concurrency",
    "policy.base_url",
    "policy.api_key_env",
    "policy.timeout_seconds",
    "policy.max_retries",
    "environment.author.base_url",
    "environment.author.api_key_env",
    "environment.author.timeout_seconds",
    "environment.author.max_retries",
    "environment.author.record",
    "environment.author.replay",
    "attribution.patcher.base_url",
    "attribution.patcher.api_key_env",
    "attribution.patcher.timeout_seconds",
    "attribution.patcher.max_retries",
)
"""Keys and sections that change no result (the folder names run and round): they may differ on a
resume."""

_ABSENT = "(absent)"
"""Stands for a key that one of two configurations has not got."""
_CHECKSUM = "checksum"
_RESTORE = "restore it from a copy, or give run= another name"


def write_file(path: Path, data: bytes, *, point: str) -> None:
    """Replace a file's content, whole or not at all (see `write_atomic`).

    Raises:
        LedgerError: the machine refuses: a full disk, a folder that is read-only.
    """
    try:
        write_atomic(path, data, point=point)
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be written ({error.strerror or error}); mend that, then run the same "
            "command again"
        ) from error


def pretty_json(value: Any) -> bytes:
    """Return JSON for a file that people read too: indented, one form for one value."""
    text = json.dumps(thaw(value), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode("utf-8", "surrogatepass")


def read_object(path: Path, mend: str = _RESTORE) -> dict[str, Any]:
    """Return a file's JSON object.

    Raises:
        LedgerError: the file cannot be read as one; the line ends with `mend`.
    """
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, str(error), mend) from error
    if not isinstance(body, dict):
        raise damaged(path, "it is no JSON object", mend)
    return body


def write_sealed(path: Path, record: Record, *, point: str) -> None:
    """Write a record for people to read, with a checksum of itself."""
    body = {**to_json(record), _CHECKSUM: hash_record(record)}
    write_file(path, pretty_json(body), point=point)


def read_sealed(path: Path, model: type[RecordT]) -> RecordT:
    """Return a record that `write_sealed` wrote.

    Raises:
        LedgerError: the file cannot be read, is no such record, or was changed since.
    """
    body = read_object(path)
    checksum = body.pop(_CHECKSUM, None)
    try:
        record = model.model_validate(freeze(body))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise damaged(path, f"{place}: {first['msg']}") from error
    if checksum != hash_record(record):
        raise damaged(path, "its checksum is another")
    return record


def config_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return the keys that differ between two configurations and can change results, in order."""
    before, after = dict(flat_keys(old)), dict(flat_keys(new))
    return tuple(
        Change(key=key, old=before.get(key, _ABSENT), new=after.get(key, _ABSENT))
        for key in sorted(before.keys() | after.keys())
        if not _has_no_effect(key) and before.get(key, _ABSENT) != after.get(key, _ABSENT)
    )


def settings_hash(config: Mapping[str, Any]) -> str:
    """Return the hash of what can change results in a configuration."""
    kept = {key: value for key, value in flat_keys(config) if not _has_no_effect(key)}
    return content_hash(kept)


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
        raise _unwritable(run, why_unwritable(path.parent) or str(error)) from error
    with opened as file:
        _take_lock(file, fcntl.LOCK_EX, run)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def refuse_locked(path: Path, run: str) -> None:
    """Raise what `locked` would raise now, and change nothing.

    Raises:
        LedgerError: another process drives this run, or its folder cannot be written.
    """
    if path.exists():
        try:
            opened = path.open(encoding="ascii")
        except OSError as error:
            raise _unwritable(run, str(error)) from error
        with opened as file:
            _take_lock(file, fcntl.LOCK_SH, run)
    why = why_unwritable(path.parent)
    if why:
        raise _unwritable(run, why)


def _unwritable(run: str, why: str) -> LedgerError:
    return LedgerError(
        f"run '{run}' cannot be written ({why}); set runs_dir to a folder that can be written"
    )


def why_unwritable(folder: Path) -> str:
    """Return why nothing can be written into a folder, there or not yet; empty where it can."""
    while not os.path.exists(folder) and folder != folder.parent:
        if os.path.islink(folder):
            return f"{folder} is a link to {os.readlink(folder)}, which is not there"
        folder = folder.parent
    if not os.path.isdir(folder):
        return f"{folder} is no folder"
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"{folder} may not be written"


def _take_lock(file: TextIO, kind: int, run: str) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        raise LedgerError(
            f"run '{run}' is being driven by process {holder}; wait until it ends, or give "
            "run= another name"
        ) from None


def flat_keys(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted keys of a configuration with their values, in order."""
    if isinstance(value, Mapping) and value:
        for key in sorted(value):
            yield from flat_keys(value[key], f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def _has_no_effect(key: str) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in NO_EFFECT)


def damaged(path: Path, why: str, mend: str = _RESTORE) -> LedgerError:
    """Return the error for a file that is not what was written."""
    return LedgerError(f"{path} is damaged ({' '.join(why.split())}); {mend}")
