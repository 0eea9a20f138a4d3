"""The MCP servers that the clients of this computer know, from the files where clients keep them.

Owns the places, which are data (`clients.json`). Looking is all it does: files are read, nothing is
started, and what is found holds no value of any server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from components.environment.sources.documents import read_text
from components.environment.sources.server_list import (
    ServerEntry,
    checked_entry,
    parse_document,
    servers_in,
)
from components.errors import SpecError

_MAX_FILES = 200
"""Files that one place with a `*` may stand for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundServer:
    """One server in one client's file."""

    client: str
    path: Path
    entry: ServerEntry
    """Its `error` says when the file or the entry cannot be used."""

    @property
    def name(self) -> str:
        """By which it is chosen: `client:server`."""
        return f"{self.client}:{self.entry.name}"


def discover_servers(
    home: Path, platform: str, environment: Mapping[str, str]
) -> tuple[FoundServer, ...]:
    """Look where the known clients keep their servers.

    A file that cannot be read is one finding with an error, named like the file.

    Args:
        home: home folder.
        platform: as `sys.platform` has it.
        environment: variables by which platforms move their folders (`APPDATA`,
            `XDG_CONFIG_HOME`).
    """
    found: list[FoundServer] = []
    for client, path in _places(home, platform, environment):
        try:
            bodies = list(_bodies(parse_document(path, read_text(path))))
        except SpecError as error:
            entry = ServerEntry(name=path.name, error=str(error))
            found.append(FoundServer(client=client, path=path, entry=entry))
            continue
        known: set[str] = set()
        for name, body in bodies:
            if name not in known:
                known.add(name)
                entry = checked_entry(path, name, body)
                found.append(FoundServer(client=client, path=path, entry=entry))
    return tuple(found)


def entries_of(found: Sequence[FoundServer], start: Sequence[str]) -> list[ServerEntry]:
    """Return what was found as entries of which only the chosen ones may be started.

    Raises:
        SpecError: a chosen name was not found.
    """
    names = {server.name for server in found}
    missing = [name for name in start if name not in names]
    if missing:
        known = ", ".join(sorted(names)) or "none was found"
        raise SpecError(f"start: there is no server {missing[0]!r} here ({known})")
    entries = []
    for server in found:
        entry = server.entry
        if server.name in start:
            entries.append(entry)
        else:
            where = f"{server.name}: found in {server.path}"
            why = entry.error or f"{where}; not started, since `start` does not name it"
            entries.append(replace(entry, error=why))
    return entries


def _places(
    home: Path, platform: str, environment: Mapping[str, str]
) -> Iterator[tuple[str, Path]]:
    """Every file that is there, with its client, in the order of the data."""
    folders = {
        "home": home,
        "config": Path(environment.get("XDG_CONFIG_HOME") or home / ".config"),
        "support": home / "Library" / "Application Support",
        "appdata": Path(environment.get("APPDATA") or home / "AppData" / "Roaming"),
    }
    system = {"darwin": "macos", "win32": "windows"}.get(platform, "linux")
    text = resources.files(__package__).joinpath("clients.json").read_text("utf-8")
    for client in json.loads(text)["clients"]:
        for place in client["files"].get(system, client["files"].get("any", ())):
            base, _, rest = place.partition("/")
            folder = folders[base]
            paths = sorted(folder.glob(rest))[:_MAX_FILES] if "*" in rest else [folder / rest]
            for path in paths:
                if path.is_file():
                    yield client["client"], path


def _bodies(document: Any) -> Iterator[tuple[str, Any]]:
    """The servers of a file, those of its projects too."""
    yield from (servers_in(document) or {}).items()
    projects = document.get("projects") if isinstance(document, dict) else None
    for project in projects.values() if isinstance(projects, dict) else ():
        yield from (servers_in(project) or {}).items()
