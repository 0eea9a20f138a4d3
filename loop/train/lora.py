"""Low-rank updates beside frozen matrices.

Owns the wrapped linear layer and where it sits in a model. A wrapped layer starts as what it wraps:
its second factor is zero.

Source: Hu et al. 2021, "LoRA", section 4.1: `W x + (alpha / r) B A x`, with A drawn and B zero.
    Ours draws A from a seed and a layer's name, so that two starts are the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from hashlib import sha256

import torch
from torch import Tensor, nn
from torch.nn import functional


class LoraLinear(nn.Module):
    """A frozen linear layer and its update. Letters: B batch, T tokens, I in, O out, R rank."""

    def __init__(self, base: nn.Linear, rank: int, scale: float, name: str, seed: int) -> None:
        super().__init__()
        self.base = base
        self.scale = scale
        digest = sha256(f"{seed}:{name}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
        bound = math.sqrt(3.0 / base.in_features)
        drawn = torch.rand((rank, base.in_features), generator=generator) * (2 * bound) - bound
        device = base.weight.device
        self.a_RI = nn.Parameter(drawn.to(device))
        self.b_OR = nn.Parameter(torch.zeros((base.out_features, rank), device=device))

    def forward(self, hidden_BTI: Tensor) -> Tensor:
        """Return the layer's output with its update; [B, T, O]."""
        low_BTR = functional.linear(hidden_BTI, self.a_RI.to(hidden_BTI.dtype))
        update_BTO = functional.linear(low_BTR, self.b_OR.to(hidden_BTI.dtype))
        out: Tensor = self.base(hidden_BTI)
        return out + self.scale * update_BTO


def add_lora(model: nn.Module, rank: int, alpha: float, first_layer: int, seed: int) -> None:
    """Freeze a model and wrap every linear layer of its blocks from `first_layer` on.

    Args:
        model: a transformers causal LM; changed in place.
        rank: R.
        alpha: the update is scaled by `alpha / rank`.
        first_layer: blocks below it stay as they are.
        seed: of the first factors.
    """
    model.requires_grad_(False)
    for number, layer in enumerate(model.model.layers):  # type: ignore[union-attr, arg-type]
        if number < first_layer:
            continue
        for name, linear in list(layer.named_modules()):
            if not isinstance(linear, nn.Linear):
                continue
            parent = layer.get_submodule(name.rpartition(".")[0])
            full_name = f"model.layers.{number}.{name}"
            wrapped = LoraLinear(linear, rank, alpha / rank, full_name, seed)
            setattr(parent, name.rpartition(".")[2], wrapped)


def lora_layers(model: nn.Module) -> Iterator[tuple[str, LoraLinear]]:
    """Yield every wrapped layer with its name."""
    for name, module in model.named_modules():
        if isinstance(module, LoraLinear):
            yield name, module


def merge_lora(model: nn.Module) -> None:
    """Add every update to the matrix that it sits beside, and take the wrapping away."""
    for name, module in list(lora_layers(model)):
        with torch.no_grad():
            module.base.weight += module.scale * (module.b_OR @ module.a_RI)
        parent = model.get_submodule(name.rpartition(".")[0])
        setattr(parent, name.rpartition(".")[2], module.base)
