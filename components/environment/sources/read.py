"""All sources of a configuration, read: from files and live servers to specs with their cards."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.environment.sources.config import (
    DiscoverSource,
    JsonlSource,
    McpConfigSource,
    OpenApiSource,
    Source,
    ToolsListSource,
)
from components.environment.sources.discovery import discover_servers, entries_of
from components.environment.sources.listed import ListedServer, RawListing, make_specs
from components.environment.sources.live import Progress, list_entries, saved_listing
from components.environment.sources.openapi import read_openapi
from components.environment.sources.server_list import (
    ServerEntry,
    read_recorded_listings,
    read_server_list,
)
from components.errors import SpecError


async def read_sources(
    sources: Sequence[Source],
    timeout_seconds: float,
    *,
    date: str,
    home: Path | None = None,
    platform: str = sys.platform,
    environment: Mapping[str, str] | None = None,
    spare: Sequence[RawListing] = (),
    progress: Progress | None = None,
) -> tuple[ListedServer, ...]:
    """Read every source of a configuration.

    All files are read before a server is started. A server that cannot be listed, or a tool that
    cannot be used, is data and costs the others nothing; service names do not depend on the order.

    Args:
        sources: in the configuration's order, which is the order of what is returned.
        timeout_seconds: deadline of each live server.
        date: day of the reading, for the cards (`2026-01-31`).
        home: home folder that `discover` looks into; None: this user's.
        platform: as `sys.platform` has it.
        environment: where `discover` finds the folders of settings; None: this process's.
        spare: listings that are taken where no source has a server of that name.
        progress: told of live servers how many are done, of how many, and which run.

    Raises:
        SpecError: a file of a source cannot be read, or names a server that is not there; it names
            the key.
    """
    parts: list[list[RawListing] | tuple[list[ServerEntry], str]] = []
    for at, source in enumerate(sources):
        try:
            match source:
                case ToolsListSource() | JsonlSource():
                    parts.append(_saved(source))
                case OpenApiSource():
                    parts.append([read_openapi(Path(source.path), source.licence)])
                case McpConfigSource():
                    parts.append((_chosen(source), source.licence))
                case DiscoverSource():
                    folder = Path.home() if home is None else home
                    values = os.environ if environment is None else environment
                    found = discover_servers(folder, platform, values)
                    parts.append((entries_of(found, source.start), source.licence))
        except SpecError as error:
            raise SpecError(f"environment.sources[{at}]: {error}") from None
    servers: list[RawListing] = []
    for part in parts:
        if isinstance(part, tuple):
            servers += await list_entries(part[0], timeout_seconds, part[1], progress)
        else:
            servers += part
    names = {server.name for server in servers}
    return make_specs([*servers, *(item for item in spare if item.name not in names)], date)


def _saved(source: ToolsListSource | JsonlSource) -> list[RawListing]:
    path = Path(source.path)
    found = read_recorded_listings(path)
    if found is None:
        raise SpecError(
            f"{path}: lists servers to start, not their tools; use kind: mcp_config for it"
        )
    return [saved_listing(path, item, source.licence) for item in found]


def _chosen(source: McpConfigSource) -> list[ServerEntry]:
    entries = read_server_list(Path(source.path))
    names = {entry.name for entry in entries}
    missing = [name for name in source.servers if name not in names]
    if missing:
        raise SpecError(
            f"{source.path}: has no server {missing[0]!r} (it has: {', '.join(sorted(names))})"
        )
    return [entry for entry in entries if not source.servers or entry.name in source.servers]
