"""Settings of training: the data of a warm start, and the recipe."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from components.records.config import Config
from loop.policy.config import ErrorRates


class GoldConfig(Config):
    """Keys under `gold`: trajectories of gold solutions, played without a model."""

    trajectories: int = Field(ge=1)
    """Training trajectories, each of another task."""
    slip_share: float = Field(ge=0, le=1)
    """Share of trajectories that are played with slips and recoveries, so that failed calls are
    seen."""
    error_rates: ErrorRates
    """How often those slip, at each step."""


class HeldOutConfig(Config):
    """Keys under `held_out`: tasks that no policy is trained on."""

    tasks: int = Field(ge=1)
    """How many to play, divided evenly among the kinds where there are enough."""
    shorter_walks: bool
    """true: the walk length of each task, held out or not, is drawn from task.k + 1 up to
    task.walk_length; false: it is always task.walk_length."""
    fewer_distractors: bool
    """true: the number of distractors of each task, held out or not, is drawn from 0 up to
    task.distractors; false: it is always task.distractors."""
    max_drafts: int = Field(ge=1)
    """Drafts that are made in search of them; a kind that is rare gets fewer tasks."""


class NoTraining(Config):
    """`train=none`: rounds leave the policy as it is."""

    kind: Literal["none"]
    """No training."""


class SftTraining(Config):
    """`train=sft`: supervised fine-tuning on trajectories that passed."""

    kind: Literal["sft"]
    """Supervised fine-tuning."""
    weights: Literal["full", "lora"]
    """What is trained: the matrices themselves, or low-rank updates of every linear layer."""
    frozen_layers: int = Field(ge=0)
    """Lowest blocks that stay as they are; embeddings and head always do."""
    rank: int = Field(ge=1)
    """Rank of low-rank updates; weights=lora alone."""
    alpha: float = Field(gt=0, allow_inf_nan=False)
    """Low-rank updates are scaled by alpha / rank; weights=lora alone."""
    delta_bits: Literal[1, 2, 4, 8]
    """Bits that each trained entry is kept with; weights=full alone."""
    epochs: int = Field(ge=1)
    """Passes over the samples."""
    batch_size: int = Field(ge=1)
    """Samples of one step, at least; packs are not divided."""
    max_pack: int = Field(ge=1)
    """Samples that are in memory at once; what their prompts have in common is computed once."""
    learning_rate: float = Field(gt=0, allow_inf_nan=False)
    """AdamW's, constant between warm-up and cooldown."""
    warmup_steps: int = Field(ge=0)
    """Steps over which the learning rate rises."""
    cooldown_steps: int = Field(ge=0)
    """Last steps, over which it falls again."""
    weight_decay: float = Field(ge=0, allow_inf_nan=False)
    """AdamW's, on matrices alone."""
    clip: float = Field(gt=0, allow_inf_nan=False)
    """Largest norm of the gradient."""
    stops_at_prefix: bool
    """true: no gradient flows into the prompt that the samples of a pack share."""
    masks_mistakes: bool
    """true: turns whose call could not be read, failed, or is a known slip carry no loss."""
    max_tokens: int = Field(ge=64)
    """Longest sample in tokens (a system message alone has more than 64); longer ones are left out,
    and counted."""
    max_pass_rate: float = Field(gt=0, le=1, allow_inf_nan=False)
    """Tasks that a round's group of rollouts passes more often are left out, and counted as
    mastered: what the policy does anyway, it need not learn. 1: none is. Groups of one rollout are
    never left out. The verb train has no groups."""
    checkpoint_every: int = Field(ge=1)
    """Steps between two checkpoints."""
    held_out_tasks: int = Field(ge=0)
    """Held-out tasks that a round plays once before and once after its training; 0: none. The verb
    train has a key of its own."""


TrainingConfig = Annotated[NoTraining | SftTraining, Field(discriminator="kind")]
"""Keys under `train`."""
