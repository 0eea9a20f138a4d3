"""`compose` and `certify`: a set is complete or begun, certified again as it was, and shown."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from loop.__main__ import main

KEYS = (
    "environment.services=[directory,helpdesk,mail]", "task.k=2", "task.walk_length=4",
    "task.distractors=1", "compute=local",
)  # fmt: skip


def compose(folder: Path, count: int, *more: str) -> int:
    keys = (*KEYS, f"task.count={count}", f"out='{folder}'", f"runs_dir='{folder.parent / 'runs'}'")
    return main(["compose", *keys, *more])


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "tasks.jsonl").read_bytes().splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compose") / "tasks"
    assert compose(folder, 8) == 0
    return folder


def test_a_set_holds_what_was_asked_for(made: Path) -> None:
    tasks = lines_of(made)
    card = json.loads((made / "card.json").read_text(encoding="utf-8"))

    assert len({line["task"]["task_id"] for line in tasks}) == 8
    for line in tasks:
        assert len(line["task"]["gold"]) == 4
        assert len(line["task"]["world"]["services"]) == 2
        assert len(line["task"]["world"]["distractors"]) == 1
    assert card["measures"]["tasks"] == 8
    assert card["measures"]["calls"] == 32
    assert card["drafted"] == 8 + sum(card["rejected"].values())
    assert sum(card["splits"].values()) == 8
    assert {item["licence"] for item in card["services"].values()} == {"as this project"}
    assert not list(made.glob("drafts*"))


def test_a_complete_set_is_shown_and_not_made_again(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in made.glob("*.json*")}
    capsys.readouterr()

    assert compose(made, 8) == 0

    out = capsys.readouterr().out
    assert out.splitlines()[0].startswith("8 tasks, ")
    assert out.splitlines()[-1] == str(made)
    assert {path.name: path.stat().st_mtime_ns for path in made.glob("*.json*")} == before


def test_another_set_is_not_written_over(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (made / "tasks.jsonl").read_bytes()
    capsys.readouterr()

    assert compose(made, 9) == 2

    err = capsys.readouterr().err
    assert "task.count=8 (now 9)" in err
    assert err.count("\n") == 1
    assert (made / "tasks.jsonl").read_bytes() == before


def test_a_folder_with_other_files_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")

    assert compose(tmp_path, 2) == 2

    assert "is not empty and holds no task set" in capsys.readouterr().err
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_too_few_tasks_say_why_and_a_set_that_is_begun_is_no_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tasks"

    assert compose(folder, 3, "task.walk_length=40", "task.max_drafts_per_task=1") == 2

    err = capsys.readouterr().err
    assert "only 0 of 3 tasks could be made in 3 drafts (no_path 3)" in err
    assert main(["certify", f"tasks='{folder}'"]) == 2
    assert "is not complete" in capsys.readouterr().err


@pytest.mark.parametrize("compute", ["local", "processes"])
def test_every_certificate_holds_again(compute: str, made: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"

    assert main(["certify", f"tasks='{made}'", f"out='{out}'", f"compute={compute}"]) == 0

    assert json.loads(out.read_text(encoding="utf-8")) == {"tasks": 8, "hold": 8, "lapsed": {}}


def test_a_changed_row_lapses_the_certificates_that_name_it(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "tasks"
    copy.mkdir()
    for path in made.glob("*.json*"):
        (copy / path.name).write_bytes(path.read_bytes())
    system = json.loads((copy / "system.json").read_text(encoding="utf-8"))
    tickets = system["environment"]["seeds"]["helpdesk"]["tables"]["ticket"]
    tickets[sorted(tickets)[0]]["subject"] = "Something else"
    (copy / "system.json").write_text(json.dumps(system), encoding="utf-8")
    uses = [
        line["task"]["task_id"]
        for line in lines_of(copy)
        if "helpdesk" in {*line["task"]["world"]["services"], *line["task"]["world"]["distractors"]}
    ]
    capsys.readouterr()

    assert main(["certify", f"tasks='{copy}'", "compute=local"]) == 1

    out = capsys.readouterr().out
    assert f"{8 - len(uses)} of 8 certificates hold" in out
    for name in uses:
        assert name in out


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("tasks.jsonl", "{", "tasks.jsonl, line 1: no JSON"),
        ("tasks.jsonl", '{"task": {}}', "tasks.jsonl, line 1: it has no certificate, rubric"),
        ("system.json", "[]", "system.json"),
        ("system.json", "{}", "system.json: environment"),
    ],
)
def test_a_damaged_set_is_refused_in_one_line(
    file: str, text: str, said: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in made.glob("*.json*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / file).write_text(text, encoding="utf-8")
    capsys.readouterr()

    assert main(["certify", f"tasks='{tmp_path}'"]) == 2

    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_task_of_a_set_is_shown(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = lines_of(made)[0]
    name = line["task"]["task_id"]
    capsys.readouterr()

    assert main(["show", f"task='{made / name}'"]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"Task {name} (set ")
    assert f"split  {line['split']}" in page
    assert "s04" in page

    assert main(["show", f"task='{made / 't_no'}'"]) == 2
    assert "there is no task 't_no'" in capsys.readouterr().err


def test_a_killed_compose_goes_on_where_it_was(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    keys = (*KEYS, "task.count=8", f"out='{folder}'", f"runs_dir='{tmp_path / 'runs'}'")
    process = subprocess.Popen(
        [sys.executable, "-m", "loop", "compose", *keys],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while _num_drafts(folder) < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (folder / "card.json").exists()
    kept = _num_drafts(folder)

    assert compose(folder, 8) == 0

    assert kept >= 2
    for name in ("tasks.jsonl", "system.json", "card.json"):
        assert (folder / name).read_bytes() == (made / name).read_bytes()


def _num_drafts(folder: Path) -> int:
    try:
        database = sqlite3.connect(f"file:{folder / 'drafts.db'}?mode=ro", uri=True)
        with database:
            return int(database.execute("SELECT count(*) FROM units").fetchone()[0])
    except sqlite3.Error:
        return 0
