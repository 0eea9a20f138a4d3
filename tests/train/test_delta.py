"""Claims about deltas: what is kept is what was trained, within what its bits can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from components.errors import PolicyError
from components.records.frozen import FrozenDict
from loop.train.delta import (
    DeltaMeta,
    Tensors,
    add_delta,
    apply_delta,
    difference_delta,
    joined,
    lora_delta,
    low_rank_delta,
    quantised,
    restored,
    save_delta,
    weights_hash,
)
from loop.train.lora import add_lora, lora_layers, merge_lora
from tests.train.builders import tiny_model


def meta(base: str) -> DeltaMeta:
    return DeltaMeta(
        base=base, harness="h", recipe=FrozenDict({"rank": 4}), data=FrozenDict({"samples": 3})
    )


def with_lora(seed: int, size: float = 0.05) -> Any:
    """Return a model with updates that are not zero."""
    model = tiny_model()
    add_lora(model, 4, 8.0, 1, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, layer in lora_layers(model):
            layer.b_OR.add_(size * torch.randn(layer.b_OR.shape, generator=generator))
    return model


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(input_ids=torch.arange(20)[None]).logits
    return found


def moved(model: Any, size: float) -> Any:
    """Return the model with its upper blocks moved a little."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for item in model.model.layers[2:].parameters():
            item += size * torch.randn(item.shape, generator=generator)
    return model


def test_a_new_update_changes_nothing() -> None:
    model = tiny_model()
    before = logits(model)

    add_lora(model, 4, 8.0, 0, 1)

    assert torch.equal(logits(model), before)


def test_two_starts_of_one_seed_are_the_same_bits() -> None:
    one, other = tiny_model(), tiny_model()
    add_lora(one, 4, 8.0, 0, 1)
    torch.rand(5)
    add_lora(other, 4, 8.0, 0, 1)

    pairs = zip(one.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(first, second) for first, second in pairs)


def test_a_kept_update_acts_as_the_trained_one(tmp_path: Path) -> None:
    tuned = with_lora(1)
    save_delta(tmp_path / "delta.safetensors", lora_delta(tuned), meta(weights_hash(tiny_model())))

    kept = tiny_model()
    found = apply_delta(kept, tmp_path / "delta.safetensors")
    wanted = logits(tuned)
    merge_lora(tuned)

    assert found.recipe == {"rank": 4}
    torch.testing.assert_close(logits(kept), wanted, rtol=1e-3, atol=2e-3)
    torch.testing.assert_close(logits(tuned), wanted, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(logits(tiny_model()), wanted, atol=1e-2)


def test_a_second_training_is_joined_to_the_first() -> None:
    first = with_lora(1)
    before = lora_delta(first)
    merge_lora(first)
    add_lora(first, 2, 4.0, 2, 2)
    with torch.no_grad():
        for _, layer in lora_layers(first):
            layer.b_OR.add_(0.1)
    wanted = logits(first)

    whole = joined(before, lora_delta(first))
    kept = tiny_model()
    add_delta(kept, whole)

    torch.testing.assert_close(logits(kept), wanted, rtol=1e-3, atol=5e-3)
    assert whole["model.layers.3.self_attn.q_proj.weight/a"].shape == (6, 32)
    assert whole["model.layers.1.self_attn.q_proj.weight/a"].shape == (4, 32)


@pytest.mark.parametrize(("bits", "error"), [(1, 0.7), (2, 0.4), (4, 0.13), (8, 0.012)])
def test_a_quantised_difference_is_as_near_as_its_bits_allow(bits: int, error: float) -> None:
    drawn = torch.randn((48, 33), generator=torch.Generator().manual_seed(1)) * 1e-3

    codes, scale = quantised(drawn, bits)
    found = restored(codes, scale, bits, 33)

    assert codes.dtype == torch.uint8
    assert codes.shape == (48, -(-33 * bits // 8))
    assert float((found - drawn).norm() / drawn.norm()) < error


def test_one_bit_is_sign_and_mean() -> None:
    codes, scale = quantised(torch.tensor([[0.1, -0.3, 0.2, 0.4]]), 1)

    assert codes.tolist() == [[0b1101]]
    assert scale.tolist() == pytest.approx([0.25])
    assert restored(codes, scale, 1, 4)[0].tolist() == pytest.approx([0.25, -0.25, 0.25, 0.25])


@pytest.mark.parametrize("bits", [2, 8])
def test_a_tuned_model_is_kept_as_a_quantised_difference(bits: int) -> None:
    plain = dict(tiny_model().named_parameters())
    tuned = moved(tiny_model(), 0.01)

    tensors = difference_delta(plain, tuned, bits)
    kept = tiny_model()
    add_delta(kept, tensors)

    assert {key.split("/")[0].rsplit(".", 1)[0] for key in tensors} <= {
        name.rsplit(".", 1)[0] for name, _ in tuned.named_parameters() if ".layers." in name
    }
    before = float((logits(tiny_model()) - logits(tuned)).norm())
    after = float((logits(kept) - logits(tuned)).norm())
    assert after < before * (0.6 if bits == 2 else 0.02)


def test_low_rank_of_a_low_rank_difference_is_exact() -> None:
    tuned = with_lora(3)
    plain = dict(tiny_model().named_parameters())
    merge_lora(tuned)

    tensors = low_rank_delta(plain, tuned, 4)
    kept = tiny_model()
    add_delta(kept, tensors)

    torch.testing.assert_close(logits(kept), logits(tuned), rtol=1e-3, atol=2e-3)


def test_a_delta_of_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "delta.safetensors"
    save_delta(path, lora_delta(with_lora(1)), meta(weights_hash(tiny_model(seed=9))))
    model = tiny_model()

    with pytest.raises(PolicyError, match="belongs to another model"):
        apply_delta(model, path)

    assert weights_hash(model) == weights_hash(tiny_model())


@pytest.mark.parametrize("content", [b"", b"not a delta at all", b"\x08\0\0\0\0\0\0\0{}      "])
def test_what_is_no_delta_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "delta.safetensors"
    path.write_bytes(content)

    with pytest.raises(PolicyError, match=r"cannot be read as an adapter .*set policy\.adapter"):
        apply_delta(tiny_model(), path)


def test_one_delta_is_one_sequence_of_bytes(tmp_path: Path) -> None:
    tensors: Tensors = lora_delta(with_lora(1))
    turned = dict(reversed(tensors.items()))

    save_delta(tmp_path / "a", tensors, meta("m"))
    save_delta(tmp_path / "b", turned, meta("m"))

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
