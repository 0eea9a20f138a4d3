"""A language model's weights and tokenizer, from wherever they are, in single precision.

Owns where a model comes from and the hash that names it. It refuses to download in silence what a
folder name was meant for, and never keeps half a copy: the dequantised copy of the built-in model
is written beside its place and renamed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import snapshot_download
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from components.errors import PolicyError
from loop.policy.check import (
    BUILTIN,
    MODEL_REMEDY,
    adapter_file,
    check_model,
    model_folder,
    require_builtin,
)
from loop.train.delta import apply_delta

_WEIGHTS = ("*.safetensors", "*.json", "*.jinja", "*.txt", "*.model")
_MOST_CHARACTERS = 160
"""Of what a loader says; some print their whole manual."""


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
    delta = adapter_file(adapter) if adapter else None
    if source == BUILTIN:
        (folder, origin), remedy = _builtin_folder(), "remove that folder, and it is made anew"
    else:
        (folder, origin), remedy = _folder_of(source), MODEL_REMEDY
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    except Exception as error:  # each file has a reader of its own, and each its own errors
        raise PolicyError(
            f"policy.model={source} cannot be loaded from {folder} ({_line(error)}); {remedy}"
        ) from error
    if delta is not None:
        apply_delta(model, delta)
        origin = hashlib.sha256(f"{origin}\n{_hash_files([delta])}".encode()).hexdigest()
    model.eval()
    return LoadedModel(model=model, tokenizer=tokenizer, version=origin)


def _builtin_folder() -> tuple[Path, str]:
    """Return the folder of the built-in model in single precision, and the hash of its file."""
    file = require_builtin()
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
    folder = model_folder(source)
    if folder is None:
        try:
            folder = Path(snapshot_download(source, allow_patterns=list(_WEIGHTS)))
        except Exception as error:
            raise PolicyError(
                f"policy.model={source} is no folder, and the hub does not give it "
                f"({_line(error)}); {MODEL_REMEDY}"
            ) from error
    check_model(source, folder)
    files = sorted({path for pattern in _WEIGHTS for path in folder.glob(pattern)})
    try:
        return folder, _hash_files(files)
    except OSError as error:
        raise PolicyError(
            f"policy.model={source} cannot be read ({_line(error)}); {MODEL_REMEDY}"
        ) from error


def _hash_files(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(
                f"{path.name}\n{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode()
            )
    return digest.hexdigest()


def _line(error: Exception) -> str:
    """Return what a loader says, short: its first sentence, cut between words."""
    text = " ".join(str(error).split()) or type(error).__name__
    return textwrap.shorten(text.partition(". ")[0], _MOST_CHARACTERS, placeholder=" ...")
