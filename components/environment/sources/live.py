"""The servers of a file, started side by side and listed, or taken from saved answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from components.environment.sources.listed import ListedServer, RawListing, make_specs
from components.environment.sources.quiet import quiet_sdk
from components.environment.sources.records import UNKNOWN_LICENCE, SourceKind
from components.environment.sources.server_list import (
    RecordedListing,
    ServerEntry,
    read_recorded_listings,
    read_server_list,
)
from components.environment.sources.servers import list_server
from components.environment.sources.text import clean_line

Progress = Callable[[int, int, str], None]
"""Told how many servers are done, of how many, and the names of those that run."""
_MIN_AT_ONCE = 4
"""Servers that run at once on the smallest machine."""


async def list_servers(
    path: Path, timeout_seconds: float, *, date: str | None = None
) -> tuple[ListedServer, ...]:
    """Start every server of a client's file and list its tools; servers run side by side, none is
    waited for twice.

    Args:
        path: the file; saved `tools/list` answers (see `read_recorded_listings`) are taken as
            they are.
        timeout_seconds: deadline of each server, from start to the last page.
        date: day of the listing for the cards (`2026-01-31`); None: no cards.

    Raises:
        SpecError: the file itself is wrong. A server that fails is data.
    """
    recorded = read_recorded_listings(path)
    if recorded is not None:
        return make_specs([saved_listing(path, item) for item in recorded], date)
    return make_specs(await list_entries(read_server_list(path), timeout_seconds), date)


def saved_listing(path: Path, item: RecordedListing, licence: str = UNKNOWN_LICENCE) -> RawListing:
    """Return one answer of a file as what a server lists."""
    name = clean_line(item.name)
    return RawListing(
        name=name,
        kind=SourceKind.JSONL
        if "l" in path.suffix or path.suffix == ".gz"
        else SourceKind.TOOLS_LIST,
        origin=path.name,
        source=f"file:{path.name}",
        tools=item.tools,
        error=clean_line(item.error),
        title=name,
        licence=item.licence or licence,
    )


async def list_entries(
    entries: Sequence[ServerEntry],
    timeout_seconds: float,
    licence: str = UNKNOWN_LICENCE,
    progress: Progress | None = None,
) -> list[RawListing]:
    """Start servers, list their tools, stop them.

    Args:
        entries: some run at once, the others when one of these is done.
        timeout_seconds: deadline of each, from its start to its last page.
        progress: told how many are done, of how many, and which ones are waited for.
    """
    free = asyncio.Semaphore(max(_MIN_AT_ONCE, os.cpu_count() or 1))
    running: list[str] = []
    num_done = 0

    def tell() -> None:
        if progress is not None:
            progress(num_done, len(entries), ", ".join(clean_line(name) for name in running))

    async def one(entry: ServerEntry) -> RawListing:
        nonlocal num_done
        async with free:
            running.append(entry.name)
            tell()
            raw = await list_server(entry, timeout_seconds, licence)
            running.remove(entry.name)
            num_done += 1
            tell()
            return raw

    with quiet_sdk():
        return list(await asyncio.gather(*(one(entry) for entry in entries)))
