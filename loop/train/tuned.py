"""From samples to a kept policy: load, put the old adapter on, train, compress.

Owns what a trained policy is: one delta on the plain model, however many trainings went before. The
plain weights are hashed before anything is put on top of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from components.errors import ConfigError
from components.records.base import to_json
from components.records.frozen import FrozenDict, content_hash
from loop.policy.check import adapter_file
from loop.policy.config import LocalPolicyConfig
from loop.policy.tokens import ChatTokens
from loop.policy.weights import LoadedModel, load_model
from loop.train.config import SftTraining
from loop.train.delta import (
    DeltaMeta,
    Tensors,
    add_delta,
    delta_bytes,
    difference_delta,
    joined,
    lora_delta,
    read_delta,
    weights_hash,
)
from loop.train.samples import SampleSet
from loop.train.sft import SftJob, Training


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a training starts: the plain model with what was trained before put on top."""

    loaded: LoadedModel
    """Its model holds `before` already."""
    tokens: ChatTokens
    base: str
    """Hash of the plain weights."""
    before: Tensors
    """The delta that is on top; empty when none is."""
    plain: dict[str, Tensor]
    """The plain weights, where matrices are trained themselves; otherwise empty."""


def load_start(policy: LocalPolicyConfig, recipe: SftTraining) -> Start:
    """Load the policy that is to be trained, in single precision, on its device.

    Args:
        policy: names the plain model, the delta on top of it, and the device.
        recipe: says whether the plain weights are needed afterwards.

    Raises:
        PolicyError: model or adapter is not there, or they do not fit.
    """
    loaded = load_model(policy.model, None)
    model, tokens = loaded.model, ChatTokens(loaded.tokenizer)
    tokens.refuse_unknown(model.get_input_embeddings().num_embeddings)
    plain: dict[str, Tensor] = {}
    if recipe.weights == "full":
        plain = {name: item.detach().clone() for name, item in model.named_parameters()}
    base = weights_hash(model)
    before: Tensors = {}
    if policy.adapter is not None:
        before, _ = read_delta(adapter_file(policy.adapter), base)
        add_delta(model, before)
    model.to(policy.device)
    return Start(
        loaded=loaded,
        tokens=tokens,
        base=base,
        before=before,
        plain=plain,
    )


def refuse_nothing(samples: SampleSet) -> None:
    """Raise when there is nothing to train on.

    Raises:
        ConfigError: says why each trajectory was left out.
    """
    if not samples.samples:
        reasons = ", ".join(f"{reason} {count}" for reason, count in samples.left_out.items())
        raise ConfigError(
            f"there is no trajectory to train on ({reasons or 'none was given'}); raise "
            "train.max_tokens where they are too long, or change what is played"
        )


def start_training(
    start: Start, samples: SampleSet, recipe: SftTraining, seed: int, folder: Path
) -> Training:
    """Begin a training, or go on with the one whose checkpoint is in `folder`.

    Raises:
        LedgerError: the folder holds another training, or is damaged.
    """
    before = {
        key: hashlib.sha256(item.contiguous().numpy().tobytes()).hexdigest()
        for key, item in start.before.items()
    }
    job = SftJob(
        samples=samples.samples,
        data=samples.content,
        model=content_hash([start.base, before]),
        recipe=recipe,
        seed=seed,
    )
    return Training(start.loaded.model, job, folder)


def delta_file(
    start: Start, training: Training, recipe: SftTraining, harness: str, data: dict[str, int]
) -> bytes:
    """Return the file of the whole change from the plain model to what is trained now.

    Args:
        start: where the training started.
        training: as far as it is.
        recipe: how it was trained.
        harness: version of the harness that the samples were made with.
        data: counts of the samples.
    """
    if recipe.weights == "lora":
        tensors = joined(start.before, lora_delta(training.model))
    else:
        tensors = difference_delta(start.plain, training.model, recipe.delta_bits)
    meta = DeltaMeta(
        base=start.base,
        harness=harness,
        recipe=FrozenDict(to_json(recipe)),
        data=FrozenDict({**data, "steps": len(training.losses)}),
    )
    return delta_bytes(tensors, meta)
