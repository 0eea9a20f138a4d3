"""`compose` with `task.policies`: pairs are whole, counted as two, certified again, and shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from components.task.config import TaskConfig
from loop.__main__ import main
from loop.composing import compose_for_now
from loop.compute.config import LocalComputeConfig
from loop.compute.pool import open_pool
from loop.console import Console
from tests.task.builders import builtin_system

KEYS = (
    "environment.services=[directory,helpdesk,mail]", "task.k=2", "task.walk_length=4",
    "task.distractors=0", "compute=local",
)  # fmt: skip


def compose(folder: Path, *more: str) -> int:
    return main(["compose", *KEYS, f"out='{folder}'", f"runs_dir='{folder.parent}'", *more])


def lines_of(folder: Path) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "tasks.jsonl").read_bytes().splitlines()]
    return {line["task"]["task_id"]: line for line in lines}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policies") / "tasks"
    assert compose(folder, "task.count=5", "task.policies=0.6", "seed=3") == 0
    return folder


def test_the_count_is_met_and_no_pair_is_divided(made: Path) -> None:
    lines = lines_of(made)
    halves = {name: line for name, line in lines.items() if line["certificate"].get("twin")}

    assert len(lines) == 5
    assert 0 < len(halves) < 5
    for line in halves.values():
        twin = lines[line["certificate"]["twin"]]
        assert twin["task"]["instruction"] == line["task"]["instruction"]
        assert twin["split"] == line["split"]
        assert line["task"]["policy_rules"] == twin["task"]["policy_rules"] != []
    card = json.loads((made / "card.json").read_bytes())
    grammar = card["measures"]["grammar"]
    assert grammar["policy_compliant"] == grammar["policy_adversarial"] == len(halves) / 2


def test_a_set_with_pairs_is_certified_again_as_it_was(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"

    assert main(["certify", f"tasks='{made}'", f"out='{out}'", "compute=local"]) == 0

    assert json.loads(out.read_bytes()) == {"tasks": 5, "hold": 5, "lapsed": {}}


def test_a_page_shows_the_rules_the_twin_and_its_fact(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, line = next(
        (name, line)
        for name, line in sorted(lines_of(made).items())
        if line["certificate"].get("twin")
    )

    assert main(["show", f"task='{made}/{name}'"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    clause = next(item for item in line["task"]["clauses"].values() if item["kind"] == "ruled")
    assert f"rule: {clause['text']}"[:60] in shown
    assert f"twin: {line['certificate']['twin']}" in shown
    start = shown.index(f"twin: {line['certificate']['twin']}")
    fact = shown[start : shown.index("only in the way", start)]
    twin = lines_of(made)[line["certificate"]["twin"]]["task"]
    (row,) = {**line["task"]["world"]["overrides"], **twin["world"]["overrides"]}
    assert row.split("/")[0] in fact
    assert " here " in fact
    assert "which the rule" in shown


def test_where_every_draft_is_a_pair_an_odd_count_gets_one_task_more() -> None:
    settings = TaskConfig(
        count=None,
        k=2,
        walk_length=4,
        distractors=0,
        domains=(),
        policies=1.0,
        max_drafts_per_task=20,
    )
    with open_pool(LocalComputeConfig(kind="local"), print) as pool:
        composed = compose_for_now(builtin_system(), settings, 1, 0, pool, Console())

    assert len(composed.system.tasks) == 2
    assert composed.missing == 0


def test_a_share_that_is_none_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compose(tmp_path / "none", "task.policies=1.5") == 2

    err = capsys.readouterr().err
    assert "task.policies" in err
    assert err.count("\n") == 1
