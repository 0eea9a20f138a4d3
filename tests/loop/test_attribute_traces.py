"""`attribute traces=FILE`: verdicts on the page and as JSON, and a draft for each failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loop.__main__ import main
from tests.attribution.foreign.chats import call, chat, says, write_lines

GOOD = {"order_id": "W-100"}


def _lines(path: Path) -> Path:
    return write_lines(
        path,
        [
            chat(call("get_order", GOOD, {"order": {}}), says("Done."), id="ok", outcome="passed"),
            chat(call("cancel_order", GOOD, "Error: Internal Server Error"), id="../../broke"),
            chat(call("get_order", {}, "error: order_id is missing"), id="slip"),
            chat(says("I cannot.\x1b[2J"), id="open"),
        ],
    )


def test_verdicts_and_drafts_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = _lines(tmp_path / "chats.jsonl"), tmp_path / "judged"

    status = main(["attribute", f"traces='{path}'", f"out='{out}'"])

    told = capsys.readouterr().out
    assert status == 0
    assert "4 traces of" in told
    assert "1 passed, 3 failed, 0 unknown" in " ".join(told.split())
    assert "1. environment tool/cancel_order#" in told
    assert "turn/0" in told
    assert max(map(len, told.splitlines()[:-2])) <= 100
    verdicts = json.loads((out / "verdicts.json").read_text())
    assert verdicts["decisions"] == {"cleared": 1, "blamed": 2, "undecided": 1}
    assert [item["source"].rpartition(" ")[2] for item in verdicts["attributions"]] == list("1234")
    drafts = sorted((out / "tasks").iterdir())
    assert [
        draft.name.startswith(start)
        for draft, start in zip(drafts, ("broke-", "open", "slip"), strict=True)
    ] == [True] * 3
    assert not (tmp_path / "broke.json").exists()
    draft = json.loads((out / "tasks" / "slip.json").read_text())
    assert draft["instruction"] == "Cancel order W-100, please."
    assert draft["expected"] is None
    assert [tool["name"] for tool in draft["tools"]] == ["cancel_order", "get_order"]
    (recorded,) = draft["recorded_calls"]
    assert (recorded["tool"], recorded["came_to"]) == ("get_order", "refused")
    assert draft["suspected"][0]["place"] == "turn/0"


def test_a_bad_line_is_one_line_with_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _lines(tmp_path / "chats.jsonl")
    path.write_text(path.read_text() + "{\n")

    status = main(["attribute", f"traces='{path}'", f"out='{tmp_path / 'judged'}'"])

    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"{path} line 5: is no JSON" in err
    assert not (tmp_path / "judged").exists()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("traces=gone.jsonl",), "gone.jsonl cannot be read"),
        (("traces=.",), "is no file"),
        (("traces=chats.jsonl", "round=1"), "traces are of no round"),
        (("traces=chats.jsonl", "rollout=a"), "traces are of no round"),
        (("traces=chats.jsonl", "out=chats.jsonl"), "out must name a folder"),
        (("traces=chats.jsonl", "format=csv"), "format"),
        (("traces=chats.jsonl", "format=tau2"), "line 1"),
    ],
)
def test_what_cannot_be_judged_is_one_line(
    overrides: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    _lines(tmp_path / "chats.jsonl")

    status = main(["attribute", *overrides])

    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err
