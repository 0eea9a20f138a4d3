"""Claims about the verbs `train` and `evaluate`, on a tiny model from the command line on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from components.errors import ConfigError, LedgerError
from loop.hydra_entry import run_verb
from loop.ledger_files import write_sealed
from loop.ledger_records import Manifest
from loop.verbs import find_verb
from tests.policy.models import needs_model
from tests.train.tiny_folder import save_tiny

SMALL = (
    "environment.services=[helpdesk,directory,mail]",
    "task.walk_length=3",
    "held_out.tasks=2",
    "held_out.max_drafts=12",
    "rollout.concurrency=2",
    "harness.max_turns=6",
)
LEARN = (
    "train.weights=lora",
    "train.frozen_layers=0",
    "gold.trajectories=4",
    "gold.slip_share=0.5",
    "curve=[2,4]",
    "train.rank=4",
    "train.batch_size=2",
    "train.max_pack=2",
    "train.checkpoint_every=1",
)


def run(name: str, *overrides: str) -> None:
    verb = find_verb(name)
    assert verb is not None
    run_verb(verb, [*SMALL, *overrides])


def train(folder: Path, model: Path, *overrides: str) -> dict[str, Any]:
    out = folder / "out.json"
    places = (
        f"runs_dir='{folder}'",
        f"policy.model='{model}'",
        "policy.adapter=null",
        f"out='{out}'",
    )
    run("train", *LEARN, *places, *overrides)
    found: dict[str, Any] = json.loads(out.read_bytes())
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    train(folder, model)
    return folder


@needs_model
def test_each_point_of_the_curve_is_kept_and_measured(trained: Path) -> None:
    told = json.loads((trained / "out.json").read_bytes())

    assert [point["trajectories"] for point in told["curve"]] == [2, 4]
    assert told["data"]["train"] == 4
    for point in told["curve"]:
        folder = trained / "train" / "round-0000" / f"policy-{point['trajectories']:06d}"
        assert (folder / "delta.safetensors").stat().st_size == point["bytes"] < 20_000_000
        assert point["kept_loss"] == pytest.approx(point["held_out_loss"], rel=1e-3)
        measured = point["evaluation"]
        assert measured["tasks"] == sum(item["rollouts"] for item in measured["by_kind"].values())
        assert sum(measured["stop_reasons"].values()) == measured["tasks"]
        assert measured["policy"].startswith("local-v1:")
    assert told["curve"][0]["adapter"] != told["curve"][1]["adapter"]


@needs_model
def test_a_training_that_lost_its_last_stages_ends_as_before(trained: Path, model: Path) -> None:
    wanted = json.loads((trained / "out.json").read_bytes())
    folder = trained.parent / "again"
    shutil.copytree(trained, folder)
    manifest = folder / "train" / "round-0000" / "manifest.json"
    body = json.loads(manifest.read_bytes())
    del body["checksum"]
    _rewrite(manifest, {**body, "status": "running", "stages": body["stages"][:2]})

    told = train(folder, model)

    assert told == wanted


@needs_model
def test_another_recipe_under_the_same_name_is_refused(trained: Path, model: Path) -> None:
    with pytest.raises(LedgerError, match=r"train\.learning_rate: 0\.0001 -> 0\.01"):
        train(trained, model, "train.learning_rate=0.01")


@needs_model
def test_a_kept_policy_is_measured_by_evaluate(
    trained: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = trained / "evaluation.json"
    adapter = trained / "train" / "round-0000" / "policy-000004"

    run(
        "evaluate",
        f"runs_dir='{trained}'",
        f"policy.model='{model}'",
        f"policy.adapter='{adapter}'",
        f"out='{out}'",
    )

    told = json.loads(out.read_bytes())
    last = json.loads((trained / "out.json").read_bytes())["curve"][-1]["evaluation"]
    assert told == last
    assert "held-out success: 0 of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["policy=scripted"], "the verb train needs policy=local"),
        (["train=none"], "the verb train needs policy=local and a method"),
        (["curve=[3,2]"], "curve must rise"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run("train", *overrides)


def _rewrite(path: Path, body: dict[str, Any]) -> None:
    write_sealed(path, Manifest.model_validate(body), point="manifest")
