"""One list of sources: every kind, one broken part costs no other, nothing starts unasked."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from components.environment.sources.config import DiscoverSource, JsonlSource, Source
from components.environment.sources.discovery import discover_servers
from components.environment.sources.read import read_sources
from components.errors import SpecError

BAD = Path(__file__).parent / "bad_server.py"
TOOL = {"name": "get_x", "inputSchema": {"type": "object"}}
SOURCES: TypeAdapter[list[Source]] = TypeAdapter(list[Source])
DAY = "2026-01-31"


def write(path: Path, body: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(body if isinstance(body, str) else json.dumps(body), encoding="utf-8")
    return str(path)


async def test_sources_of_all_kinds_are_read_into_one_list(tmp_path: Path) -> None:
    lines = [
        {"server": "Notes", "category": "x", "tools": [TOOL], "license": "MIT"},
        {"name": "Mail", "tools": [TOOL, 5]},
        {"tools": [TOOL]},
        [TOOL],
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}},
        {"server": "None", "tools": None},
        {"server": "Empty", "tools": []},
        {"server": "Other"},
    ]
    text = "\n".join([*map(json.dumps, lines), "{broken", "", "5"])
    with gzip.open(tmp_path / "many.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    sources = SOURCES.validate_python(
        [
            {"kind": "jsonl", "path": str(tmp_path / "many.jsonl.gz"), "licence": "CC0"},
            {"kind": "tools_list", "path": write(tmp_path / "one.json", {"tools": [TOOL]})},
            {
                "kind": "openapi",
                "path": write(
                    tmp_path / "api.json",
                    {"openapi": "3.1.0", "info": {"title": "Api"}, "paths": {"/x": {"get": {}}}},
                ),
            },
            {
                "kind": "mcp_config",
                "path": write(
                    tmp_path / "mcp.json",
                    {"mcpServers": {"live": {"command": sys.executable, "args": [str(BAD), "ok"]},
                                    "gone": {"command": "no-such-program"}}},
                ),
            },
        ]
    )  # fmt: skip

    listed = await read_sources(sources, 20, date=DAY)

    cards = [server.card for server in listed if server.card is not None]
    assert [(card.service, card.kind.value, card.licence) for card in cards] == [
        ("notes", "jsonl", "MIT"),
        ("mail", "jsonl", "CC0"),
        ("many_3", "jsonl", "CC0"),
        ("many_4", "jsonl", "CC0"),
        ("many_5", "jsonl", "CC0"),
        ("one", "tools_list", "unknown"),
        ("api", "openapi", "unknown"),
        ("live", "stdio", "unknown"),
    ]
    assert all(card.date == DAY and len(card.spec_hash) == 64 for card in cards)
    assert (cards[1].num_listed, cards[1].num_tools) == (2, 1)
    errors = {server.name: server.error for server in listed if server.error}
    assert set(errors) == {"None", "Empty", "Other", "many_9", "many_10", "gone"}
    assert "not valid JSON" in errors["many_9"]


async def test_names_do_not_depend_on_the_order_of_sources(tmp_path: Path) -> None:
    other = {**TOOL, "name": "other"}
    one = JsonlSource(path=write(tmp_path / "a.jsonl", {"server": "Notes", "tools": [TOOL]}))
    two = JsonlSource(path=write(tmp_path / "b.jsonl", {"server": "Notes", "tools": [other]}))

    first = await read_sources([one, two], 1, date=DAY)
    second = await read_sources([two, one], 1, date=DAY)

    assert {server.spec.service for server in first if server.spec} == {"notes", "notes_2"}
    assert [server.spec for server in first] == [server.spec for server in reversed(second)]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"kind": "jsonl", "path": "none.jsonl"}, "none.jsonl: cannot be read"),
        ({"kind": "tools_list", "path": "servers.json"}, "use kind: mcp_config"),
        ({"kind": "mcp_config", "path": "tools.json"}, '"mcpServers" must be an object'),
        ({"kind": "mcp_config", "path": "servers.json", "servers": ["b"]}, "has no server 'b'"),
        ({"kind": "openapi", "path": "tools.json"}, "must be an OpenAPI 3 document"),
        ({"kind": "discover", "start": ["cursor:x"]}, "there is no server 'cursor:x' here"),
    ],
)
async def test_a_source_that_cannot_be_meant_names_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: dict[str, Any], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "servers.json", {"mcpServers": {"a": {"command": "x"}}})
    write(tmp_path / "tools.json", {"tools": [TOOL]})

    with pytest.raises(SpecError) as caught:
        await read_sources(SOURCES.validate_python([source]), 1, date=DAY, home=tmp_path)

    assert str(caught.value).startswith("environment.sources[0]: ")
    assert says in str(caught.value)


def test_an_unknown_kind_or_key_is_refused() -> None:
    for body in ({"kind": "magic"}, {"kind": "jsonl"}, {"kind": "jsonl", "path": "x", "pth": 1}):
        with pytest.raises(ValidationError):
            SOURCES.validate_python([body])


def home_of_clients(home: Path) -> None:
    """The files of a person with many clients, each in its own words."""
    run = {"command": "run", "args": ["--token", "opal-22"]}
    write(home / ".cursor/mcp.json", {"mcpServers": {"a": run}})
    write(
        home / ".claude.json",
        {
            "mcpServers": {"b": run},
            "projects": {
                "/p": {"mcpServers": {"c": {"type": "http", "url": "https://x.invalid/mcp"}}}
            },
        },
    )
    write(
        home / ".config/Code/User/mcp.json",
        '{ // mine\n "servers": {"d": {"type": "stdio", "command": "run",},}, "inputs": [], }',
    )
    write(home / ".config/Code/User/settings.json", {"mcp": {"servers": {"e": run}}})
    write(
        home / ".config/zed/settings.json",
        {
            "context_servers": {
                "f": {
                    "source": "custom",
                    "enabled": False,
                    "command": {"path": "run", "args": ["x"]},
                }
            }
        },
    )
    write(
        home / ".codeium/windsurf/mcp_config.json",
        {"mcpServers": {"g": {"serverUrl": "https://x.invalid/mcp"}}},
    )
    write(home / ".gemini/settings.json", {"mcpServers": {"h": {"httpUrl": "https://x.invalid"}}})
    write(home / ".codex/config.toml", '[mcp_servers.i]\ncommand = "run"\nargs = ["x"]\n')
    write(home / ".continue/config.yaml", "mcpServers:\n  - name: j\n    command: run\n")
    write(
        home / ".cline/data/settings/cline_mcp_settings.json",
        {"mcpServers": {"k": {**run, "disabled": True}}},
    )
    write(home / ".copilot/mcp-config.json", "{broken")
    write(home / ".lmstudio/mcp.json", {"mcpServers": {}})


def test_servers_of_known_clients_are_found_in_each_clients_words(tmp_path: Path) -> None:
    home_of_clients(tmp_path)

    found = discover_servers(tmp_path, "linux", {})

    assert [server.name for server in found] == [
        "claude-code:b", "claude-code:c", "cursor:a", "vscode:d", "vscode:e",
        "copilot-cli:mcp-config.json", "windsurf:g", "cline:k", "zed:f", "continue:j",
        "gemini-cli:h", "codex:i",
    ]  # fmt: skip
    entries = {server.entry.name: server.entry for server in found}
    assert entries["f"].args == ("x",)
    assert entries["f"].disabled
    assert entries["k"].disabled
    assert entries["g"].url == "https://x.invalid/mcp"
    assert entries["i"].command == "run"
    assert "not valid JSON" in entries["mcp-config.json"].error
    assert "opal-22" not in repr(found)


@pytest.mark.parametrize(
    ("platform", "place", "environment"),
    [
        ("darwin", "Library/Application Support/Claude/claude_desktop_config.json", {}),
        ("win32", "AppData/Roaming/Claude/claude_desktop_config.json", {}),
        ("win32", "moved/Claude/claude_desktop_config.json", {"APPDATA": "moved"}),
        ("linux", ".config/Claude/claude_desktop_config.json", {}),
        ("linux", "xdg/Claude/claude_desktop_config.json", {"XDG_CONFIG_HOME": "xdg"}),
    ],
)
def test_each_platform_has_its_places(
    tmp_path: Path, platform: str, place: str, environment: dict[str, str]
) -> None:
    write(tmp_path / place, {"mcpServers": {"a": {"command": "x"}}})
    folders = {key: str(tmp_path / value) for key, value in environment.items()}

    (found,) = discover_servers(tmp_path, platform, folders)

    assert found.name == "claude-desktop:a"


async def test_what_is_found_is_named_and_only_what_is_chosen_is_started(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    script = f"open({str(mark)!r}, 'w').close()"
    servers = {
        "chosen": {"command": sys.executable, "args": [str(BAD), "ok"]},
        "left": {"command": sys.executable, "args": ["-c", script]},
    }
    write(tmp_path / ".cursor/mcp.json", {"mcpServers": servers})

    listed = await read_sources(
        [DiscoverSource(start=("cursor:chosen",))],
        20,
        date=DAY,
        home=tmp_path,
        platform="linux",
        environment={},
    )

    assert [(server.name, server.spec is None) for server in listed] == [
        ("chosen", False),
        ("left", True),
    ]
    assert "not started, since `start` does not name it" in listed[1].error
    assert not mark.exists()
