"""`certify` on somebody else's tasks: what it prints, writes and returns, and `replay`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loop.__main__ import main
from tests.task.foreign.packages import call, shop_tasks

SOUND = {
    "id": "sound",
    "turns": ["Close o1, it is late."],
    "gold": [[call("close_order", order_id="o1", reason="late")]],
}
IDLE = {"id": "idle", "turns": ["Look at o2."], "gold": [[call("get_order", order_id="o2")]]}


def test_sound_tasks_are_certified_with_status_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shop_tasks(tmp_path, SOUND)

    assert main(["certify", f"tasks='{path}'"]) == 0
    assert "0 of 1 are defective" in " ".join(capsys.readouterr().out.split())


def test_defective_tasks_are_listed_with_status_1_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = shop_tasks(tmp_path, SOUND, IDLE), tmp_path / "out.json"

    status = main(["certify", f"tasks='{path}'", f"out='{out}'"])

    shown, written = capsys.readouterr().out, json.loads(out.read_text())
    assert status == 1
    assert "idle/nothing_passes" in shown
    assert written["tasks"] == 2
    assert written["defective"] == 1
    assert written["kinds"]["nothing_passes"]["findings"] == 1
    assert written["findings"][0]["turns"] == [[]]
    assert written["not_applied"]["breaks_policy"] == "no policy is stated"


def test_finding_is_played_again_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shop_tasks(tmp_path, SOUND, IDLE)

    status = main(["certify", f"tasks='{path}'", "replay=idle/nothing_passes"])

    shown = capsys.readouterr().out
    assert status == 1
    assert "verdict: passes" in shown
    assert "the same as was found" in shown


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["tasks=none.jsonl"], "there is no file none.jsonl"),
        (["tasks='{path}'", "replay=idle/more_passes"], "of this task: idle/nothing_passes"),
        (["tasks='{path}'", "replay=other/x"], "no task of the benchmark begins"),
        (["tasks='{path}'", "python=/nowhere/python"], "python cannot be started"),
        (["tasks=tau2:telecom"], "tau2 has retail and airline here"),
        (["tasks=folder", "replay=x"], "drop it for a folder"),
    ],
)
def test_mistake_is_one_line_with_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    path = shop_tasks(tmp_path, SOUND, IDLE)

    assert main(["certify", *(item.format(path=path) for item in arguments)]) == 2
    assert line in capsys.readouterr().err
