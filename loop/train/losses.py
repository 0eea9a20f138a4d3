"""The loss of a pack: next-token cross-entropy on trained tokens, the shared prefix computed once.

Works on any transformers causal LM with a cache. Letters: N samples, P prefix, T rest (padded on
the right, where causality hides it), V vocabulary, M trained tokens.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import DynamicCache

from loop.train.packing import Pack


def pack_loss(model: Any, pack: Pack, *, stops_at_prefix: bool) -> Tensor:
    """Return the summed cross-entropy (nats) of a pack's trained tokens.

    Args:
        model: the causal LM.
        pack: what to learn.
        stops_at_prefix: True takes the prefix's keys and values as constants: no gradient flows
            into them, which saves the backward pass over the prefix and leaves the loss's value as
            it is.
    """
    hidden_MD, targets_M = trained_states(model, pack, stops_at_prefix=stops_at_prefix)
    logits_MV = model.lm_head(hidden_MD).float()
    return functional.cross_entropy(logits_MV, targets_M, reduction="sum")


def trained_states(model: Any, pack: Pack, *, stops_at_prefix: bool) -> tuple[Tensor, Tensor]:
    """Return the last hidden states that predict trained tokens [M, D], and those tokens [M]."""
    device = model.lm_head.weight.device
    body = model.model
    num_prefix, num_samples = len(pack.prefix), len(pack.rests)
    cache = None
    if num_prefix:
        cache = DynamicCache(config=model.config)
        layers: list[Any] = cache.layers
        has_grad = torch.is_grad_enabled() and not stops_at_prefix
        with torch.set_grad_enabled(has_grad):
            prefix_1P = torch.tensor([pack.prefix], device=device)
            body(input_ids=prefix_1P, cache=cache, use_cache=True)
        for layer in layers:
            layer.keys = layer.keys.expand(num_samples, -1, -1, -1)
            layer.values = layer.values.expand(num_samples, -1, -1, -1)
    longest = max(map(len, pack.rests))
    ids_NT = torch.zeros((num_samples, longest), dtype=torch.long)
    is_trained_NT = torch.zeros((num_samples, longest), dtype=torch.bool)
    for row, (rest, is_trained) in enumerate(zip(pack.rests, pack.is_trained, strict=True)):
        ids_NT[row, : len(rest)] = torch.tensor(rest)
        is_trained_NT[row, : len(rest)] = torch.tensor(is_trained)
    ids_NT, is_trained_NT = ids_NT.to(device), is_trained_NT.to(device)
    positions_1T = torch.arange(num_prefix, num_prefix + longest, device=device)[None]
    hidden_NTD = body(
        input_ids=ids_NT,
        position_ids=positions_1T,
        cache=cache,
        use_cache=cache is not None,
    ).last_hidden_state
    is_asked_NT = is_trained_NT[:, 1:]
    return hidden_NTD[:, :-1][is_asked_NT], ids_NT[:, 1:][is_asked_NT]
