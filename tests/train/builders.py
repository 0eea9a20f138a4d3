"""A tiny causal model through the code of a real one, samples, and a recipe by keyword."""

from __future__ import annotations

import random
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from loop.train.config import SftTraining
from loop.train.packing import Sample

VOCABULARY = 96


def tiny_model(seed: int = 0) -> Any:
    """Return a Llama of 4 blocks with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
            tie_word_embeddings=True,
        )
        model: Any = LlamaForCausalLM(config)
        return model.eval()


def sample(key: str, ids: list[int], trained: list[int], num_system: int = 4) -> Sample:
    """Return a sample that learns the tokens at these places."""
    return Sample(
        key=key,
        ids=tuple(ids),
        is_trained=tuple(index in trained for index in range(len(ids))),
        num_system=num_system,
    )


def drawn_samples(num: int, seed: int = 0, system: int = 12) -> list[Sample]:
    """Return samples of two system prompts, with two trained spans each."""
    rng = random.Random(seed)
    prompts = [[rng.randrange(VOCABULARY) for _ in range(system)] for _ in range(2)]
    found = []
    for number in range(num):
        rest = [rng.randrange(VOCABULARY) for _ in range(rng.randrange(16, 28))]
        ids = prompts[number % 2] + rest
        trained = [*range(system + 4, system + 8), *range(len(ids) - 5, len(ids))]
        found.append(sample(f"r{number:02d}", ids, trained, system))
    return found


def recipe(**given: Any) -> SftTraining:
    """Return a recipe, small and quick where nothing else is given."""
    values: dict[str, Any] = {
        "kind": "sft",
        "weights": "full",
        "frozen_layers": 1,
        "rank": 4,
        "alpha": 8.0,
        "delta_bits": 8,
        "epochs": 2,
        "batch_size": 4,
        "max_pack": 3,
        "learning_rate": 0.003,
        "warmup_steps": 2,
        "cooldown_steps": 0,
        "held_out_tasks": 0,
        "weight_decay": 0.01,
        "clip": 1.0,
        "stops_at_prefix": True,
        "masks_mistakes": True,
        "max_tokens": 200,
        "max_pass_rate": 1.0,
        "checkpoint_every": 3,
    }
    return SftTraining(**{**values, **given})
