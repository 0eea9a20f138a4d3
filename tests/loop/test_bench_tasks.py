"""`bench tasks`: every count adds up, a bad set is found out, and what is amiss is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loop.__main__ import main

KEYS = ("environment.services=[directory,helpdesk,mail]", "task.k=2", "task.walk_length=4")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "tasks"
    more = ("task.distractors=1", "task.count=3", "compute=local", f"out='{folder}'")
    assert main(["compose", *KEYS, *more, f"runs_dir='{folder.parent}'"]) == 0
    return folder


def measured(folder: Path, out: Path) -> dict[str, Any]:
    words = [f"tasks='{folder}'", f"out='{out}'", "scale=smoke", "compute=local"]
    assert main(["bench", "tasks", *words]) == 0
    found: dict[str, Any] = json.loads(out.read_bytes())
    return found


def test_a_good_set_meets_every_bar(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = measured(made, tmp_path / "out.json")

    shown = capsys.readouterr().out
    assert "missed" not in shown
    assert found["certificates_hold"] == {"hits": 3, "total": 3, "share": 1.0}
    assert found["doing_nothing_passes"]["hits"] == found["random_agents_pass"]["hits"] == 0
    assert found["random_agents_pass"]["total"] == 6
    by_kind = found["mutants_by_kind"].values()
    assert sum(item["total"] for item in by_kind) == found["mutants_killed"]["total"] > 30
    faults = found["faults"]
    assert faults["kinds"] == 58
    rows = faults["by_kind"].values()
    assert sum(row["total"] for row in rows) == faults["refused"]["total"] > 30
    assert sum(row["harmless"] for row in rows) == faults["harmless"]
    assert f"{faults['refused']['hits']} of {faults['refused']['total']}" in shown


def test_a_set_whose_rubrics_look_away_is_found_out(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each survivor is named with its task and what it did."""
    folder = tmp_path / "blind"
    folder.mkdir()
    for name in ("settings.json", "system.json", "card.json"):
        (folder / name).write_bytes((made / name).read_bytes())
    lines = [json.loads(line) for line in (made / "tasks.jsonl").read_bytes().splitlines()]
    for line in lines:
        del line["rubric"]["criteria"]["untouched"]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "tasks.jsonl").write_text(text, encoding="utf-8")

    found = measured(folder, tmp_path / "out.json")

    shown = capsys.readouterr().out
    assert "missed" in shown
    assert found["certificates_hold"]["hits"] == 0
    lived = {item["kind"] for item in found["survivors"]}
    assert "extra_write" in lived
    first = found["survivors"][0]
    assert first["task_id"] in shown
    assert first["did"].split()[0] in shown


def test_no_set_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "tasks", f"tasks='{tmp_path}'", "compute=local"]) == 2

    assert "is no task set" in capsys.readouterr().err
