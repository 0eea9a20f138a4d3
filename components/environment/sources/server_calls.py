"""Calls of a real server's tools that its user allows by name, to compare it with its service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.environment.sources.server_list import read_server_list
from components.environment.sources.servers import open_server
from components.errors import SpecError
from components.records.frozen import JsonObject


async def call_server(
    path: Path,
    server: str,
    calls: Sequence[tuple[str, Mapping[str, Any]]],
    timeout_seconds: float,
    *,
    allow_calls: frozenset[str],
) -> tuple[JsonObject, ...]:
    """Call tools of one real server in order, on one connection.

    Args:
        calls: (tool as the server names it, arguments).
        timeout_seconds: deadline of its start, and of each answer.
        allow_calls: `server.tool` names that may be called; any other is refused before the
            server starts.

    Returns:
        For each call `{"is_error", "structured", "text", "num_other_parts"}`.

    Raises:
        SpecError: the server is not in the list, or a tool is not allowed.
        ToolError: the server broke down or missed a deadline.
    """
    entry = next((item for item in read_server_list(path) if item.name == server), None)
    if entry is None:
        raise SpecError(f"{path}: mcpServers has no server {server!r}")
    for tool, _ in calls:
        if f"{server}.{tool}" not in allow_calls:
            raise SpecError(f"{server}.{tool} may not be called; add it to allow_calls")
    if entry.error:
        raise SpecError(entry.error)
    async with open_server(entry, timeout_seconds) as ask:
        return tuple([await ask(tool, arguments) for tool, arguments in calls])
