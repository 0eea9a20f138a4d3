"""Real rounds on bad ground: nothing to write on, files removed and damaged; no wrong figure."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from components.errors import LedgerError
from loop.console import Console
from loop.round import RoundResult, evolve
from tests.loop.configs import run_config
from tests.loop.killed_round import TINY


def play(runs_dir: Path, number: int = 1) -> RoundResult:
    with open(os.devnull, "w") as silence:
        config = run_config(f"+round={number}", f"runs_dir='{runs_dir}'", *TINY)
        return evolve(config, Console(silence))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs_dir = tmp_path_factory.mktemp("whole") / "runs"
    play(runs_dir)
    return runs_dir


@pytest.fixture
def runs_dir(whole: Path, tmp_path: Path) -> Path:
    """A copy of the round."""
    copy = tmp_path / "runs"
    shutil.copytree(whole, copy)
    return copy


def kill_before_repair(runs_dir: Path) -> Path:
    """Run round 1 anew and kill it when its verdicts are done; return its folder."""
    folder = runs_dir / "default" / "round-0001"
    shutil.rmtree(folder)
    child = os.fork()
    if child == 0:
        os.environ["SELVAGE_FAILPOINT"] = "manifest.after:4"  # begun, grown, rolled out, attributed
        play(runs_dir)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    return folder


def test_units_that_are_gone_are_told_and_never_counted_as_none(runs_dir: Path) -> None:
    round_folder = kill_before_repair(runs_dir)
    for path in round_folder.glob("units.sqlite*"):
        path.unlink()

    with pytest.raises(LedgerError, match=r"units\.sqlite is damaged \(unit rollout/"):
        play(runs_dir)

    assert not (round_folder / "summary.json").exists()


def test_a_row_that_is_gone_is_told_by_name(runs_dir: Path) -> None:
    database = sqlite3.connect(kill_before_repair(runs_dir) / "units.sqlite")
    database.execute("DELETE FROM units WHERE stage = 'attribute'")
    database.commit()
    database.close()

    with pytest.raises(LedgerError, match=r"unit attribute/t_\S+ is not as it was recorded"):
        play(runs_dir)


@pytest.mark.parametrize("content", [None, b"", b'{"faults": [], "clean": {}}'])
def test_the_list_of_planted_faults_is_held_against_its_hash(
    runs_dir: Path, content: bytes | None
) -> None:
    path = runs_dir / "default" / "round-0000" / "planted.json"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    (runs_dir / "default" / "round-0001" / "summary.json").unlink()

    with pytest.raises(LedgerError, match=r"planted\.json is damaged .* run \+round=0"):
        play(runs_dir)

    shutil.rmtree(path.parent)
    assert not play(runs_dir, 0).was_finished
    assert play(runs_dir).summary_path.exists()


@pytest.mark.parametrize("name", ["summary.json", "report.html"])
def test_a_report_that_was_removed_is_written_again(runs_dir: Path, name: str) -> None:
    path = runs_dir / "default" / "round-0001" / name
    before = path.read_bytes()
    path.unlink()

    assert not play(runs_dir).was_finished
    assert path.read_bytes() == before
    assert play(runs_dir).was_finished


def test_a_summary_that_was_cut_off_is_written_again(runs_dir: Path) -> None:
    path = runs_dir / "default" / "round-0001" / "summary.json"
    before = path.read_bytes()
    path.write_bytes(before[:100])

    play(runs_dir)

    assert path.read_bytes() == before


def test_round_0_that_was_removed_comes_back_as_it_was(runs_dir: Path) -> None:
    shutil.rmtree(runs_dir / "default" / "round-0000")

    assert play(runs_dir).was_finished


def test_a_store_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("in the way")

    with pytest.raises(LedgerError, match=r"store/\S+ cannot be written \("):
        play(tmp_path)


def test_units_that_cannot_be_written_end_the_rollouts_with_one_line(tmp_path: Path) -> None:
    config = run_config("+round=1", f"runs_dir='{tmp_path}'", *TINY)

    class Full(Console):
        """Takes the database away at the first rollout, as a disk does that is full."""

        def progress(self, stage: str, done: int, total: int, *_more: Any, **_named: Any) -> None:
            if stage == "rollout":
                path = tmp_path / "default" / "round-0001" / "units.sqlite"
                with sqlite3.connect(path) as database:
                    database.execute("ALTER TABLE units RENAME TO elsewhere")
                database.close()

    with open(os.devnull, "w") as silence, pytest.raises(LedgerError) as caught:
        evolve(config, Full(silence))

    assert "units.sqlite cannot be used" in str(caught.value)


def test_every_figure_follows_from_the_units(whole: Path) -> None:
    folder = whole / "default" / "round-0001"
    told = json.loads((folder / "summary.json").read_bytes())
    first = [item["passed"] for group in units(folder, "rollout.score") for item in group]
    second = [item["passed"] for group in units(folder, "reeval.score") for item in group]
    decisions = [
        item["acceptance"]["accepted"] for mode in units(folder, "repair") for item in mode
    ]
    verdicts: Counter[str] = Counter()
    for item in units(folder, "attribute"):
        verdicts.update([blame["party"] for blame in item["verdict"]["blamed"][:1]])

    assert told["rollouts"] == {
        "total": len(first),
        "passed": first.count(True),
        "failed": first.count(False),
        "unscored": first.count(None),
    }
    assert told["reeval"]["after"]["passed"] == second.count(True)
    assert told["reeval"]["after"]["rollouts"] == len(second)
    assert told["patches"]["accepted"] == sum(decisions)
    assert told["patches"]["proposed"] == len(decisions)
    for party in ("environment", "task", "harness", "evaluator", "policy"):
        assert told["verdicts"][party] == verdicts[party]
    shown = [value for name, value in told["verdicts"].items() if name != "attributed"]
    assert sum(shown) == told["verdicts"]["attributed"]


def units(folder: Path, stage: str) -> list[Any]:
    database = sqlite3.connect(folder / "units.sqlite")
    rows = database.execute("SELECT body FROM units WHERE stage = ?", (stage,)).fetchall()
    database.close()
    return [json.loads(body) for (body,) in rows]
