"""Claims about what is seen of a policy before anything is loaded, drafted or written."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from components.errors import ConfigError, PolicyError
from loop.policy.check import check_policy
from loop.policy.config import LocalPolicyConfig
from loop.policy.local import check_device
from loop.policy.tokens import ChatTokens
from loop.policy.weights import load_model
from loop.train.config import SftTraining
from tests.loop.configs import run_config
from tests.policy.models import needs_model
from tests.policy.test_weights import save_change
from tests.policy.tiny import save_tiny_chat, tiny_tokenizer

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_chat(tmp_path_factory.mktemp("whole") / "model")


@pytest.fixture
def model(whole: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model."""
    copy = tmp_path / "model"
    shutil.copytree(whole, copy)
    return copy


def policy(model: Path | str, adapter: Path | str | None = None, device: str = "cpu") -> Any:
    return LocalPolicyConfig(
        kind="local",
        model=str(model),
        adapter=None if adapter is None else str(adapter),
        temperature=1.0,
        batch_size=4,
        device=device,
        dtype="float32",
    )


def refusal(config: LocalPolicyConfig, **given: Any) -> str:
    with pytest.raises((PolicyError, ConfigError)) as caught:
        check_policy(config, **given)
    text = str(caught.value)
    assert "\n" not in text
    assert "; " in text
    return text


def rewrite(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def without(name: str) -> Callable[[Path], object]:
    return lambda model: (model / name).unlink()


def cut(model: Path) -> None:
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def cut_header(model: Path) -> None:
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:60])


def rename_chat_tokens(model: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        path = model / name
        path.write_text(path.read_text().replace("<|im_start|>", "<|begin|>"))


SPOILS: list[tuple[Callable[[Path], object], str]] = [
    (shutil.rmtree, "there is no such folder"),
    (without("config.json"), "config.json: No such file"),
    (lambda model: (model / "config.json").write_text("{"), "config.json is no JSON"),
    (lambda model: (model / "config.json").write_text("[]"), "config.json is no JSON object"),
    (without("tokenizer.json"), "no tokenizer"),
    (lambda model: (model / "tokenizer.json").write_text("{}"), "of another shape"),
    (without("model.safetensors"), "no weights"),
    (cut, "100 bytes are missing"),
    (cut_header, "cut off"),
    (lambda model: (model / "model.safetensors").write_bytes(b""), "cut off"),
    (rename_chat_tokens, "not trained on ChatML"),
    (
        lambda model: rewrite(model / "config.json", vocab_size=200),
        "258 tokens, the model only 200",
    ),
]


@pytest.mark.parametrize(("spoil", "words"), SPOILS, ids=[words for _, words in SPOILS])
def test_a_model_that_could_not_be_loaded_is_refused_and_loading_says_the_same(
    spoil: Callable[[Path], object], words: str, model: Path
) -> None:
    check_policy(policy(model))

    spoil(model)

    told = refusal(policy(model))
    assert words in told
    assert "set policy.model to a folder" in told
    with pytest.raises(PolicyError) as caught:
        load_model(str(model), None)
    assert str(caught.value) == told


def test_what_only_loading_can_tell_is_one_short_line_with_a_remedy(model: Path) -> None:
    rewrite(model / "config.json", hidden_size=32)
    check_policy(policy(model))

    with pytest.raises(PolicyError, match="cannot be loaded from") as caught:
        load_model(str(model), None)

    text = str(caught.value)
    assert "\n" not in text
    assert "set policy.model to a folder" in text
    assert len(text) < 500 + len(str(model))


def test_an_adapter_is_held_against_the_model(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "own" / "delta.safetensors"
    save_change(model, file)
    check_policy(policy(model, file.parent))

    assert "there is no file" in refusal(policy(model, tmp_path / "none"))
    assert "belongs to another model" in refusal(policy(model, "builtin"))
    file.write_bytes(file.read_bytes()[:-10])
    assert "cannot be read as an adapter" in refusal(policy(model, file))
    file.write_bytes((model / "model.safetensors").read_bytes())
    assert "cannot be read as an adapter" in refusal(policy(model, file))


@needs_model
def test_the_builtin_model_takes_its_own_adapters_alone(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "delta.safetensors"
    save_change(model, file)

    check_policy(policy("builtin", "builtin"))
    assert "belongs to another model than policy.model=builtin" in refusal(policy("builtin", file))


def test_blocks_that_all_stay_frozen_are_refused(model: Path) -> None:
    train = run_config("policy=local", "train.frozen_layers=2").train
    assert isinstance(train, SftTraining)

    told = refusal(policy(model), train=train)

    assert "the model has 2 blocks; set train.frozen_layers to at most 1" in told
    check_policy(policy(model), train=train.model_copy(update={"frozen_layers": 1}))


def test_a_device_is_held_against_those_that_there_are(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for device in ("cpu", "cuda", "cuda:1"):
        check_device(device)
    assert "there are 2 GPUs" in refusal(policy(model, device="cuda:99"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    assert "no GPU is found; set policy.device=cpu" in refusal(policy(model, device="cuda"))


def test_devices_of_ray_workers_are_their_own(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    check_policy(policy(model, device="cuda"), compute=run_config("compute=ray").compute)


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused() -> None:
    tokens = ChatTokens(tiny_tokenizer())

    tokens.refuse_unknown(258)
    with pytest.raises(PolicyError, match="has 258 tokens, the model only 257"):
        tokens.refuse_unknown(257)


def test_looking_loads_no_torch(whole: Path) -> None:
    program = (
        "import sys\nfrom loop.policy.check import check_policy\n"
        "from loop.policy.config import LocalPolicyConfig\n"
        f"check_policy(LocalPolicyConfig(kind='local', model={str(whole)!r}, adapter=None, "
        "temperature=1.0, batch_size=1, device='cpu', dtype='float32'))\n"
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
