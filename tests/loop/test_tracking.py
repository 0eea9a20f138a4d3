"""What Weights & Biases is told of a round, read back from the file of an offline run."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from components.errors import UserError
from components.records.trajectory import Trajectory
from loop.console import Console
from loop.round import evolve
from loop.summary import RoundSummary
from loop.tracking import TrackedContent, _mark_inputs, flat_metrics, track_round
from tests.loop.configs import run_config
from tests.loop.conftest import CANARY, TrackedRun
from tests.loop.endpoint import careless_endpoint
from tests.loop.wandb_log import LoggedRun, read_run

TABLES = {
    "tasks": ["task", "instruction", "steps", "passed before", "passed after"],
    "verdicts": ["rollout", "decision", "blamed", "place"],
    "patches": ["patch", "component", "artifact", "accepted", "reason", "operations"],
    "faults": ["component", "place", "what", "found", "repaired"],
}


@pytest.fixture(scope="module")
def logged(tracked_run: TrackedRun) -> list[LoggedRun]:
    """What rounds 0 to 2 told."""
    return [read_run(tracked_run.folder(number)) for number in range(3)]


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_a_round_is_one_run_in_the_group_of_its_run(logged: list[LoggedRun]) -> None:
    told = [(run.project, run.group, run.name, run.exit_code) for run in logged]

    assert told == [("selvage", "two", f"two-round-000{number}", 0) for number in range(3)]


def test_the_configuration_is_the_one_that_the_round_keeps(
    tracked_run: TrackedRun, logged: list[LoggedRun]
) -> None:
    for number, run in enumerate(logged):
        told = {key: value for key, value in run.config.items() if key != "_wandb"}

        assert told == read(tracked_run.folder(number) / "config.json")


def test_figures_are_logged_once_and_equal_the_summary(
    tracked_run: TrackedRun, logged: list[LoggedRun]
) -> None:
    for number, run in enumerate(logged):
        (row,) = run.history

        summary = flat_metrics(read(tracked_run.folder(number) / "summary.json"))

        own = {"_step", "_runtime", "_timestamp"}
        told = {key: value for key, value in row.items() if key not in own and "tables/" not in key}
        assert told == summary
        assert ("reeval/after/rate" in told) == (number > 0)


def test_tables_hold_a_row_for_each_task_verdict_patch_and_fault(
    tracked_run: TrackedRun, logged: list[LoggedRun]
) -> None:
    folder = tracked_run.folder(1)
    summary = read(folder / "summary.json")
    (row,) = logged[1].history
    rows = {
        "tasks": summary["tasks"]["certified"],
        "verdicts": summary["verdicts"]["attributed"],
        "patches": summary["patches"]["proposed"],
        "faults": summary["faults"]["planted"],
    }

    for name, columns in TABLES.items():
        (path,) = folder.glob(f"wandb/offline-run-*/files/{row[f'tables/{name}/path']}")
        table = read(path)
        assert (table["columns"], len(table["data"])) == (columns, rows[name])
        assert row[f"tables/{name}/nrows"] == rows[name]


def test_what_grew_is_a_table_of_its_steps(
    tracked_run: TrackedRun, logged: list[LoggedRun]
) -> None:
    folder = tracked_run.folder(2)
    summary = read(folder / "summary.json")
    (row,) = logged[2].history

    (path,) = folder.glob(f"wandb/offline-run-*/files/{row['tables/growth/path']}")
    steps = [(line[1], line[5]) for line in read(path)["data"]]

    assert steps == [(it["subject"], len(it["admitted"])) for it in summary["grown"]["steps"]]
    assert steps
    assert row["growth/breadth"] == summary["growth"]["breadth"] == 1


def test_artifacts_are_the_files_of_the_round_where_they_lie(
    tracked_run: TrackedRun, logged: list[LoggedRun]
) -> None:
    files = {
        "two-data": ["data.jsonl"],
        "two-round": ["config.json", "manifest.json", "report.html", "summary.json"],
    }
    for number, run in enumerate(logged):
        folder = tracked_run.folder(number)
        for name, expected in files.items():
            artifact = run.artifacts[name]
            assert [entry.path for entry in artifact.manifest.contents] == expected
            assert {f"round-{number:04d}", artifact.digest} < {*artifact.aliases}
            for entry in artifact.manifest.contents:
                kept = (folder / entry.path).read_bytes()
                assert entry.digest == base64.b64encode(hashlib.md5(kept).digest()).decode()
                assert Path(entry.local_path) == folder / entry.path
        staged = [
            Path(entry.local_path)
            for artifact in run.artifacts.values()
            for entry in artifact.manifest.contents
        ]
        assert [path for path in staged if folder not in path.parents] == []
        assert read(folder / "manifest.json")["status"] == "finished"


def test_lineage_leads_from_each_round_to_the_one_before(
    tracked_run: TrackedRun, logged: list[LoggedRun]
) -> None:
    before: dict[str, str] = {}
    for number, run in enumerate(logged):
        told = {kind: run.artifacts[f"two-{kind}"] for kind in ("data", "round")}

        for artifact in told.values():
            metadata = json.loads(artifact.metadata)
            assert metadata["parents"] == before
            assert (metadata["run"], metadata["round"]) == ("two", number)
        assert run.used == [], "nothing can be used without a network"
        before = {kind: artifact.digest for kind, artifact in told.items()}
        assert read(tracked_run.folder(number) / "tracking.json")["artifacts"] == before


class Online:
    """As much of a run with a network as marking inputs needs."""

    def __init__(self, *known: str) -> None:
        self.known = known
        self.used: list[str] = []

    def use_artifact(self, name: str) -> None:
        if name not in self.known:
            raise ValueError(f"{name} not found")
        self.used.append(name)


def test_inputs_are_marked_by_digest_and_an_unknown_one_is_left_out(
    tracked_run: TrackedRun, caplog: pytest.LogCaptureFixture
) -> None:
    run = Online("two-round:bbb")

    _mark_inputs(run, tracked_run.config, {"data": "aaa", "round": "bbb"})

    assert run.used == ["two-round:bbb"]
    assert "W&B has no two-data:aaa to mark as an input" in caplog.text


def test_the_data_is_every_task_and_trajectory_with_score_and_verdict(
    tracked_run: TrackedRun,
) -> None:
    folder = tracked_run.folder(1)
    summary = read(folder / "summary.json")

    lines = [json.loads(line) for line in (folder / "data.jsonl").read_bytes().splitlines()]

    tasks = [line for line in lines if line["kind"] == "task"]
    trajectories = [line for line in lines if line["kind"] == "trajectory"]
    assert len(tasks) == 2 * summary["tasks"]["certified"]
    first = [line for line in trajectories if line["pass"] == "rollout"]
    second = [line for line in trajectories if line["pass"] == "reeval"]
    assert len(tasks) + len(first) + len(second) == len(lines)
    assert len(first) == summary["rollouts"]["total"]
    assert sum(line["score"]["passed"] for line in first) == summary["rollouts"]["passed"]
    assert len(second) == summary["reeval"]["after"]["rollouts"]
    assert all(line["verdict"] for line in first)
    for line in trajectories:
        trajectory = Trajectory.model_validate(line["trajectory"])
        assert trajectory.rollout_id == line["score"]["rollout_id"]


def test_a_checkpoint_is_an_artifact_of_its_own(
    tracked_run: TrackedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    made = tracked_run.folder(1)
    for name in ("summary.json", "config.json", "manifest.json", "report.html", "data.jsonl"):
        (tmp_path / name).write_bytes((made / name).read_bytes())
    weights = tmp_path / "checkpoint" / "adapter" / "weights.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"\x00\x01")
    content = TrackedContent(
        summary=RoundSummary.model_validate_json((made / "summary.json").read_bytes()),
        tables=(),
        data=tmp_path / "data.jsonl",
        checkpoint=tmp_path / "checkpoint",
    )

    line = track_round(tracked_run.config, content, tmp_path, tracked_run.folder(0))

    assert line == "W&B (offline): project selvage, group two"
    artifact = read_run(tmp_path).artifacts["two-checkpoint"]
    assert artifact.type == "model"
    assert [entry.path for entry in artifact.manifest.contents] == ["adapter/weights.safetensors"]
    assert read(tmp_path / "tracking.json")["artifacts"]["checkpoint"] == artifact.digest


def test_keys_are_in_nothing_that_is_kept(
    tracked_run: TrackedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_API_KEY", CANARY)
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    with careless_endpoint() as base_url, open(os.devnull, "w") as silence:
        model = ("policy=openai", f"policy.base_url={base_url}", "policy.model=careless")
        config = run_config(
            *("+round=1", f"runs_dir='{tmp_path}'", "scale=smoke", "task.count=1", *model)
        )
        evolve(config, Console(silence))

    for runs_dir in (tmp_path, Path(tracked_run.config.runs_dir)):
        kept = [path for path in runs_dir.rglob("*") if path.is_file()]
        assert any(path.suffix == ".wandb" for path in kept)
        assert [path for path in kept if CANARY.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    "url", ["http://me:secret@host/v1", "http://host/v1?key=secret", "http://host/v1#secret"]
)
def test_an_address_that_could_hold_a_key_is_refused(url: str) -> None:
    with pytest.raises(UserError, match=r"policy\.base_url is not of the form") as refused:
        run_config("+round=1", "policy=openai", "policy.model=m", f"policy.base_url='{url}'")
    assert "secret" not in str(refused.value)


def test_a_round_that_could_not_be_logged_is_finished_and_is_logged_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    tiny = ("+round=1", f"runs_dir='{tmp_path}'", "scale=smoke", "task.count=1")
    folder = tmp_path / "default" / "round-0001"
    with open(os.devnull, "w") as silence:
        console = Console(silence)
        evolve(run_config(*tiny, "tracking.project='no/such?name'"), console)
        summary = (folder / "summary.json").read_bytes()
        assert "tracking failed, the round is not affected" in caplog.text
        assert read(folder / "manifest.json")["status"] == "finished"
        assert not (folder / "tracking.json").exists()

        tried_again = evolve(run_config(*tiny), console)
        after_that = evolve(run_config(*tiny), console)

    assert not tried_again.was_finished
    assert after_that.was_finished
    assert (folder / "summary.json").read_bytes() == summary
    assert read_run(folder).name == "default-round-0001"
