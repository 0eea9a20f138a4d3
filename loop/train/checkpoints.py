"""Where training stands, on disk: a killed run goes on with the same bits.

A checkpoint is two files: the tensors (`step-000040.safetensors`: what is trained, and the
optimizer's state), then `checkpoint.json`, sealed, which names them with their hash, the step, what
the training is of, and the loss of every step. The second is written last and replaces its
forerunner whole, so there is always one that is complete. Refuses to go on with another model, data
set, recipe or seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field
from safetensors.torch import load, save
from torch import Tensor

from components.errors import LedgerError
from components.records.base import Record
from components.records.frozen import FrozenDict
from loop.ledger_files import damaged, read_sealed, write_file, write_sealed

_NAME = "checkpoint.json"


class StepLoss(Record):
    """What one step of the optimizer came to."""

    loss: float | None
    """Nats per trained token, before the step; None when it was not finite."""
    num_trained: int
    """Tokens that carried loss."""
    grad_norm: float | None
    """Before clipping; None when it was not finite, and the step was skipped."""


class Checkpoint(Record):
    """Which tensors, after which step, of which training."""

    schema_version: int = Field(default=1, ge=1, le=1)
    step: int = Field(ge=0)
    """Steps that are done."""
    tensors: str
    """File name."""
    sha256: str
    of: FrozenDict[str, str]
    """What the training is of: model, data, recipe, seed, each as a hash or a number."""
    losses: tuple[StepLoss, ...]
    """One entry a step."""


def save_checkpoint(
    folder: Path,
    step: int,
    of: Mapping[str, str],
    losses: tuple[StepLoss, ...],
    tensors: Mapping[str, Tensor],
) -> None:
    """Keep where training stands; earlier tensors are removed once it is on disk.

    Raises:
        LedgerError: the machine refuses: a full disk, a folder that is read-only.
    """
    name = f"step-{step:06d}.safetensors"
    data = save({key: tensor.detach().contiguous() for key, tensor in tensors.items()})
    write_file(folder / name, data, point="checkpoint.tensors")
    found = Checkpoint(
        step=step,
        tensors=name,
        sha256=hashlib.sha256(data).hexdigest(),
        of=FrozenDict(of),
        losses=losses,
    )
    write_sealed(folder / _NAME, found, point="checkpoint")
    for other in folder.glob("*.safetensors"):
        if other.name != name:
            other.unlink()
    for leftover in folder.glob(".*.tmp"):
        leftover.unlink()


def load_checkpoint(
    folder: Path, of: Mapping[str, str]
) -> tuple[Checkpoint, dict[str, Tensor]] | None:
    """Return the last checkpoint and its tensors; None when there is none.

    Args:
        folder: of the training.
        of: what is to be trained now.

    Raises:
        LedgerError: the checkpoint is of another training, or damaged.
    """
    if not (folder / _NAME).exists():
        return None
    found = read_sealed(folder / _NAME, Checkpoint)
    differing = sorted(key for key in {*of, *found.of} if of.get(key) != found.of.get(key))
    if differing:
        raise LedgerError(
            f"{folder} holds a training with another {' and '.join(differing)}; use the old "
            "values, or give run= another name"
        )
    path = folder / found.tensors
    data = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(data).hexdigest() != found.sha256:
        raise damaged(path, "it is not what was saved", f"remove {folder} to train from the start")
    return found, load(data)
