"""Claims about the loss of a pack: sharing changes its cost and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from loop.train.losses import pack_loss
from loop.train.packing import pack_of
from tests.train.builders import drawn_samples, tiny_model

SAMPLES = [item for item in drawn_samples(6) if int(item.key[1:]) % 2 == 0]


def plain_loss(model: Any, ids: tuple[int, ...], is_trained: tuple[bool, ...]) -> Any:
    logits = model(input_ids=torch.tensor([ids])).logits[0]
    places = [index for index, trained in enumerate(is_trained) if trained]
    chosen = torch.tensor([ids[index] for index in places])
    before = logits[[index - 1 for index in places]]
    return functional.cross_entropy(before, chosen, reduction="sum")


def gradients(model: Any, loss: Any) -> list[torch.Tensor]:
    model.zero_grad()
    loss.backward()
    return [item.grad.clone() for item in model.parameters()]


def test_a_pack_costs_what_its_samples_cost_one_by_one() -> None:
    model = tiny_model()
    alone = sum(plain_loss(model, item.ids, item.is_trained) for item in SAMPLES)
    wanted = gradients(model, alone)

    pack = pack_of(SAMPLES)
    shared = pack_loss(model, pack, stops_at_prefix=False)
    found = gradients(model, shared)

    assert len(pack.prefix) == 12
    assert float(shared.detach()) == pytest.approx(float(alone.detach()), rel=1e-5)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_without_sharing_it_is_the_same() -> None:
    model = tiny_model()

    shared = pack_loss(model, pack_of(SAMPLES), stops_at_prefix=True)
    whole = pack_loss(model, pack_of(SAMPLES, is_shared=False), stops_at_prefix=True)

    assert float(shared.detach()) == pytest.approx(float(whole.detach()), rel=1e-5)


def test_stopping_at_the_prefix_keeps_the_value_and_changes_the_gradient() -> None:
    model, pack = tiny_model(), pack_of(SAMPLES)

    whole = pack_loss(model, pack, stops_at_prefix=False)
    stopped = pack_loss(model, pack, stops_at_prefix=True)
    pairs = list(zip(gradients(model, whole), gradients(model, stopped), strict=True))

    assert float(whole.detach()) == float(stopped.detach())
    assert any(not torch.allclose(one, other, rtol=1e-3) for one, other in pairs)
    cosine = functional.cosine_similarity(
        torch.cat([one.flatten() for one, _ in pairs]),
        torch.cat([other.flatten() for _, other in pairs]),
        dim=0,
    )
    assert 0.5 < float(cosine) < 1.0


def test_no_gradient_reaches_what_is_frozen() -> None:
    model, pack = tiny_model(), pack_of(SAMPLES)
    model.requires_grad_(False)
    model.model.layers[2:].requires_grad_(True)

    pack_loss(model, pack, stops_at_prefix=True).backward()  # type: ignore[no-untyped-call]

    assert all(item.grad is None for item in model.model.layers[:2].parameters())
    assert all(item.grad is not None for item in model.model.layers[2:].parameters())
