"""Servers that break in the middle: each is one line, the others go on, nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from components.environment.sources.config import McpConfigSource
from components.environment.sources.listed import ListedServer
from components.environment.sources.live import list_servers
from components.environment.sources.read import read_sources

BAD = Path(__file__).parent / "bad_server.py"


def bad(mode: str, *more: str, **keys: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(BAD), mode, *more], **keys}


async def listed(
    tmp_path: Path, servers: dict[str, Any], seconds: float = 20
) -> dict[str, ListedServer]:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    found = await list_servers(path, seconds, date="2026-01-31")
    for server in found:
        assert "\n" not in server.error
        assert (server.spec is None) is bool(server.error)
    return {server.name: server for server in found}


def is_alive(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def test_each_fault_in_mid_listing_is_one_line_and_the_good_server_is_listed(
    tmp_path: Path,
) -> None:
    modes = ("half", "circle", "deep", "halves", "number", "nolist", "shout", "needs", "good")

    found = await listed(tmp_path, {mode: bad(mode) for mode in modes})

    assert found["half"].error == (
        "half: it ended with exit status 1 before it had listed its tools; its last words: "
        '"Traceback: second page"; 1 tools were listed before'
    )
    assert found["nolist"].error.startswith("nolist: ")
    assert found["needs"].error.endswith(
        'its last words: "the environment variable WANTED is not set"'
    )
    tools = {name: sorted(server.spec.tools) for name, server in found.items() if server.spec}
    assert tools == {
        "circle": ["page_1", "page_2"],
        "deep": ["one", "two"],
        "halves": ["a", "b"],
        "number": ["one"],
        "shout": ["one"],
        "good": ["one"],
    }
    assert [tool.reason.value for tool in found["deep"].quarantined] == ["too_deep"]
    card = found["circle"].card
    assert card is not None
    assert card.remarks == ("its list came back to a page that was read; it was ended there",)
    assert card.tool_names == {}


async def test_a_missing_variable_can_be_given(tmp_path: Path) -> None:
    found = await listed(tmp_path, {"needs": bad("needs", env={"WANTED": "1"})})

    assert found["needs"].error == ""


async def test_a_server_that_wants_a_setting_is_told_in_its_own_words(tmp_path: Path) -> None:
    servers = {
        "usage": bad("usage"),
        "secret": bad("usage", env={"WANTED": "Error: s3cret-token is refused"}),
        "my-empty": bad("empty"),
        "mute": {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]},
    }

    found = await listed(tmp_path, servers)

    usage = 'a line on its stdout was no protocol message: "usage: bad_server mcp"'
    assert found["usage"].error == (
        f"usage: it ended with exit status 1 before it had listed its tools; {usage}"
    )
    assert found["secret"].error.endswith(f'{usage}; its last words: "***"')
    assert found["mute"].error == (
        "mute: it ended with exit status 3 before it had listed its tools; it said nothing of why: "
        "it may keep a log of its own"
    )
    assert found["my-empty"].error == (
        "my-empty: the server lists no tools; it may want a setting first (`args` or `env`)"
    )


async def test_listing_tells_how_many_are_done_and_which_are_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"late": bad("late"), "good": bad("good")}}))
    told: list[tuple[int, int, str]] = []
    source = McpConfigSource(kind="mcp_config", path=str(path))

    await read_sources([source], 20, date="2026-01-31", progress=lambda *item: told.append(item))

    assert told[-1] == (2, 2, "")
    assert (0, 2, "good, late") in told
    assert (1, 2, "late") in told


async def test_a_line_without_end_is_given_up_in_bounded_memory(tmp_path: Path) -> None:
    found = await listed(tmp_path, {"flood": bad("flood"), "good": bad("good")})

    assert found["flood"].error.startswith("flood: it wrote a line of more than 32000000 bytes")
    assert found["good"].error == ""


async def test_noise_without_end_ends_and_does_not_starve_the_others(tmp_path: Path) -> None:
    found = await listed(tmp_path, {"noise": bad("noise"), "late": bad("late")}, 20)

    assert found["noise"].error.startswith(
        "noise: it wrote more than 100000 lines that are no messages"
    )
    assert found["late"].error == ""


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="needs /proc to look for processes"
)
async def test_a_child_that_outlives_its_server_is_ended_too(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    found = await listed(tmp_path, {"orphan": bad("orphan", str(note))})

    assert found["orphan"].error == ""
    await asyncio.sleep(0.1)
    assert not is_alive(int(note.read_text()))


async def test_a_server_that_will_not_end_is_ended(tmp_path: Path) -> None:
    started = time.perf_counter()

    found = await listed(tmp_path, {"deaf": bad("deaf")})

    assert found["deaf"].error == ""
    assert time.perf_counter() - started < 8


async def test_a_wrong_entry_costs_the_other_entries_nothing(tmp_path: Path) -> None:
    servers = {
        "old": {"url": "https://server.invalid/sse", "type": "sse"},
        "asks": {"command": "x", "env": {"KEY": "${input:key}"}},
        "empty": {},
        "good": bad("good"),
    }

    found = await listed(tmp_path, servers)

    assert "only `http` (streamable HTTP)" in found["old"].error
    assert "${input:key} is known to its client only" in found["asks"].error
    assert "exactly one of `command`" in found["empty"].error
    assert found["good"].error == ""


Reply = tuple[str, bytes]
"""Head of an HTTP answer behind its version, and its body."""


@asynccontextmanager
async def web(reply: Callable[[str], Reply]) -> AsyncIterator[str]:
    """A web server that answers every request alike; yields its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = [line for line in head.lower().split("\r\n") if "content-length" in line]
            body = await reader.readexactly(int(length[0].partition(":")[2]) if length else 0)
            first, content = reply(body.decode())
            size = (
                "" if "content-length" in first.lower() else f"Content-Length: {len(content)}\r\n"
            )
            writer.write(f"HTTP/1.1 {first}\r\n{size}Connection: close\r\n\r\n".encode() + content)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()


JSON_HEAD = "200 OK\r\nContent-Type: application/json"


@pytest.mark.parametrize(
    ("head", "body", "says"),
    [
        ("401 Unauthorized", b"", "HTTP status 401 (it wants credentials); set `headers`"),
        ("403 Forbidden", b"", "HTTP status 403"),
        ("404 Not Found", b"<html>", "HTTP status 404"),
        ("405 Method Not Allowed", b"", "older SSE transport"),
        ("500 Internal Server Error", b"{}", "HTTP status 500"),
        ("302 Found\r\nLocation: https://other.invalid/", b"", "(it points elsewhere)"),
        (
            "307 Temporary Redirect\r\nLocation: https://other.invalid/",
            b"",
            "(it points elsewhere)",
        ),
        ("200 OK\r\nContent-Type: text/html", b"<html>hello</html>", ""),
        (JSON_HEAD, b"not json", ""),
        (JSON_HEAD, b"[]", ""),
        (
            f"{JSON_HEAD}\r\nContent-Length: 40000000",
            b"[" + b" " * 39_999_999,
            "more than 32000000",
        ),
        ("200 OK\r\nContent-Type: text/event-stream", b"event: message\ndata: {]\n\n", ""),
    ],
)
async def test_a_web_server_that_answers_wrongly_is_one_line(
    tmp_path: Path, head: str, body: bytes, says: str
) -> None:
    async with web(lambda _: (head, body)) as address:
        found = await listed(tmp_path, {"web": {"url": address}}, 4)

    assert found["web"].error.startswith("web: ")
    assert says in found["web"].error
