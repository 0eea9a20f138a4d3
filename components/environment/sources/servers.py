"""Real MCP servers: start each, list its tools, stop it. The one door of the `mcp` SDK.

Owns processes, connections and deadlines. A tool is called only when the caller allows it by name;
listing calls none. What goes wrong with one server is one line about that server, and never holds a
value that it was started with.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, cast
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, PaginatedRequestParams, jsonrpc_message_adapter

from components.environment.sources.last_words import quoted, told_noise
from components.environment.sources.listed import RawListing
from components.environment.sources.process import MAX_LINE_BYTES, ServerProcess
from components.environment.sources.quiet import quiet_sdk
from components.environment.sources.records import SourceKind
from components.environment.sources.redaction import Redactor
from components.environment.sources.server_list import (
    ServerEntry,
)
from components.environment.sources.text import clean_line
from components.errors import ToolError
from components.records.frozen import JsonObject, freeze

MAX_PAGES = 50
MAX_TOOLS = 5_000
MAX_JUNK = 100_000
"""Lines on a local server's stdout that are no protocol messages."""
MAX_ERROR = 600
"""Characters of the line about one server."""
Ask = Callable[[str, Mapping[str, Any]], Awaitable[JsonObject]]
"""Calls a tool of a server that runs."""
_JUNK_BYTES = 2_000
"""Of a line that is no message, as much is kept to be shown."""


@asynccontextmanager
async def open_server(entry: ServerEntry, timeout_seconds: float) -> AsyncIterator[Ask]:
    """Start a server and yield what calls one of its tools by the server's own name; the server is
    stopped at the end.

    An answer is `{"is_error", "structured", "text", "num_other_parts"}` (images, files); a JSON-RPC
    error to a call is one too.

    Args:
        timeout_seconds: deadline of its start, and of each answer.

    Raises:
        ToolError: the server broke down or missed a deadline.
    """
    redactor, link = Redactor(entry.secrets), _Link(entry)

    def broken(error: BaseException) -> ToolError:
        reason = _reason(error, link, timeout_seconds, is_call=True)
        return ToolError(redactor.text(f"{entry.name}: {reason}"))

    async def ask(client: Client, tool: str, arguments: Mapping[str, Any]) -> JsonObject:
        try:
            with anyio.fail_after(timeout_seconds):
                result = await client.call_tool(tool, dict(arguments))
        except MCPError as error:
            if _is_closed(error):
                raise broken(error) from None
            return _answer(redactor, True, None, error.message)
        except Exception as error:  # noqa: BLE001
            raise broken(error) from None
        texts = [part.text for part in result.content if part.type == "text"]
        others = len(result.content) - len(texts)
        structured = result.structured_content
        return _answer(redactor, bool(result.is_error), structured, "\n".join(texts), others)

    with quiet_sdk():
        try:
            with anyio.fail_after(timeout_seconds) as start:
                async with _connect(link) as client:
                    start.deadline = math.inf
                    yield partial(ask, client)
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001
            # The boundary to a foreign program: whatever breaks there is one line of data.
            inner = _innermost(error)
            raise (inner if isinstance(inner, ToolError) else broken(error)) from None


def _answer(
    redactor: Redactor, is_error: bool, structured: Any, text: str, others: int = 0
) -> JsonObject:
    body = {"is_error": is_error, "structured": structured, "text": text}
    return cast(JsonObject, freeze({**redactor.value(body), "num_other_parts": others}))


async def list_server(entry: ServerEntry, timeout_seconds: float, licence: str) -> RawListing:
    """Start a server, list its tools, stop it; what goes wrong is the listing's `error`.

    Args:
        timeout_seconds: from its start to its last page.
        licence: under which what it lists may be used, as far as it is known.
    """
    redactor = Redactor(entry.secrets)
    name = redactor.name(entry.name)
    raw = RawListing(
        name=clean_line(name),
        kind=SourceKind.HTTP if entry.url else SourceKind.STDIO,
        origin=_origin(entry),
        source=entry.source,
        licence=licence,
        redactor=redactor,
    )
    if entry.error:
        return replace(raw, error=clean_line(entry.error, MAX_ERROR))
    if entry.disabled:
        return replace(raw, error=f"{name}: disabled in the server list")
    tools: list[Any] = []
    link = _Link(entry)
    try:
        with anyio.fail_after(timeout_seconds):
            async with _connect(link) as client:
                remarks = await _list_pages(client, link.tap, tools)
                title = client.server_info.name if client.server_info else ""
                instructions = client.instructions or ""
    except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001
        # The boundary to a foreign program: whatever breaks there is one line of data.
        reason = _reason(error, link, timeout_seconds)
        if tools:
            reason = f"{reason}; {len(tools)} tools were listed before"
        return replace(raw, error=clean_line(f"{name}: {redactor.text(reason)}", MAX_ERROR))
    return replace(raw, tools=tools, title=title, description=instructions, remarks=remarks)


def _origin(entry: ServerEntry) -> str:
    """A command's name, or an address without path, query and credentials."""
    if not entry.url:
        return Path(entry.command).name
    parts = urlsplit(entry.url)
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


async def _list_pages(client: Client, tap: _Tap, tools: list[Any]) -> tuple[str, ...]:
    """Collect the raw tools of every page, as the server sent them."""
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        tools.extend(tap.take())
        cursor = page.next_cursor
        if not cursor:
            return ()
        if cursor in seen:
            return ("its list came back to a page that was read; it was ended there",)
        seen.add(cursor)
        if len(tools) > MAX_TOOLS:
            return (f"its list has more than {MAX_TOOLS} tools; it was ended there",)
    return (f"its list has more than {MAX_PAGES} pages; it was ended there",)


class _Link:
    """One connection to one server, and what is known of it when it breaks."""

    def __init__(self, entry: ServerEntry) -> None:
        self.entry = entry
        self.tap = _Tap()
        self.process: ServerProcess | None = None
        self.status = 0
        """Last HTTP status that was no success."""
        self.flaw = ""

    async def saw(self, response: httpx2.Response) -> None:
        """Note how a server answers."""
        if response.status_code >= 300:
            self.status = response.status_code


@asynccontextmanager
async def _connect(link: _Link) -> AsyncIterator[Client]:
    async with _http_client(link) as http_client:
        transport: AbstractAsyncContextManager[Any]
        if http_client is not None:
            transport = streamable_http_client(link.entry.url, http_client=http_client)
        else:
            transport = _stdio(link)
        async with Client(link.tap.over(transport), mode="legacy", cache=None) as client:
            yield client


@asynccontextmanager
async def _stdio(link: _Link) -> AsyncIterator[Any]:
    """Streams of messages to and from a local server, as the SDK wants them."""
    entry = link.entry
    env = {**get_default_environment(), **entry.env}
    link.process = process = await ServerProcess.start(entry.command, entry.args, env, entry.cwd)
    try:
        to_client, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write_stream, from_client = anyio.create_memory_object_stream[SessionMessage](0)

        async def read() -> None:
            async with to_client:
                async for line in process.lines():
                    message = _message(line)
                    if message is None:
                        if link.tap.saw_junk(line) > MAX_JUNK:
                            process.flaw = (
                                f"it wrote more than {MAX_JUNK} lines that are no messages"
                            )
                            return
                        continue
                    await to_client.send(message)

        async def write() -> None:
            async with from_client:
                async for message in from_client:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.write(text.encode("utf-8", "replace"))

        async with read_stream, write_stream, anyio.create_task_group() as tasks:
            tasks.start_soon(_until_gone, read)
            tasks.start_soon(_until_gone, write)
            yield read_stream, write_stream
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.stop()


async def _until_gone(work: Callable[[], Awaitable[None]]) -> None:
    """Run one side of a connection; the other side's end is its end."""
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await work()


def _message(line: bytes) -> SessionMessage | None:
    """Return the message of one line, or None: many servers write other things there too."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        body = json.loads(line.decode("utf-8", "replace"))
        return SessionMessage(jsonrpc_message_adapter.validate_python(body, by_name=False))
    except (ValueError, RecursionError):
        return None


@asynccontextmanager
async def _http_client(link: _Link) -> AsyncIterator[httpx2.AsyncClient | None]:
    if not link.entry.url:
        yield None
        return
    headers = {"accept-encoding": "identity", **link.entry.headers}
    async with httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(30.0),
        transport=_BoundedTransport(link),
        event_hooks={"response": [link.saw]},
    ) as client:
        yield client


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    """Ends an answer that is too long."""

    def __init__(self, link: _Link) -> None:
        super().__init__()
        self._link = link

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        response.stream = _BoundedStream(response.stream, self._link)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    """The bytes of an answer, up to a bound."""

    def __init__(self, stream: Any, link: _Link) -> None:
        self._stream, self._link = stream, link

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        async for chunk in self._stream:
            total += len(chunk)
            if total > MAX_LINE_BYTES:
                self._link.flaw = f"it sent an answer of more than {MAX_LINE_BYTES} bytes"
                raise httpx2.ReadError(self._link.flaw)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Tap:
    """Takes the raw `tools` out of answers before the SDK checks them: it drops a whole list for
    one bad tool.
    """

    def __init__(self) -> None:
        self.junk = 0
        """Lines that were no messages."""
        self.last_junk = ""
        self._tools: list[Any] = []

    def saw_junk(self, line: bytes) -> int:
        """Note a line that is no message, and return how many there were."""
        text = line[:_JUNK_BYTES].decode("utf-8", "replace")
        if text.strip():
            self.junk, self.last_junk = self.junk + 1, text
        return self.junk

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
            cursor = body.result.get("nextCursor")
            result = {**body.result, "tools": []}
            if not isinstance(cursor, str):
                result.pop("nextCursor", None)
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


def _is_closed(error: MCPError) -> bool:
    return "closed" in str(error).lower()


def _reason(
    error: BaseException, link: _Link, timeout_seconds: float, *, is_call: bool = False
) -> str:
    """Say in one line why a server could not be used. Still to be redacted by the caller."""
    error, entry = _innermost(error), link.entry
    said, redactor = _last_words(link), Redactor(entry.secrets)
    noise = told_noise(link.tap.junk, redactor.text(link.tap.last_junk))
    flaw = link.flaw or (link.process.flaw if link.process else "")
    if flaw:
        return f"{flaw}, and was given up{said}"
    if link.status:
        return f"it answered with HTTP status {link.status}{_ADVICE.get(link.status, '')}"
    if isinstance(error, TimeoutError):
        missing = "answer" if is_call else "list of tools"
        return f"no {missing} within {timeout_seconds:g} s{noise}{said}"
    if isinstance(error, OSError) and entry.cwd and not Path(entry.cwd).is_dir():
        return "its working directory was not found; correct `cwd`"
    if isinstance(error, FileNotFoundError):
        return f"its command was not found ({entry.command}); install it or correct `command`"
    if isinstance(error, OSError) and not entry.url:
        return f"it could not be started ({error.strerror or type(error).__name__})"
    if isinstance(error, MCPError) and _is_closed(error):
        done = "answered" if is_call else "listed its tools"
        status = "" if link.process is None else link.process.told_status()
        return f"it ended{status} before it had {done}{noise}{said}{_silence(link)}"
    if entry.url and not isinstance(error, MCPError):
        # The text of a transport's error quotes pieces of the address, credentials among them.
        return f"it could not be reached ({type(error).__name__}); check `url`"
    text = clean_line(redactor.text(str(error)))
    return f"{type(error).__name__}: {text}{noise}{said}"


def _silence(link: _Link) -> str:
    is_silent = link.process is not None and not link.process.last_words() and not link.tap.junk
    return "; it said nothing of why: it may keep a log of its own" if is_silent else ""


_ADVICE = {
    401: " (it wants credentials); set `headers`",
    403: " (it refuses these credentials); check `headers`",
    404: " (there is nothing at this address); check `url`",
    405: " (it takes no messages there; it may speak the older SSE transport); check `url`",
    307: " (it points elsewhere); set `url` to where it points",
    308: " (it points elsewhere); set `url` to where it points",
    301: " (it points elsewhere); set `url` to where it points",
    302: " (it points elsewhere); set `url` to where it points",
}


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def _last_words(link: _Link) -> str:
    """Return what the server said last on stderr, as the end of a message."""
    said = "" if link.process is None else link.process.last_words()
    return f"; its last words: {quoted(Redactor(link.entry.secrets).text(said))}" if said else ""
