"""Real servers over stdio and HTTP: what is listed, what a broken one costs, what never leaks."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest
import uvicorn

from components.environment.sources.listed import ListedServer
from components.environment.sources.listing import spec_from_listing
from components.environment.sources.live import list_servers
from components.environment.sources.names import service_name
from components.environment.sources.redaction import Redactor
from components.environment.sources.schemas import clean_schema
from components.environment.sources.server_calls import call_server
from components.environment.sources.server_list import read_server_list
from components.errors import SpecError
from components.records.base import to_json
from components.records.frozen import thaw
from tests.servers.notes_server import notes_server

SERVERS = Path(__file__).parents[2] / "servers"
CANARY = "canary-7f3e9b21/Key+x="


def write_list(folder: Path, servers: dict[str, Any]) -> Path:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


def raw(mode: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVERS / "raw_server.py"), mode], **more}


def by_name(listed: tuple[ListedServer, ...]) -> dict[str, ListedServer]:
    return {server.name: server for server in listed}


async def test_notes_server_is_listed_over_all_its_pages(tmp_path: Path) -> None:
    path = write_list(
        tmp_path,
        {"My Notes": {"command": sys.executable, "args": [str(SERVERS / "notes_server.py")]}},
    )

    (listed,) = await list_servers(path, 20)

    assert listed.error == ""
    assert listed.spec is not None
    assert listed.spec.service == "my_notes"
    assert listed.spec.domain == "external"
    assert listed.spec.source == "stdio:My Notes"
    assert sorted(listed.spec.tools) == [
        "add_tag",
        "create_note",
        "delete_note",
        "get_note",
        "import_notes_tree",
        "list_notes",
        "search_notes",
        "search_web",
        "update_note",
    ]
    assert listed.spec.tools["get_note"].input_schema["required"] == ("note_id",)
    assert listed.spec.tools["get_note"].annotations["readOnlyHint"] is True
    for tool in listed.spec.tools.values():
        jsonschema_rs.validator_for(thaw(tool.input_schema))


async def test_each_broken_server_costs_one_line_and_the_others_go_on(tmp_path: Path) -> None:
    path = write_list(
        tmp_path,
        {
            "hang": raw("hang"),
            "crash": raw("crash"),
            "junk": raw("junk"),
            "messy": raw("messy"),
            "refuse": raw("refuse"),
            "missing": {"command": "no-such-program-here"},
            "off": raw("junk", disabled=True),
            "nobody": {"url": "http://127.0.0.1:9/mcp"},
        },
    )
    started = time.perf_counter()

    found = by_name(await list_servers(path, 2))

    assert time.perf_counter() - started < 12
    assert found["hang"].error == "hang: no list of tools within 2 s"
    assert found["crash"].error.startswith(
        "crash: it ended with exit status 3 before it had listed its tools"
    )
    assert "RuntimeError" in found["crash"].error
    assert "command was not found" in found["missing"].error
    assert found["off"].error == "off: disabled in the server list"
    assert "was refused" in found["refuse"].error
    assert found["nobody"].error.startswith("nobody: ")
    assert found["junk"].spec is not None
    assert found["messy"].spec is not None
    for server in found.values():
        assert "\n" not in server.error
        assert (server.spec is None) is bool(server.error)


async def test_messy_tools_are_mended_or_left_out_one_by_one(tmp_path: Path) -> None:
    (listed,) = await list_servers(write_list(tmp_path, {"messy": raw("messy")}), 20)

    assert listed.spec is not None
    tools = listed.spec.tools
    long_name = next(name for name in tools if name.startswith("xxx"))
    assert len(f"messy__{long_name}") == 64
    assert set(tools) == {
        "null_properties", "no_schema", "null_schema", "boolean_schema", "list_schema", "odd",
        long_name,
    }  # fmt: skip
    assert [tool.reason.value for tool in listed.quarantined] == [
        "duplicate_name",
        "no_name",
        "not_a_tool",
    ]
    for tool in tools.values():
        assert tool.input_schema["type"] == "object"
        jsonschema_rs.validator_for(thaw(tool.input_schema))
    odd = tools["odd"].input_schema
    assert odd["properties"]["b"] == {"not": {}}
    assert odd["properties"]["c"] == {}
    assert odd["properties"]["d"] == {"type": "string"}
    assert odd["properties"]["e"] == {"type": "array", "prefixItems": ({"type": "integer"},)}
    assert odd["properties"]["f"] == {"type": "number", "exclusiveMinimum": 3}
    assert odd["properties"]["g"] == odd["properties"]["h"] == {}
    assert odd["required"] == ("a", "nowhere", "d")


async def test_endless_paging_ends(tmp_path: Path) -> None:
    path = write_list(tmp_path, {"endless": raw("endless")})

    (listed,) = await list_servers(path, 20, date="2026-01-31")

    assert listed.spec is not None
    assert listed.card is not None
    assert listed.card.remarks == ("its list has more than 50 pages; it was ended there",)
    assert list(listed.spec.tools) == ["get_thing"]


async def test_no_value_of_env_or_headers_reaches_record_error_log_or_stderr(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    env = {"SECRET": CANARY}
    headers = {"Authorization": f"Bearer {CANARY}"}
    servers = {f"{mode}-server": raw(mode, env=env) for mode in ("leak", "crash", "refuse", "junk")}
    user, key = quote(CANARY, safe=""), quote(CANARY, safe="")
    servers["web"] = {"url": f"http://me:{user}@127.0.0.1:9/?key={key}", "headers": headers}
    servers[f"named {CANARY}"] = raw("hang", env=env)
    path = write_list(tmp_path, servers)

    with caplog.at_level(logging.DEBUG):
        listed = await list_servers(path, 2)

    texts = [caplog.text, *capfd.readouterr()]
    for server in listed:
        texts += [server.name, server.error, *server.notes, repr(server)]
        texts.append(json.dumps(to_json(server.spec)) if server.spec else "")
    texts += [repr(entry) for entry in read_server_list(path) if CANARY not in entry.name]
    for text in texts:
        assert "canary-7f3e9" not in text.lower()
        assert Redactor([CANARY]).text(text) == text
    leak = next(server for server in listed if server.name == "leak-server")
    assert leak.spec is not None
    assert leak.spec.tools["echo"].description == "Uses key *** (***)."
    (parameter,) = leak.spec.tools["echo"].input_schema["required"]
    assert parameter.startswith("parameter_")


async def test_a_tool_is_called_only_when_it_is_allowed(tmp_path: Path) -> None:
    server = {"command": sys.executable, "args": [str(SERVERS / "notes_server.py")]}
    path = write_list(tmp_path, {"notes": server})
    calls: list[tuple[str, dict[str, Any]]] = [
        ("create_note", {"title": "a", "body": "b"}),
        ("get_note", {"note_id": "note_1"}),
        ("get_note", {"note_id": "note_9"}),
    ]

    with pytest.raises(SpecError, match=r"notes\.get_note may not be called"):
        await call_server(path, "notes", calls, 20, allow_calls=frozenset({"notes.create_note"}))
    answers = await call_server(
        path, "notes", calls, 20, allow_calls=frozenset({"notes.create_note", "notes.get_note"})
    )

    assert [answer["is_error"] for answer in answers] == [False, False, True]
    assert answers[1]["structured"]["title"] == "a"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("{}", 'needs a key "mcpServers"'),
        ('{"mcpServers": []}', '"mcpServers" must be an object'),
        ('{"mcpServers": {}}', "names no server"),
        ('{"mcpServers": {"a": 3}}', "mcpServers.a: must be an object"),
        ('{"mcpServers": {"a": {}}}', "exactly one of"),
        (
            '{"mcpServers": {"a": {"command": "x", "args": "y"}}}',
            "mcpServers.a.args: must be a list",
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "env": {"K": []}}}}',
            "mcpServers.a.env.K: must be",
        ),
        ('{"mcpServers": {"a": {"command": "${SELVAGE_NOT_SET}"}}}', "SELVAGE_NOT_SET is not set"),
        ('{"mcpServers": {"a": {"url": "ftp://x"}}}', "mcpServers.a.url: must be an address"),
        ('{"mcpServers": {"a": {"url": "http://a:b/c@x"}}}', "mcpServers.a.url: must be"),
        ('{"mcpServers": {"a": {"url": "http://x", "type": "sse"}}}', "mcpServers.a.type"),
    ],
)
async def test_a_wrong_server_list_is_one_line_with_file_and_key(
    tmp_path: Path, body: str, says: str
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(body, encoding="utf-8")

    with pytest.raises(SpecError) as caught:
        await list_servers(path, 1)

    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert says in message
    assert "\n" not in message


async def test_a_missing_file_is_a_spec_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        await list_servers(tmp_path / "none.json", 1)


def test_variables_are_expanded_and_count_as_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SELVAGE_TEST_KEY", "swordfish-1")
    server = {"command": "x", "args": ["--token", "opal-22", "${SELVAGE_TEST_KEY}", "${NONE:-d}"]}

    (entry,) = read_server_list(write_list(tmp_path, {"a": server}))

    assert entry.args == ("--token", "opal-22", "swordfish-1", "d")
    assert {"swordfish-1", "opal-22"} <= set(entry.secrets)


async def test_saved_listings_need_no_server(tmp_path: Path) -> None:
    saved = tmp_path / "list.jsonl"
    line = json.dumps({"server": "One", "tools": [{"name": "get_x", "inputSchema": {}}]})
    saved.write_text(f"{line}\n{line}\n" + json.dumps({"server": "Two", "tools": None}), "utf-8")

    listed = await list_servers(saved, 1)

    assert [server.spec.service if server.spec else "" for server in listed] == ["one", "one_2", ""]
    assert listed[2].error == "Two: the server's answer has no list of tools"


def test_words_that_everybody_writes_stay_in_names_and_schema_keywords() -> None:
    redactor = Redactor(["info", "string", "prod-9"])
    tool = {
        "name": "get_user_info",
        "description": "info",
        "inputSchema": {"properties": {"prod-9": {"type": "string"}}, "required": ["prod-9"]},
    }

    assert redactor.value(tool) == {
        "name": "get_user_info",
        "description": "***",
        "inputSchema": {"properties": {"***": {"type": "string"}}, "required": ["***"]},
    }


def test_service_names_are_normal_and_unique() -> None:
    assert service_name("GitHub (v2)!") == "github_v2"
    assert service_name("42", ["s_42"]) == "s_42_2"
    assert service_name("\u65e5\u672c") == "s"
    assert len(service_name("a" * 80)) == 24


def test_a_list_without_a_usable_tool_is_refused() -> None:
    with pytest.raises(SpecError, match="lists no tool"):
        spec_from_listing("x", [{"name": " "}])


def test_a_schema_deeper_than_any_model_reads_is_left_out() -> None:
    schema: Any = {"type": "string"}
    for _ in range(200):
        schema = {"type": "object", "properties": {"x": schema}}

    listing = spec_from_listing("x", [{"name": "deep", "inputSchema": schema}, {"name": "ok"}])

    assert list(listing.spec.tools) == ["ok"]
    assert len(listing.notes) == 1


def test_recursive_definitions_survive_cleaning() -> None:
    tree = {"type": "object", "properties": {"kids": {"items": {"$ref": "#/$defs/tree"}}}}

    schema = clean_schema({"properties": {"t": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}})

    assert jsonschema_rs.validator_for(schema).is_valid({"t": {"kids": [{"kids": []}]}})


async def test_a_server_behind_an_address_is_listed_with_its_headers(tmp_path: Path) -> None:
    seen: list[str] = []
    app = notes_server().streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers") or ())
        seen.append(headers.get(b"authorization", b"").decode())
        await app(scope, receive, send)

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        config = uvicorn.Config(guarded, log_level="critical", ws="none")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        headers = {"Authorization": "Bearer opal-77"}
        entry = {"url": f"http://127.0.0.1:{port}/mcp", "headers": headers}

        (listed,) = await list_servers(write_list(tmp_path, {"web notes": entry}), 15)

        server.should_exit = True
        await serving
    assert listed.error == ""
    assert listed.spec is not None
    assert listed.spec.source == "http:web notes"
    assert len(listed.spec.tools) == 9
    assert "Bearer opal-77" in seen


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"mcpServers": {"a": {"command": "x", "disabled": "no"}}}', "disabled: must be true or"),
        ("9" * 5000, "a number with too many digits"),
    ],
)
def test_a_file_that_could_be_misread_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)

    with pytest.raises(SpecError, match=problem):
        read_server_list(path)


async def test_a_working_directory_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    (listed,) = await list_servers(
        write_list(tmp_path, {"lost": raw("messy", cwd=str(tmp_path / "none"))}), 5
    )

    assert listed.error == "lost: its working directory was not found; correct `cwd`"
