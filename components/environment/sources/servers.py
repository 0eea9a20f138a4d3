"""Real MCP servers: start each, list its tools, stop it. The one door of the `mcp` SDK.

Owns processes, connections and deadlines. A tool is called only when the caller allows it by name;
listing calls none. What goes wrong with one server is one line about that server, and never holds a
value that it was started with.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, PaginatedRequestParams

from components.environment.sources.listing import service_name, spec_from_listing
from components.environment.sources.redaction import Redactor
from components.environment.sources.server_list import (
    RecordedListing,
    ServerEntry,
    read_recorded_listings,
    read_server_list,
)
from components.errors import SpecError, ToolError
from components.records.frozen import JsonObject, freeze
from components.records.spec import ServiceSpec

MAX_PAGES = 50
_MAX_DETAIL = 200
_STDERR_BYTES = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedServer:
    """What became of one server of the list."""

    name: str
    spec: ServiceSpec | None
    """None when the server could not be listed; `error` says why."""
    error: str
    """One line; empty when the server was listed."""
    notes: tuple[str, ...] = ()
    """Tools that were left out, and why."""


async def list_servers(path: Path, timeout_seconds: float) -> tuple[ListedServer, ...]:
    """Start every server of an `mcpServers` file and list its tools; servers run side by side, none
    is waited for twice.

    Args:
        path: the file; saved `tools/list` answers (see `read_recorded_listings`) are taken as
            they are.
        timeout_seconds: deadline of each server, from start to the last page.

    Raises:
        SpecError: the file itself is wrong. A server that fails is data.
    """
    recorded = read_recorded_listings(path)
    names: list[str] = []
    if recorded is not None:
        for item in recorded:
            names.append(service_name(item.name, names))
        return tuple(
            _read_listing(path, item, name) for item, name in zip(recorded, names, strict=True)
        )
    entries = read_server_list(path)
    for entry in entries:
        names.append(service_name(Redactor(entry.secrets).name(entry.name), names))
    with _quiet_sdk():
        return tuple(
            await asyncio.gather(
                *(
                    _list_server(entry, service, timeout_seconds)
                    for entry, service in zip(entries, names, strict=True)
                )
            )
        )


async def call_server(
    path: Path,
    server: str,
    calls: Sequence[tuple[str, Mapping[str, Any]]],
    timeout_seconds: float,
    *,
    allow_calls: frozenset[str],
) -> tuple[JsonObject, ...]:
    """Call tools of one real server in order, on one connection, to compare it with its service.

    Args:
        calls: (tool as the server names it, arguments).
        allow_calls: `server.tool` names that may be called; any other is refused before the
            server starts.

    Returns:
        For each call `{"is_error", "structured", "text"}`.

    Raises:
        SpecError: the server is not in the list, or a tool is not allowed.
        ToolError: the server broke down or missed its deadline.
    """
    entry = next((item for item in read_server_list(path) if item.name == server), None)
    if entry is None:
        raise SpecError(f"{path}: mcpServers has no server {server!r}")
    for tool, _ in calls:
        if f"{server}.{tool}" not in allow_calls:
            raise SpecError(f"{server}.{tool} may not be called; add it to allow_calls")
    redactor = Redactor(entry.secrets)
    answers: list[JsonObject] = []
    with _quiet_sdk(), tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        try:
            with anyio.fail_after(timeout_seconds):
                async with _connect(entry, stderr, []) as client:
                    for tool, arguments in calls:
                        result = await client.call_tool(tool, dict(arguments))
                        text = "\n".join(
                            part.text for part in result.content if part.type == "text"
                        )
                        answer = {
                            "is_error": bool(result.is_error),
                            "structured": result.structured_content,
                            "text": text,
                        }
                        answers.append(freeze(redactor.value(answer)))
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001
            # The boundary to a foreign program: whatever breaks there is one line of data.
            reason = _reason(error, entry, stderr, timeout_seconds, 0)
            raise ToolError(redactor.text(f"{server}: {reason}")) from None
    return tuple(answers)


def _read_listing(path: Path, item: RecordedListing, service: str) -> ListedServer:
    try:
        listing = spec_from_listing(
            service, item.tools, title=item.name, source=f"file:{path.name}"
        )
    except SpecError as error:
        return ListedServer(name=item.name, spec=None, error=str(error))
    return ListedServer(name=item.name, spec=listing.spec, error="", notes=listing.notes)


async def _list_server(entry: ServerEntry, service: str, timeout_seconds: float) -> ListedServer:
    redactor = Redactor(entry.secrets)
    name = redactor.name(entry.name)
    if entry.disabled:
        return ListedServer(name=name, spec=None, error=f"{name}: disabled in the server list")
    tools: list[Any] = []
    tap = _Tap()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        try:
            with anyio.fail_after(timeout_seconds):
                async with _connect(entry, stderr, [tap]) as client:
                    await _list_pages(client, tap, tools)
                    title = client.server_info.name if client.server_info else ""
                    instructions = client.instructions or ""
            listing = spec_from_listing(
                service,
                tools,
                title=title,
                description=instructions,
                source=entry.source,
                redactor=redactor,
            )
        except SpecError as error:
            return ListedServer(name=name, spec=None, error=redactor.text(str(error)))
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001
            # The boundary to a foreign program: whatever breaks there is one line of data.
            reason = _reason(error, entry, stderr, timeout_seconds, tap.junk)
            return ListedServer(name=name, spec=None, error=f"{name}: {redactor.text(reason)}")
    return ListedServer(name=name, spec=listing.spec, error="", notes=listing.notes)


async def _list_pages(client: Client, tap: _Tap, tools: list[Any]) -> None:
    """Collect the raw tools of every page, as the server sent them."""
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        tools.extend(tap.take())
        if not page.next_cursor or page.next_cursor == cursor:
            return
        cursor = page.next_cursor


@asynccontextmanager
async def _connect(entry: ServerEntry, stderr: IO[str], taps: list[_Tap]) -> AsyncIterator[Client]:
    async with _http_client(entry) as http_client:
        transport: AbstractAsyncContextManager[Any]
        if http_client is not None:
            transport = streamable_http_client(entry.url, http_client=http_client)
        else:
            transport = stdio_client(
                StdioServerParameters(
                    command=entry.command,
                    args=list(entry.args),
                    env=dict(entry.env),
                    cwd=entry.cwd,
                    encoding_error_handler="replace",
                ),
                errlog=stderr,  # type: ignore[arg-type]
            )
        for tap in taps:
            transport = tap.over(transport)
        async with Client(transport, mode="legacy", cache=None) as client:
            yield client


@asynccontextmanager
async def _http_client(entry: ServerEntry) -> AsyncIterator[httpx2.AsyncClient | None]:
    if not entry.url:
        yield None
        return
    timeout = httpx2.Timeout(30.0)
    async with httpx2.AsyncClient(headers=dict(entry.headers), timeout=timeout) as client:
        yield client


class _Tap:
    """Takes the raw `tools` out of answers before the SDK checks them: it drops a whole list for
    one bad tool.
    """

    def __init__(self) -> None:
        self.junk = 0
        self._tools: list[Any] = []

    def take(self) -> list[Any]:
        """Return the tools of the last answer, once."""
        tools, self._tools = self._tools, []
        return tools

    @asynccontextmanager
    async def over(self, transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        """Put this tap on a transport's read stream."""
        async with transport as (read_stream, write_stream):
            yield _TappedStream(read_stream, self), write_stream

    def look(self, message: SessionMessage | Exception) -> SessionMessage | Exception:
        """Keep the tools of an answer, and return the answer without them."""
        if isinstance(message, Exception):
            self.junk += 1
            return message
        body = message.message
        if isinstance(body, JSONRPCResponse) and isinstance(body.result.get("tools"), list):
            self._tools = body.result["tools"]
            result = {**body.result, "tools": []}
            return SessionMessage(body.model_copy(update={"result": result}), message.metadata)
        return message


class _TappedStream:
    """A read stream that shows each message to a tap."""

    def __init__(self, stream: Any, tap: _Tap) -> None:
        self._stream = stream
        self._tap = tap

    async def receive(self) -> SessionMessage | Exception:
        return self._tap.look(await self._stream.receive())

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> _TappedStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._tap.look(await self._stream.__anext__())

    async def __aenter__(self) -> _TappedStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return bool(await self._stream.__aexit__(exc_type, exc_val, exc_tb))


def _reason(
    error: BaseException, entry: ServerEntry, stderr: IO[str], timeout_seconds: float, junk: int
) -> str:
    """Say in one line why a server could not be used. Still to be redacted by the caller."""
    error = _innermost(error)
    said = "" if entry.url else _last_words(stderr, Redactor(entry.secrets))
    noise = f"; {junk} lines on its stdout were no protocol messages" if junk else ""
    if isinstance(error, TimeoutError):
        return f"no list of tools within {timeout_seconds:g} s{noise}{said}"
    if isinstance(error, OSError) and entry.cwd and not Path(entry.cwd).is_dir():
        return "its working directory was not found; correct `cwd`"
    if isinstance(error, FileNotFoundError):
        return "its command was not found; install it or correct `command`"
    if isinstance(error, OSError) and not entry.url:
        return f"it could not be started ({error.strerror or type(error).__name__})"
    if isinstance(error, MCPError) and "closed" in str(error).lower():
        return f"it ended before it had listed its tools{noise}{said}"
    if entry.url and not isinstance(error, MCPError):
        # The text of a transport's error quotes pieces of the address, credentials among them.
        return f"it could not be reached ({type(error).__name__}); check `url`"
    text = re.sub(r"\s+", " ", Redactor(entry.secrets).text(str(error)))[:_MAX_DETAIL]
    return f"{type(error).__name__}: {text}{noise}{said}"


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def _last_words(stderr: IO[str], redactor: Redactor) -> str:
    """Return the last line that the server wrote on stderr, as the end of a message."""
    stderr.flush()
    size = stderr.seek(0, 2)
    stderr.seek(0)
    tail = redactor.text(stderr.read())[-_STDERR_BYTES:] if size < 1_000_000 else ""
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    return f"; its last words: {json.dumps(lines[-1][:_MAX_DETAIL])}" if lines else ""


@contextmanager
def _quiet_sdk() -> Iterator[None]:
    """Keep the SDK's log records, which hold raw lines of the servers, from every handler."""
    loggers = [logging.getLogger(name) for name in ("mcp", "client", "httpx2", "httpcore2")]
    before = [(logger, logger.propagate) for logger in loggers]
    sink = logging.NullHandler()
    for logger in loggers:
        logger.propagate = False
        logger.addHandler(sink)
    try:
        yield
    finally:
        for logger, propagate in before:
            logger.removeHandler(sink)
            logger.propagate = propagate
