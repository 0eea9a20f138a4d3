"""Claims about recordings as a source: what a user names, sees, and is told of a mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loop.__main__ import main
from tests.environment.recorded.notes import PROSE, TEXT, TOOLS, Lines, recorded, tool


def made(tmp_path: Path, *recordings: Path, **more: str) -> dict[str, Any]:
    """Make services on the command line and return the spec of the only one."""
    files = ",".join(f"'{path}'" for path in recordings)
    out = tmp_path / "services"
    words = [f"{name}={value}" for name, value in more.items()]
    words += [f"out='{out}'", f"runs_dir='{tmp_path / 'runs'}'"]
    if recordings:
        words.append(f"environment.recordings=[{files}]")
    assert main(["synthesize", *words]) == 0
    (home,) = out.iterdir()
    found: dict[str, Any] = json.loads((home / "spec.json").read_text())
    return found


def test_another_recording_of_the_same_specification_is_another_service(tmp_path: Path) -> None:
    specs = tmp_path / "specs.jsonl"
    specs.write_text(json.dumps({"server": "notes", "tools": TOOLS}))
    source = {"environment.sources": f"[{{kind: jsonl, path: '{specs}'}}]"}
    one = recorded(tmp_path / "one.jsonl", PROSE)
    saved: Lines = [("delete_note", {"name": "milk"}, "Gone.")]
    two = recorded(tmp_path / "two.jsonl", saved)

    alone = made(tmp_path, **source)
    first = made(tmp_path, one, **source)
    second = made(tmp_path, two, **source)

    told = [spec["tools"]["delete_note"]["observed"] for spec in (alone, first, second)]
    assert told[0] is None
    assert told[1]["says"] != told[2]["says"]


def test_two_recordings_of_one_server_are_one_lesson(tmp_path: Path) -> None:
    one = recorded(tmp_path / "one.jsonl", PROSE)
    two = recorded(tmp_path / "two.jsonl", PROSE, PROSE)

    spec = made(tmp_path, one, two)

    assert spec["tools"]["create_note"]["observed"]["num_calls"] == 6


@pytest.mark.parametrize(
    ("verb", "more"),
    [("synthesize", []), ("evolve", ["run=a", "+round=0", "policy=scripted", "tracking=none"])],
)
def test_a_mistake_in_a_recording_is_one_line_with_its_place(
    verb: str, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded(tmp_path / "answers.jsonl", PROSE)
    path.write_text(path.read_text() + '{"server": "notes", "tool": "get_note"}\n')
    words = [f"environment.recordings=['{path}']", f"runs_dir='{tmp_path / 'runs'}'", *more]

    assert main([verb, *words]) == 2

    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "environment.recordings[0]: " in line
    assert "answers.jsonl: line 7: sequence: " in line


def test_a_round_uses_what_was_observed_and_show_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = dict.fromkeys(("query", "author", "status", "since", "until", "colour"), TEXT)
    search = tool("search_notes", "Search notes by text.", [], **words)
    path = recorded(tmp_path / "answers.jsonl", PROSE, tools=[*TOOLS, search])
    where = ["run=a", f"runs_dir='{tmp_path / 'runs'}'"]
    small = ["scale=smoke", "task.count=1", "policy=scripted", "tracking=none", "faults=none"]

    recordings = f"environment.recordings=['{path}']"
    assert main(["evolve", "+round=0", recordings, *small, *where]) == 0
    capsys.readouterr()
    assert main(["show", "service=notes", *where]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert "outputs observed: 2 recorded calls; the shape of its answers is from there" in shown
    assert "outputs observed: its server's manner" in shown
    assert "What each tool was taken for" in shown
    assert "read as" in shown, "the compilation is found by the spec that the round holds"
