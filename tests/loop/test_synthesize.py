"""Claims about making services from the command line: what is shown, written, counted, and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loop.__main__ import main

TEXT = {"type": "string"}


def tool(name: str, /, *required: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": "", "inputSchema": schema}


NOTES = [
    tool("create_note", "title", "body", title=TEXT, body=TEXT),
    tool("get_note", "note_id", note_id=TEXT),
    tool("list_notes", status={"type": "string", "enum": ["open", "done"]}),
    tool("update_note", "note_id", note_id=TEXT, title=TEXT, body=TEXT),
    tool("delete_note", "note_id", note_id=TEXT),
]
BROKEN = [{"name": "", "inputSchema": None}]


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    path = tmp_path / "specs.jsonl"
    lines = [{"server": "Notes", "tools": NOTES}, {"server": "Broken", "tools": BROKEN}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_each_service_is_a_folder_and_a_line(
    specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "services"
    source = f"environment.sources=[{{kind: jsonl, path: '{specs}'}}]"

    assert main(["synthesize", source, f"out='{out}'", f"runs_dir='{tmp_path / 'runs'}'"]) == 0

    shown = capsys.readouterr().out
    assert "notes" in shown
    assert "Broken" in shown
    files = sorted(path.name for path in (out / "notes").iterdir())
    assert files == ["blueprint.json", "card.json", "seed.json", "spec.json", "tools.json"]
    why = json.loads((out / "notes" / "tools.json").read_text())
    assert set(why) == {item["name"] for item in NOTES}
    assert "names the note" in why["get_note"]
    card = json.loads((out / "notes" / "card.json").read_text())
    assert card["licence"] == "unknown"
    assert card["num_tools"] == len(NOTES)


def test_without_a_source_the_line_says_which_key_to_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["synthesize"]) == 2

    assert "environment.mcp_config" in capsys.readouterr().err


def test_every_tool_of_the_file_is_counted_once_and_compiled_once(
    specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.jsonl"
    label = {
        "functional": "read", "operation": "get", "identifier": ["note_id"], "deterministic": True,
    }  # fmt: skip
    labels.write_text(json.dumps({"server": "Notes", "name": "get_note", "label": label}) + "\n")
    found: list[dict[str, Any]] = []
    for _ in range(2):
        out = tmp_path / "figures.json"
        arguments = [f"path='{specs}'", f"labels='{labels}'", f"out='{out}'"]
        assert main(["bench", "specs", *arguments, f"runs_dir='{tmp_path / 'runs'}'"]) == 0
        found.append(json.loads(out.read_text()))
    capsys.readouterr()

    first, again = found
    kinds = ("tools_deterministic", "tools_simulated", "tools_quarantined")
    assert first["servers_total"] == 2
    assert first["tools_total"] == len(NOTES) + len(BROKEN) == sum(first[kind] for kind in kinds)
    assert first["labels"]["operation"] == {"of": 1, "right": 1, "share": 1.0}
    assert first["labels"]["identifiers"]["right"] == 1
    assert (first["from_cache"], again["from_cache"]) == (0, 1)
    timed = {"seconds", "cpu_seconds", "from_cache"}
    assert {k: v for k, v in first.items() if k not in timed} == {
        k: v for k, v in again.items() if k not in timed
    }


def test_a_damaged_compilation_is_made_anew(
    specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["bench", "specs", f"path='{specs}'", f"runs_dir='{tmp_path}'"]
    assert main(arguments) == 0
    (kept,) = (tmp_path / "store" / "services").rglob("*.json")
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])

    assert main(arguments) == 0

    assert kept.read_bytes() == whole
    capsys.readouterr()


def test_where_nothing_can_be_listed_the_verb_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = tmp_path / "mcp.json"
    servers.write_text(json.dumps({"mcpServers": {"a": {"command": "nosuchprogram"}}}))

    status = main(
        ["synthesize", f"environment.mcp_config='{servers}'", f"runs_dir='{tmp_path / 'runs'}'"]
    )

    told = capsys.readouterr()
    assert status == 2
    assert "nosuchprogram" in told.out
    assert "none of the servers could be listed" in told.err
