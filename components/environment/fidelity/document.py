"""The file of a measurement: which disposable servers there are, and what is called.

    mcpServers: {notes: {command: notes-server, args: ["{tmp}/notes.db"]}}
    sequences:
      notes:
        - - {tool: create_note, arguments: {title: Loom}}
          - {tool: get_note, arguments: {note_id: $1.id}}

Owns the file's shape. Whatever is wrong with it is one line that names file and key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from components.environment.recorded.records import Call
from components.environment.recorded.references import first_late_reference
from components.environment.sources.documents import first_problem, read_document
from components.environment.sources.server_list import ServerEntry, checked_entry
from components.errors import SpecError
from components.records.frozen import FrozenDict, JsonObject

TMP = "{tmp}"
"""Stands for the folder of a sequence."""
_KEYS = ("mcpServers", "sequences", "start", "recordings", "record", "learn", "timeout_seconds")
_TIMEOUT_SECONDS = 30.0

Calls = tuple[Call, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What the file asks for."""

    entries: tuple[ServerEntry, ...]
    """Servers by name; their values may hold `{tmp}`."""
    sequences: Mapping[str, tuple[Calls, ...]]
    """Server -> its sequences; a server without any gets generated ones."""
    start: Mapping[str, Mapping[str, tuple[JsonObject, ...]]]
    """Server -> table -> rows that the compiled service begins with; otherwise it is empty."""
    recordings: Path | None
    """Recorded answers that stand for servers; None: the servers are started."""
    record: Path | None
    """Where the real answers are written; None: nowhere."""
    learn: Path | Literal["others"] | None
    """What a second, taught service of each server learns from: a file of recordings, or for each
    sequence the others; None: there is none.
    """
    timeout_seconds: float
    """Deadline of a server's start, and of each answer."""


def read_measurement(path: Path) -> Measurement:
    """Return what a file asks for.

    Raises:
        SpecError: the file is wrong.
    """
    body = read_document(path)
    if not isinstance(body, dict):
        raise SpecError(f"{path}: must be an object with mcpServers or recordings")
    for key in body:
        if key not in _KEYS:
            raise SpecError(f"{path}: no key {key!r} here; it may hold {', '.join(_KEYS)}")
    recordings, record = (_file(path, body, key) for key in ("recordings", "record"))
    servers = _object(path, body, "mcpServers")
    if bool(servers) is (recordings is not None):
        raise SpecError(f"{path}: needs either mcpServers (servers to start) or recordings")
    if recordings is not None and record is not None:
        raise SpecError(f"{path}: recordings are there already; drop record")
    names = None if recordings is not None else sorted(servers)
    return Measurement(
        entries=tuple(_local_entry(path, name, servers[name]) for name in sorted(servers)),
        sequences=dict(_sequences(path, body, names)),
        start=dict(_start(path, body, names)),
        recordings=recordings,
        record=record,
        learn="others" if body.get("learn") == "others" else _file(path, body, "learn"),
        timeout_seconds=_timeout(path, body),
    )


def in_folder(entry: ServerEntry, folder: Path) -> ServerEntry:
    """Return an entry whose values name the folder. Its secrets stay those of the file, so that the
    folder's name is none.
    """
    return replace(
        entry,
        command=entry.command.replace(TMP, str(folder)),
        args=tuple(item.replace(TMP, str(folder)) for item in entry.args),
        env={name: item.replace(TMP, str(folder)) for name, item in entry.env.items()},
        cwd=None if entry.cwd is None else entry.cwd.replace(TMP, str(folder)),
    )


def replaced(value: Any, old: str, new: str) -> Any:
    """Return a JSON value with a text replaced wherever it stands."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, Mapping):
        return FrozenDict({name: replaced(item, old, new) for name, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(replaced(item, old, new) for item in value)
    return value


def _local_entry(path: Path, name: str, body: Any) -> ServerEntry:
    entry = checked_entry(path, name, body)
    if entry.error:
        raise SpecError(entry.error)
    if entry.url:
        raise SpecError(
            f"{path}: mcpServers.{name}: is reached by address, and only a server that is started "
            "for each sequence can be thrown away; give its command"
        )
    return entry


def _sequences(
    path: Path, body: Mapping[str, Any], names: list[str] | None
) -> Iterator[tuple[str, tuple[Calls, ...]]]:
    for server, given in _object(path, body, "sequences").items():
        place = f"{path}: sequences.{server}"
        _check_name(place, server, names)
        if not isinstance(given, list) or not given:
            raise SpecError(f"{place}: must be a list of calls, or a list of such lists")
        several = given if isinstance(given[0], list) else [given]
        yield (
            server,
            tuple(_sequence(f"{place}[{at}]", calls) for at, calls in enumerate(several)),
        )


def _sequence(place: str, calls: Any) -> Calls:
    if not isinstance(calls, list) or not calls:
        raise SpecError(f"{place}: must be a list of calls")
    found = []
    for at, body in enumerate(calls):
        try:
            call = Call.model_validate(body)
        except ValidationError as error:
            key, problem = first_problem(error)
            raise SpecError(
                f"{place}[{at}]{'.' if key else ''}{key}: {problem}; a call is "
                "{tool: NAME, arguments: {...}}"
            ) from None
        late = first_late_reference(call.arguments, at + 1)
        if late:
            raise SpecError(
                f"{place}[{at}]: {late} must name an earlier call, from $1 on; a text that begins "
                "so is written with $$"
            )
        found.append(call)
    return tuple(found)


def _start(
    path: Path, body: Mapping[str, Any], names: list[str] | None
) -> Iterator[tuple[str, Mapping[str, tuple[JsonObject, ...]]]]:
    for server, tables in _object(path, body, "start").items():
        place = f"{path}: start.{server}"
        _check_name(place, server, names)
        if not isinstance(tables, dict) or not all(
            isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
            for rows in tables.values()
        ):
            raise SpecError(f"{place}: must be an object of tables, each a list of rows")
        yield server, {table: tuple(map(FrozenDict, rows)) for table, rows in tables.items()}


def _check_name(place: str, server: str, names: list[str] | None) -> None:
    if names is not None and server not in names:
        raise SpecError(f"{place}: mcpServers has no such server; it has {', '.join(names)}")


def _object(path: Path, body: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = body.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SpecError(f"{path}: {key}: must be an object by server")
    return value


def _file(path: Path, body: Mapping[str, Any], key: str) -> Path | None:
    """A file beside the measurement's own, unless it says a whole path."""
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise SpecError(f"{path}: {key}: must be the name of a file")
    return path.parent / Path(value).expanduser()


def _timeout(path: Path, body: Mapping[str, Any]) -> float:
    value = body.get("timeout_seconds", _TIMEOUT_SECONDS)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise SpecError(f"{path}: timeout_seconds: must be a number of seconds above 0")
    return float(value)
