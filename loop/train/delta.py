"""What training changed, as one small file that is put on top of the model that it started from.

A delta holds, for each changed weight, one or more parts that are added up: low-rank factors
(`NAME/a` [R, I] and `NAME/b` [O, R], half precision), a quantised difference (`NAME/codes2` and
`NAME/scale`, where 2 is the bits of a code), or, for vectors, the difference itself
(`NAME/plain`). It is always a change of the plain model, so one file is enough however many
trainings went before. Its header says which model it belongs to, and it is refused on any other.

Source: Liu et al. 2024, "BitDelta": sign and scale of a fine-tuned difference. Ours has one scale a
    row, any of 1, 2, 4 and 8 bits, and the scale of least squares for the codes, without training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from pydantic import Field, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from components.errors import PolicyError
from components.records.base import Record
from components.records.frozen import FrozenDict, JsonObject
from loop.ledger_files import write_file
from loop.train.lora import lora_layers

Tensors = dict[str, Tensor]
MAX_SHIPPED_BYTES = 20_000_000
"""Size of a delta that goes with the program."""
_HEADER = "selvage"
_SHARES = tuple(number / 20 for number in range(4, 21))
"""Shares of a row's largest entry that are tried as the largest that a code stands for."""


class DeltaMeta(Record):
    """The header of a delta."""

    schema_version: int = Field(default=1, ge=1, le=1)
    base: str
    """Hash of the weights that the delta is a change of."""
    harness: str
    """Version of the harness that its trajectories were made with."""
    recipe: JsonObject
    """What was trained and how: tune, recipe, seed."""
    data: FrozenDict[str, int]
    """Counts of samples, tokens and what was left out."""


def weights_hash(model: nn.Module) -> str:
    """Return the hash of a plain model's weights: what a delta belongs to."""
    digest = hashlib.sha256()
    for name, item in sorted(model.named_parameters()):
        values = item.detach().to("cpu", torch.float32).contiguous()
        digest.update(f"{name} {tuple(values.shape)}\n".encode())
        digest.update(values.numpy().tobytes())
    return digest.hexdigest()


def lora_delta(model: nn.Module) -> Tensors:
    """Return a model's low-rank updates."""
    found: Tensors = {}
    for name, layer in lora_layers(model):
        found[f"{name}.weight/a"] = layer.a_RI.detach().to("cpu", torch.float16)
        found[f"{name}.weight/b"] = (layer.scale * layer.b_OR.detach()).to("cpu", torch.float16)
    return found


def difference_delta(base: Mapping[str, Tensor], tuned: nn.Module, bits: int) -> Tensors:
    """Return how a model differs from what it was, quantised.

    Args:
        base: the plain model's weights, by name.
        tuned: the model now; its shapes are the same.
        bits: of one entry of a matrix: 1, 2, 4 or 8. Vectors are kept as they are.
    """
    found: Tensors = {}
    for name, item in tuned.named_parameters():
        difference = item.detach().cpu().float() - base[name].detach().cpu().float()
        if not difference.any():
            continue
        if difference.dim() == 2:
            found[f"{name}/codes{bits}"], found[f"{name}/scale"] = quantised(difference, bits)
        else:
            found[f"{name}/plain"] = difference
    return found


def low_rank_delta(base: Mapping[str, Tensor], tuned: nn.Module, rank: int) -> Tensors:
    """Return how a model differs from what it was, each matrix as its best approximation of rank R.

    Source: Eckart-Young: the truncated singular value decomposition is the nearest matrix of a
        rank.
    """
    found: Tensors = {}
    for name, item in tuned.named_parameters():
        difference = item.detach().cpu().float() - base[name].detach().cpu().float()
        if not difference.any():
            continue
        if difference.dim() == 2:
            left, values, right = torch.linalg.svd(difference, full_matrices=False)
            root = values[:rank].sqrt()
            found[f"{name}/a"] = (root[:, None] * right[:rank]).half()
            found[f"{name}/b"] = (left[:, :rank] * root).half()
        else:
            found[f"{name}/plain"] = difference
    return found


def joined(before: Tensors, after: Tensors) -> Tensors:
    """Return two deltas as one: low-rank parts side by side.

    Args:
        before: a delta of the plain model.
        after: low-rank updates of the model with `before` on top.
    """
    found = dict(before)
    for key, value in after.items():
        old = before.get(key)
        if old is None:
            found[key] = value
        else:
            assert key.endswith(("/a", "/b"))
            found[key] = torch.cat([old, value], dim=0 if key.endswith("/a") else 1)
    return found


def delta_bytes(tensors: Tensors, meta: DeltaMeta) -> bytes:
    """Return a delta as the bytes of its file."""
    tight = {key: value.contiguous() for key, value in sorted(tensors.items())}
    return save(tight, metadata={_HEADER: meta.model_dump_json()})


def save_delta(path: Path, tensors: Tensors, meta: DeltaMeta) -> None:
    """Write a delta, whole or not at all.

    Raises:
        LedgerError: the machine refuses.
    """
    write_file(path, delta_bytes(tensors, meta), point="delta")


def read_delta(path: Path, base: str) -> tuple[Tensors, DeltaMeta]:
    """Return a delta and its header.

    Args:
        path: the file.
        base: hash of the plain weights that it must belong to.

    Raises:
        PolicyError: the file is missing, is no delta, or belongs to another model.
    """
    try:
        with safe_open(path, framework="pt") as file:
            header = (file.metadata() or {}).get(_HEADER, "")
            meta = DeltaMeta.model_validate_json(header)
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValidationError) as error:
        line = str(error).splitlines()[0]
        raise PolicyError(
            f"{path} cannot be read as an adapter ({line}); set policy.adapter to a delta that "
            "the verb train wrote, or to null"
        ) from error
    if meta.base != base:
        raise PolicyError(
            f"{path} belongs to another model (weights {meta.base[:12]}, these are {base[:12]}); "
            "set policy.model to the one that it was trained from, or policy.adapter=null"
        )
    return tensors, meta


def apply_delta(model: nn.Module, path: Path) -> DeltaMeta:
    """Put a delta on top of the plain model that it belongs to, and return its header.

    Raises:
        PolicyError: the file is no delta, or belongs to another model.
    """
    tensors, meta = read_delta(path, weights_hash(model))
    add_delta(model, tensors)
    return meta


@torch.no_grad()
def add_delta(model: nn.Module, tensors: Tensors) -> None:
    """Add a delta to a model's weights."""
    weights: dict[str, Any] = dict(model.named_parameters())
    for key, value in tensors.items():
        name, _, part = key.rpartition("/")
        weight = weights[name]
        match part:
            case "a":
                weight += (tensors[f"{name}/b"].float() @ value.float()).to(weight.device)
            case "codes1" | "codes2" | "codes4" | "codes8":
                scale_O, bits = tensors[f"{name}/scale"], int(part[-1])
                weight += restored(value, scale_O, bits, weight.shape[1]).to(weight.device)
            case "plain":
                weight += value.float().to(weight.device)
            case _:
                assert part in ("b", "scale"), key


def quantised(difference_OI: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """Return a matrix as codes of few bits, packed along its rows, and a scale a row [O].

    A code of b bits stands for one of the odd numbers from `1 - 2^b` to `2^b - 1`, times the scale;
    with one bit that is the sign.
    """
    assert bits in (1, 2, 4, 8)
    most = 2**bits - 1
    largest_O1 = difference_OI.abs().amax(dim=1, keepdim=True).clamp_min(1e-12)
    scale_O1, least_O1 = largest_O1, torch.full_like(largest_O1, torch.inf)
    for share in _SHARES:
        odd_OI = _nearest_odd(difference_OI * (most / share / largest_O1), most)
        fitted_O1 = (odd_OI * difference_OI).sum(1, keepdim=True) / (odd_OI**2).sum(1, keepdim=True)
        tried_O1 = fitted_O1.clamp_min(1e-12)
        error_O1 = ((tried_O1 * odd_OI - difference_OI) ** 2).sum(1, keepdim=True)
        scale_O1 = torch.where(error_O1 < least_O1, tried_O1, scale_O1)
        least_O1 = torch.minimum(error_O1, least_O1)
    scale_O = scale_O1.squeeze(1)
    codes_OI = ((_nearest_odd(difference_OI / scale_O1, most) + most) / 2).to(torch.uint8)
    per_byte = 8 // bits
    missing = -codes_OI.shape[1] % per_byte
    padded = nn.functional.pad(codes_OI, (0, missing))
    grouped = padded.view(codes_OI.shape[0], -1, per_byte).to(torch.int32)
    shifts = torch.arange(per_byte, dtype=torch.int32) * bits
    return (grouped << shifts).sum(-1).to(torch.uint8), scale_O


def restored(codes: Tensor, scale_O: Tensor, bits: int, num_columns: int) -> Tensor:
    """Return the matrix that `quantised` packed."""
    shifts = torch.arange(8 // bits, dtype=torch.int32) * bits
    grouped = (codes.to(torch.int32)[..., None] >> shifts) & (2**bits - 1)
    odd_OI = 2 * grouped.view(codes.shape[0], -1)[:, :num_columns] - (2**bits - 1)
    restored_OI: Tensor = odd_OI.float() * scale_O.float()[:, None]
    return restored_OI


def _nearest_odd(values: Tensor, most: int) -> Tensor:
    odd: Tensor = 2 * torch.floor(values / 2) + 1
    return odd.clamp(-most, most)
