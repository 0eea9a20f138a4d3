"""Claims about training: it learns, it resumes to the same bits, and refuses what is another."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from components.errors import ConfigError, LedgerError
from loop.train.config import SftTraining
from loop.train.sft import SftJob, Training, mean_loss, prepare
from tests.train.builders import drawn_samples, recipe, tiny_model

SAMPLES = drawn_samples(10)
Weights = dict[str, torch.Tensor]


def job(settings: SftTraining, **given: Any) -> SftJob:
    values = {"samples": SAMPLES, "data": "d", "model": "m", "recipe": settings, "seed": 3}
    return SftJob(**{**values, **given})


def weights_of(training: Training) -> Weights:
    return {name: item.detach().clone() for name, item in training.model.named_parameters()}


def trained(folder: Path, settings: SftTraining) -> Training:
    training = Training(tiny_model(), job(settings), folder)
    training.run()
    return training


@pytest.mark.parametrize("weights", ["full", "lora"])
def test_the_loss_falls(tmp_path: Path, weights: str) -> None:
    settings = recipe(weights=weights, epochs=12, learning_rate=0.01)
    before = mean_loss(tiny_model(), SAMPLES, 2)

    training = trained(tmp_path, settings)

    assert mean_loss(training.model, SAMPLES, 2) < before - 0.3
    first, last = training.losses[0].loss, training.losses[-1].loss
    assert first is not None
    assert last is not None
    assert last < first


def test_only_what_the_recipe_names_changes(tmp_path: Path) -> None:
    before = dict(tiny_model().named_parameters())

    after = trained(tmp_path, recipe(frozen_layers=2)).model.named_parameters()

    changed = {name for name, item in after if not torch.equal(item, before[name])}
    assert changed
    assert all(name.startswith(("model.layers.2.", "model.layers.3.")) for name in changed)


@pytest.mark.parametrize("weights", ["full", "lora"])
@pytest.mark.parametrize("stop", [1, 3, 4])
def test_a_stopped_training_ends_at_the_same_bits(tmp_path: Path, weights: str, stop: int) -> None:
    settings = recipe(weights=weights)
    whole = trained(tmp_path / "whole", settings)

    class Stopped(Exception):
        pass

    def stop_there(done: int, total: int, step: object) -> None:
        if done == stop:
            raise Stopped

    with pytest.raises(Stopped):
        Training(tiny_model(), job(settings), tmp_path / "cut").run(on_step=stop_there)
    resumed = trained(tmp_path / "cut", settings)

    assert resumed.losses == whole.losses
    found, wanted = weights_of(resumed), weights_of(whole)
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("point", ["checkpoint.tensors", "checkpoint"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_training_ends_at_the_same_bits(tmp_path: Path, point: str, moment: str) -> None:
    torch.set_num_threads(1)  # a forked child has none of its parent's threads
    settings = recipe(checkpoint_every=1)
    whole = trained(tmp_path / "whole", settings)

    process = os.fork()
    if process == 0:
        os.environ["SELVAGE_FAILPOINT"] = f"{point}.{moment}:3"
        trained(tmp_path / "cut", settings)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    resumed = trained(tmp_path / "cut", settings)

    assert os.WTERMSIG(status) == signal.SIGKILL
    found, wanted = weights_of(resumed), weights_of(whole)
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)
    assert len(list((tmp_path / "cut").iterdir())) == 2


def test_stages_end_where_one_run_ends(tmp_path: Path) -> None:
    settings = recipe()
    whole = trained(tmp_path / "whole", settings)

    parts = Training(tiny_model(), job(settings), tmp_path / "parts")
    parts.run(2)
    parts.run(4)
    parts.run()

    assert parts.losses == whole.losses
    assert all(
        torch.equal(item, weights_of(parts)[name]) for name, item in weights_of(whole).items()
    )


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"data": "other"}, "data"),
        ({"model": "other"}, "model"),
        ({"recipe": recipe(learning_rate=0.1)}, "recipe"),
        ({"seed": 4, "data": "other"}, "data and seed"),
    ],
)
def test_another_training_is_not_gone_on_with(
    tmp_path: Path, given: dict[str, Any], named: str
) -> None:
    trained(tmp_path, recipe())

    with pytest.raises(LedgerError, match=f"another {named}; use the old values"):
        Training(tiny_model(), job(**{"settings": recipe(), **given}), tmp_path)


def test_how_often_it_is_kept_may_change(tmp_path: Path) -> None:
    trained(tmp_path, recipe(checkpoint_every=3))

    again = Training(tiny_model(), job(recipe(checkpoint_every=1)), tmp_path)

    assert len(again.losses) == len(again.steps)


def test_damaged_tensors_are_refused(tmp_path: Path) -> None:
    trained(tmp_path, recipe())
    (path,) = tmp_path.glob("*.safetensors")
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)

    with pytest.raises(LedgerError, match="not what was saved"):
        Training(tiny_model(), job(recipe()), tmp_path)


def test_a_step_without_a_finite_gradient_is_skipped_and_recorded(tmp_path: Path) -> None:
    model = tiny_model()
    training = Training(model, job(recipe(frozen_layers=3)), tmp_path)
    with torch.no_grad():
        model.model.layers[0].mlp.down_proj.weight[0, 0] = float("nan")
    before = weights_of(training)

    training.run(1)

    assert training.losses[0].loss is None
    assert training.losses[0].grad_norm is None
    after = weights_of(training)
    assert all(torch.equal(after[name], before[name]) for name in before if "layers.3" in name)
    assert len(Training(tiny_model(), job(recipe(frozen_layers=3)), tmp_path).losses) == 1


def test_a_recipe_that_trains_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="leaves nothing to train: the model has 4 blocks"):
        prepare(tiny_model(), recipe(weights="full", frozen_layers=4), seed=0)
