"""Tiny chat models with random weights through the code of real ones: a folder each, bytes as
tokens.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

END = 1
"""Id of `<|im_end|>`."""
ARCHITECTURES: dict[str, tuple[Any, Any]] = {
    "llama": (LlamaConfig, LlamaForCausalLM),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
}


def tiny_model(architecture: str = "llama", window: int = 16384) -> Any:
    """Return a model of two blocks, three key heads and six query heads."""
    kind, model = ARCHITECTURES[architecture]
    with torch.random.fork_rng():
        torch.manual_seed(5)
        config = kind(
            vocab_size=258,
            hidden_size=48,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=6,
            num_key_value_heads=3,
            head_dim=8,
            max_position_embeddings=window,
            tie_word_embeddings=False,
            initializer_range=0.3,
        )
        found: Any = model(config)
        return found.eval()


def save_tiny_chat(folder: Path, window: int = 16384) -> Path:
    """Save a tiny model that ends its turns soon, with its tokenizer, and return the folder."""
    model = tiny_model(window=window)
    with torch.no_grad():
        model.lm_head.weight[END] *= 4
    model.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def tiny_tokenizer() -> Any:
    """Return a tokenizer with a token for each byte, and the two of ChatML."""
    special = ["<|im_start|>", "<|im_end|>"]
    symbols = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(BPE({symbol: number for number, symbol in enumerate(symbols)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=special[0],
        eos_token=special[1],
        additional_special_tokens=special,
    )
