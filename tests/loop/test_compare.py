"""`compare` on real rounds, and its statistics against worked examples."""

from __future__ import annotations

import json
import shutil
import string
from pathlib import Path
from typing import Any

import pytest

from loop.__main__ import main
from loop.compare.intervals import bootstrap, difference, mcnemar, newcombe
from tests.loop.played import files_of


def compared(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[str, dict[str, Any]]:
    """Return what `compare` prints and writes, after checking that runs are left alone."""
    before = files_of(runs_dir)
    out = runs_dir.parent / "compared.json"
    status = main(["compare", *arguments, f"out='{out}'"])
    text, err = capsys.readouterr()
    assert (status, err) == (0, "")
    assert max(map(len, text.splitlines()[:-1])) <= 100
    assert files_of(runs_dir) == before
    body: dict[str, Any] = json.loads(out.read_text())
    out.unlink()
    return text, body


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status = main(["compare", *arguments])
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    return err


@pytest.fixture
def copied(played: Path, tmp_path: Path) -> Path:
    runs = tmp_path / "runs"
    shutil.copytree(played, runs)
    return runs


def test_newcombe_gives_the_published_interval() -> None:
    # Newcombe (1998), table II, example (a), method 10: 56 of 70 and 48 of 80.
    low, high = newcombe(48, 80, 56, 70)

    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)


@pytest.mark.parametrize(
    ("pairs", "p_value"),
    [((0, 0), 1.0), ((0, 7), 2 / 128), ((1, 7), 18 / 256), ((4, 4), 1.0), ((10, 2), 158 / 4096)],
)
def test_mcnemar_is_the_binomial_tail(pairs: tuple[int, int], p_value: float) -> None:
    assert mcnemar(*pairs) == pytest.approx(p_value)
    assert mcnemar(*reversed(pairs)) == pytest.approx(p_value)


def test_bootstrap_is_the_same_each_time_and_as_wide_as_the_normal_interval() -> None:
    changes = [0.0, 0.5, -0.25, 1.0, 0.25] * 12
    mean = sum(changes) / 60
    error = (sum((x - mean) ** 2 for x in changes) / 60 / 60) ** 0.5

    low, high = bootstrap(changes)

    assert (low, high) == bootstrap(changes)
    assert low == pytest.approx(mean - 1.96 * error, abs=0.02)
    assert high == pytest.approx(mean + 1.96 * error, abs=0.02)


def test_pairs_count_only_where_both_sides_are_scored() -> None:
    first = {("s", 0): True, ("s", 1): False, ("t", 0): None, ("t", 1): True}
    second = {("s", 0): True, ("s", 1): True, ("t", 0): True, ("t", 1): False}

    told = difference(first, second, same_seeds=True)

    assert (told.pairs, told.only_first, told.only_second) == (3, 1, 1)
    assert told.value == pytest.approx((0.5 - 1.0) / 2)
    assert told.p_value == 1.0


def test_the_same_tasks_with_other_seeds_are_paired_by_task() -> None:
    first = {(task, index): index < 2 for task in string.ascii_lowercase for index in range(4)}
    second = {
        (task, index): index < (4 if task < "m" else 2)
        for task in string.ascii_lowercase
        for index in range(4)
    }

    told = difference(first, second, same_seeds=False)

    assert told.value is not None
    assert told.value == pytest.approx(12 / 26 * 0.5)
    assert told.p_value is None
    assert "26 tasks, paired by task, other seeds; bootstrap over tasks" in told.method
    assert told.low is not None
    assert told.high is not None
    assert 0.1 < told.low < told.value < told.high < 0.4


def test_other_tasks_are_not_paired() -> None:
    first = {(f"s{at}", 0): at < 48 for at in range(80)}
    second = {(f"t{at}", 0): at < 56 for at in range(70)}

    told = difference(first, second, same_seeds=True)

    assert told.value == pytest.approx(56 / 70 - 48 / 80)
    assert "unpaired, other tasks: 80 and 70 rollouts; Newcombe" in told.method
    assert (round(told.low or 0, 4), round(told.high or 0, 4)) == (0.0524, 0.3339)
    assert told.pairs == 0


def test_tasks_that_all_differ_alike_still_leave_doubt() -> None:
    same = {(f"t{at}", 0): False for at in range(12)}

    told = difference(same, same, same_seeds=True)

    assert told.value == 0.0
    assert told.low is not None
    assert told.low < -0.1
    assert "Newcombe" in told.method


def test_nothing_scored_is_no_difference() -> None:
    told = difference({("t", 0): None}, {("t", 0): True}, same_seeds=True)

    assert told.value is None
    assert told.method == "nothing scored on one side"


def test_settings_outcomes_and_paired_differences_of_two_runs(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, body = compared(played, capsys, str(played / "a" / "round-0001"), str(played / "b"))

    assert body["settings"] == {"faults.kind": {"A": "demo", "B": "none"}}
    assert [item["label"] for item in body["rounds"]] == ["A", "B"]
    summaries = [
        json.loads((played / run / "round-0001" / "summary.json").read_text()) for run in "ab"
    ]
    assert [item["summary"] for item in body["rounds"]] == summaries
    for told, side in zip(body["differences"], ("before", "after"), strict=True):
        assert told["pass"] == side
        rates = [summary["reeval"][side]["rate"] for summary in summaries]
        assert told["value"] == pytest.approx(rates[1] - rates[0], abs=1e-5)
        assert told["pairs"] == 8
        assert told["low"] <= told["value"] <= told["high"]
    faults = summaries[0]["faults"]
    assert f"{faults['found']} of {faults['planted']}" in text
    assert "8 pairs of the same task and seed, 4 tasks" in " ".join(text.split())
    assert "exact McNemar p" in " ".join(text.split())


def test_a_run_counts_with_its_last_finished_round_and_other_seeds_pair_by_task(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, body = compared(played, capsys, str(played / "a"), str(played / "b"))

    assert [item["summary"]["round"] for item in body["rounds"]] == [2, 1]
    assert all(told["p_value"] is None for told in body["differences"])
    assert "paired by task, other seeds" in " ".join(text.split())


def test_all_that_a_glob_gives_is_taken_or_left_out_in_a_line(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied / "notes").mkdir()
    paths = sorted(str(path) for path in copied.iterdir())
    rounds = sorted(str(path) for path in copied.glob("a/round-*"))

    text, body = compared(copied, capsys, *paths, *rounds)

    taken = [item["path"].removeprefix(str(copied)) for item in body["rounds"]]
    assert taken == ["/a/round-0002", "/b/round-0001", "/a/round-0001"]
    assert [line.removeprefix(str(copied)) for line in body["left_out"]] == [
        "/c: no round after the seed system is finished",
        "/d: no round after the seed system is finished",
        "/notes: it holds no round",
        "/a/round-0000: round 0 is the seed system and rolls nothing out",
    ]
    assert text.count("left out: ") == 4


def test_a_later_round_that_is_not_finished_is_said(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied / "b" / "round-0002").mkdir()
    (copied / "b" / "round-0002" / "config.json").write_text("{}")

    _text, body = compared(copied, capsys, str(copied / "b"))

    assert body["left_out"] == [f"{copied / 'b'}: round 2 is not finished; round 1 counts"]
    assert [item["summary"]["round"] for item in body["rounds"]] == [1]


def damage_manifest(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"seed": 0', b'"seed": 1'))


def damage_summary(folder: Path) -> None:
    path = folder / "summary.json"
    body = json.loads(path.read_text())
    body["reeval"]["after"]["passed"] += 1
    path.write_text(json.dumps(body))


def lose_summary(folder: Path) -> None:
    (folder / "summary.json").unlink()


def cut_units(folder: Path) -> None:
    path = folder / "units.sqlite"
    path.write_bytes(path.read_bytes()[:5000])


def change_config(folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"k": 2', '"k": 3'))


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (damage_manifest, "manifest.json is damaged"),
        (damage_summary, "not those of the recorded scores"),
        (lose_summary, "summary.json is damaged"),
        (cut_units, "units.sqlite is damaged"),
        (change_config, "config.json is damaged"),
    ],
)
def test_a_damaged_round_is_left_out_with_what_is_wrong(
    spoil: Any, word: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(copied / "a" / "round-0002")

    text, body = compared(copied, capsys, str(copied / "a"), str(copied / "b"))

    assert [item["path"] for item in body["rounds"]] == [str(copied / "b" / "round-0001")]
    (line,) = body["left_out"]
    assert word in line
    assert "one round alone has nothing to differ from" in text


def test_thirty_runs_fit_the_page(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for at in range(30):
        shutil.copytree(copied / "b", copied / f"job-{at:02d}")
    paths = sorted(str(path) for path in copied.glob("job-*"))

    text, body = compared(copied, capsys, str(copied / "a"), *paths)

    assert [item["label"] for item in body["rounds"]][-5:] == ["AA", "AB", "AC", "AD", "AE"]
    assert text.count("patches kept") == 8
    assert len(body["differences"]) == 60
    assert text.count(" - A  ") == 60


@pytest.mark.parametrize(
    "name", ["it's", "a, b", "[x]", "k=v", "${oc.env:HOME}", "caf\u00e9 {a:1}", "back\\slash"]
)
def test_any_folder_name_can_be_given(
    name: str, played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / name
    shutil.copytree(played / "b", runs / "b")
    shutil.copytree(played / "store", runs / "store")

    status = main(["compare", str(runs / "b")])

    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    assert "passed after" in out


def test_mistakes_are_one_line(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "compare needs paths" in refused(capsys)
    assert "did you mean" in refused(capsys, str(played / "aa"))
    assert "paths must not be empty" in refused(capsys, "paths=[]")
    assert "there is nothing to compare" in refused(capsys, str(played / "c"))
    assert "there is nothing to compare" in refused(capsys, str(played / "store"))
    assert "out must name a file" in refused(capsys, str(played / "b"), f"out='{tmp_path}'")
    assert "write the paths first" in refused(capsys, "out=x.json", str(played / "b"))
    assert "'otu'" in refused(capsys, str(played / "b"), "otu=x.json")
    assert not (tmp_path / "x.json").exists()


def test_paths_may_also_be_given_as_a_key(played: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["compare", f"paths=['{played / 'b'}']"])

    assert status == 0
    assert "round-0001" in capsys.readouterr().out
