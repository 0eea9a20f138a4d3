"""`attribution.accept=review`: what passes its gates waits, and a person has the last word."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from components.artifacts import component_versions
from loop.__main__ import main
from loop.commands.evolve import outcome
from loop.console import Console
from loop.ledger import Ledger
from loop.reviewing import current_system
from loop.reviews import read_reviews, review_path
from loop.round import evolve
from loop.show.harness_diff import harness_diff, harness_files
from loop.summary import RoundSummary
from tests.loop.played import config_of, unit_bodies

RUN = "default"


def _evolve(runs_dir: Path, number: int, console: Console | None = None) -> RoundSummary:
    """Run a round in which patches wait, and return its figures."""
    config = config_of(
        runs_dir, f"+round={number}", "attribution.accept=review", "task.count=2",
        "rollout.group_size=1",
    )  # fmt: skip
    with open(os.devnull, "w") as silence:
        evolve(config, console or Console(silence))
    return _summary(runs_dir, number)


def _summary(runs_dir: Path, number: int) -> RoundSummary:
    path = runs_dir / RUN / f"round-{number:04d}" / "summary.json"
    return RoundSummary.model_validate_json(path.read_bytes())


def _decided(runs_dir: Path, number: int) -> list[dict[str, Any]]:
    bodies = unit_bodies(runs_dir, RUN, number, "repair")
    return [item for key in sorted(bodies) for item in bodies[key]]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Round 1 with patches that wait; no test changes it."""
    runs_dir = tmp_path_factory.mktemp("held") / "runs"
    _evolve(runs_dir, 1)
    return runs_dir


@pytest.fixture
def runs(held: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(held, tmp_path / "runs"))


def _says(capsys: pytest.CaptureFixture[str], runs_dir: Path, verb: str, *more: str) -> str:
    """Return what `accept` or `reject` prints, or the one line with which it refuses."""
    status = main([verb, f"runs_dir='{runs_dir}'", *more])
    out, err = capsys.readouterr()
    if status == 0:
        assert err == ""
        return out
    assert (status, out, err.count("\n")) == (2, "", 1)
    return err


def test_what_passes_its_gates_waits_and_the_round_goes_on_without_it(held: Path) -> None:
    summary = _summary(held, 1)
    counts, page = summary.patches, (held / RUN / "round-0001" / "report.html").read_text()

    assert len(counts.held) >= 3
    assert counts.accepted == 0
    assert counts.proposed == counts.rolled_back + len(counts.held)
    assert summary.system_before == summary.system_after
    assert summary.faults.repaired == 0
    assert outcome(summary)[-1].startswith(
        f"{len(counts.held)} patches wait: python -m loop accept run={RUN} patch={counts.held[0]}"
    )
    assert f"<b>{len(counts.held)} wait for you.</b>" in page
    for key in counts.held:
        assert f'href="#{key}"' in page
        assert f'id="{key}"' in page


def test_the_next_round_starts_with_what_was_accepted_and_does_not_hold_what_was_rejected(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *accepted, refused = _summary(runs, 1).patches.held[:3]
    changes = {item["patch"]["patch_id"]: item["patch"] for item in _decided(runs, 1)}
    for key in accepted:
        assert f"patch {key} is accepted" in _says(capsys, runs, "accept", f"patch={key}")
    _says(capsys, runs, "reject", f"patch={refused}", "reason='we want it so'")
    wanted = component_versions(current_system(Ledger(runs, RUN), 1))

    summary = _evolve(runs, 2)

    grown = Ledger(runs, RUN).manifest(2)
    assert grown is not None
    assert grown.stages[0].versions_out == wanted != grown.versions
    assert summary.patches.reviewed == tuple(accepted)
    assert summary.faults.repaired == len(accepted)
    again = [
        item
        for item in _decided(runs, 2)
        if (item["patch"]["artifact"], item["patch"]["operations"])
        == (changes[refused]["artifact"], changes[refused]["operations"])
    ]
    assert all(item["acceptance"]["reason"].endswith("we want it so") for item in again)
    assert again
    assert refused not in summary.patches.held
    page = (runs / RUN / "round-0002" / "report.html").read_text()
    assert page.count("accepted by review") == len(accepted)


def test_what_cannot_be_decided_is_one_line(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = _summary(runs, 1).patches.held[:2]
    rolled_back = next(
        item["patch"]["patch_id"]
        for item in _decided(runs, 1)
        if item["patch"]["patch_id"] not in _summary(runs, 1).patches.held
    )

    assert f"({first}, {second}" in _says(capsys, runs, "accept")
    assert "no patch 'p_none' waits" in _says(capsys, runs, "reject", "patch=p_none")
    told = _says(capsys, runs, "accept", f"patch={rolled_back}")
    assert f"patch '{rolled_back}' does not wait: round 1 has it as rolled back" in told
    _says(capsys, runs, "reject", f"patch={first}")
    told = _says(capsys, runs, "accept", f"patch={first}")
    assert f"patch '{first}' is rejected already (review 1" in told
    assert len(read_reviews(runs / RUN)) == 1


def test_a_patch_whose_base_is_another_now_or_that_a_gate_stops_is_refused(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refusals = {"no longer fits": 0, "does not pass its gates": 0}
    held = _summary(runs, 1).patches.held
    by_artifact: dict[str, list[str]] = {}
    for item in _decided(runs, 1):
        if item["is_held"]:
            by_artifact.setdefault(item["patch"]["artifact"], []).append(item["patch"]["patch_id"])
    later = next(keys for keys in by_artifact.values() if len(keys) > 1)

    told = _says(capsys, runs, "accept", f"patch={later[1]}")
    assert "no longer fits: it was made for" in told
    assert later[0] in told
    for key in reversed(held):
        said = _says(capsys, runs, "accept", f"patch={key}")
        for words in refusals:
            refusals[words] += words in said

    assert refusals["does not pass its gates"] >= 1
    assert {review.decided.patch.patch_id for review in read_reviews(runs / RUN)} <= set(held)


def test_nothing_is_decided_while_a_round_is_under_way(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupts(Console):
        def progress(self, stage: str, *_more: Any, **_named: Any) -> None:
            if stage == "attribute":
                raise KeyboardInterrupt

    key = _summary(runs, 1).patches.held[0]
    with open(os.devnull, "w") as silence, contextlib.suppress(KeyboardInterrupt):
        _evolve(runs, 2, Interrupts(silence))

    told = _says(capsys, runs, "accept", f"patch={key}")

    assert "round 2 of run 'default' is under way" in told
    assert read_reviews(runs / RUN) == ()


@pytest.mark.parametrize(("point", "is_there"), [("review.before", False), ("review.after", True)])
def test_a_kill_leaves_a_whole_review_or_none(
    point: str, is_there: bool, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = _summary(runs, 1).patches.held[0]
    child = os.fork()
    if child == 0:
        os.environ["SELVAGE_FAILPOINT"] = f"{point}:1"
        main(["accept", f"runs_dir='{runs}'", f"patch={key}"])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert len(read_reviews(runs / RUN)) == is_there

    told = _says(capsys, runs, "accept", f"patch={key}")

    assert ("is accepted already" in told) == is_there
    (review,) = read_reviews(runs / RUN)
    assert review.decided.patch.patch_id == key
    assert not list((runs / RUN / "reviews").glob(".*.tmp"))


def test_a_review_that_was_changed_is_told(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = _summary(runs, 1).patches.held[:2]
    _says(capsys, runs, "reject", f"patch={first}")
    path = review_path(runs / RUN, 1)
    path.write_text(path.read_text().replace('"rejected"', '"accepted"'))

    told = _says(capsys, runs, "accept", f"patch={second}")

    assert f"{path} is damaged" in told


def test_a_harness_patch_is_shown_as_a_diff_that_patch_takes(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    system = current_system(Ledger(runs, RUN), 1)
    name = next(
        item["patch"]["patch_id"]
        for item in _decided(runs, 1)
        if item["patch"]["component"] == "harness" and item["is_held"]
    )
    for path, text in harness_files(json.loads(system.harness.model_dump_json())).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    status = main(["show", f"runs_dir='{runs}'", f"patch={name}"])
    shown = capsys.readouterr().out
    assert status == 0
    assert f"it waits: python -m loop accept run={RUN} patch={name}" in shown

    diff = re.search(r"^--- a/harness.*?(?=^\n?Held)", shown, re.MULTILINE | re.DOTALL)
    assert diff is not None
    subprocess.run(["git", "apply", "-p1", "-"], input=diff[0], text=True, cwd=tmp_path, check=True)

    _says(capsys, runs, "accept", f"patch={name}")
    after = current_system(Ledger(runs, RUN), 1).harness
    for path, text in harness_files(json.loads(after.model_dump_json())).items():
        assert (tmp_path / path).read_text() == text


def test_a_diff_without_a_last_newline_says_so() -> None:
    fields = dict.fromkeys(("system_prompt", "user_prompt", "observation"), "same\n")
    before = {**fields, "invalid_call_feedback": "old"}

    diff = harness_diff(before, {**before, "invalid_call_feedback": "new\u2028line"})

    mark = "\\ No newline at end of file\n"
    assert diff.endswith(f"-old\n{mark}+new\u2028line\n{mark}")
