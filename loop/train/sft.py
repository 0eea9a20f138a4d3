"""Supervised fine-tuning: one code path for a small model on a CPU and a larger one on a GPU.

Owns the optimizer, what is trained and what is frozen, and the order of things in a step. A step's
gradient is that of the mean loss over its trained tokens, whatever its packs. Nothing is random
once the samples are in order: killed after any step and resumed, the weights are the same bits as
those of a run that was never killed (on one machine, with one number of threads).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from components.errors import ConfigError
from components.records.base import hash_record
from loop.train.checkpoints import StepLoss, load_checkpoint, save_checkpoint
from loop.train.config import SftTraining
from loop.train.lora import add_lora
from loop.train.losses import pack_loss
from loop.train.packing import Batching, Pack, Sample, steps_of

OnStep = Callable[[int, int, StepLoss], None]
"""Told after each step: steps done, steps in all, what the step came to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SftJob:
    """One training: its result depends on nothing else."""

    samples: Sequence[Sample]
    data: str
    """Hash of the samples."""
    model: str
    """Hash of the model that is trained."""
    recipe: SftTraining
    seed: int

    def identity(self) -> dict[str, str]:
        """Return what a checkpoint belongs to."""
        recipe = self.recipe.model_copy(update={"checkpoint_every": 1})
        return {
            "model": self.model,
            "data": self.data,
            "recipe": hash_record(recipe),
            "seed": str(self.seed),
        }

    def steps(self) -> list[tuple[Pack, ...]]:
        """Return the packs of every step."""
        batching = Batching(batch_size=self.recipe.batch_size, max_pack=self.recipe.max_pack)
        return list(steps_of(self.samples, batching, self.seed, self.recipe.epochs))


def prepare(model: Any, recipe: SftTraining, seed: int) -> dict[str, nn.Parameter]:
    """Freeze what is not trained, add what is, and return what is trained, by name.

    Embeddings, head and norms outside the blocks stay frozen. No gradient flows below the lowest
    block that is trained.

    Raises:
        ConfigError: nothing would be trained.
    """
    if recipe.weights == "lora":
        add_lora(model, recipe.rank, recipe.alpha, recipe.frozen_layers, seed)
    else:
        model.requires_grad_(False)
        for layer in model.model.layers[recipe.frozen_layers :]:
            layer.requires_grad_(True)
    trained = {name: item for name, item in model.named_parameters() if item.requires_grad}
    if not trained:
        raise ConfigError(
            f"train.frozen_layers={recipe.frozen_layers} leaves nothing to train: the model has "
            f"{len(model.model.layers)} blocks; lower it"
        )
    return trained


def learning_rate(recipe: SftTraining, number: int, total_steps: int) -> float:
    """Return the rate of step `number` (from 0): it rises, stays, and falls to nearly nothing."""
    warm = (number + 1) / (recipe.warmup_steps + 1)
    cool = (total_steps - number) / (recipe.cooldown_steps + 1)
    return recipe.learning_rate * min(1.0, warm, cool)


class Trainer:
    """A model, what of it is trained, and the optimizer's state."""

    def __init__(self, model: Any, recipe: SftTraining, seed: int) -> None:
        self.model = model
        self.parameters = prepare(model, recipe, seed)
        self._recipe = recipe
        decayed = [item for item in self.parameters.values() if item.dim() > 1]
        others = [item for item in self.parameters.values() if item.dim() <= 1]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": decayed, "weight_decay": recipe.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=recipe.learning_rate,
            betas=(0.9, 0.95),
            fused=True,
        )

    def step(self, number: int, total_steps: int, packs: Sequence[Pack]) -> StepLoss:
        """Take step `number` (from 0) on these packs; one without a finite gradient is skipped."""
        num_trained = sum(pack.num_trained for pack in packs)
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for pack in packs:
            loss = pack_loss(self.model, pack, stops_at_prefix=self._recipe.stops_at_prefix)
            (loss / num_trained).backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        norm = float(nn.utils.clip_grad_norm_(self.parameters.values(), self._recipe.clip))
        if math.isfinite(norm):
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate(self._recipe, number, total_steps)
            self.optimizer.step()
        mean = total / num_trained
        return StepLoss(
            loss=mean if math.isfinite(mean) else None,
            num_trained=num_trained,
            grad_norm=norm if math.isfinite(norm) else None,
        )

    def tensors(self) -> dict[str, Tensor]:
        """Return everything that changes from step to step, by name."""
        found: dict[str, Tensor] = {}
        for name, item in self.parameters.items():
            found[f"weight/{name}"] = item
            for key, value in self.optimizer.state.get(item, {}).items():
                found[f"{key}/{name}"] = value
        return found

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take back what `tensors` returned."""
        for name, item in self.parameters.items():
            with torch.no_grad():
                item.copy_(tensors[f"weight/{name}"])
            state = {
                key: tensors[f"{key}/{name}"].to(item.device)
                for key in ("step", "exp_avg", "exp_avg_sq")
                if f"{key}/{name}" in tensors
            }
            if state:
                self.optimizer.state[item] = state


class Training:
    """A training that can be stopped after any step, and goes on where its folder says."""

    def __init__(self, model: Any, job: SftJob, folder: Path) -> None:
        """Args: model: changed in place, without updates beside it yet; job; folder: of its
        checkpoint.

        Raises:
            LedgerError: the folder holds another training, or is damaged.
        """
        found = load_checkpoint(folder, job.identity())
        self.model = model
        self.steps = job.steps()
        self.losses: tuple[StepLoss, ...] = ()
        self._job, self._folder = job, folder
        self._trainer = Trainer(model, job.recipe, job.seed)
        if found is not None:
            self._trainer.restore(found[1])
            self.losses = found[0].losses

    def run(
        self,
        num_steps: int | None = None,
        on_step: OnStep | None = None,
        *,
        keeps_last: bool = True,
    ) -> None:
        """Train until `num_steps` steps are done (None: all of them), and keep checkpoints.

        Args:
            num_steps: counted from the training's begin.
            on_step: is told of each.
            keeps_last: also keep one after the last step; what comes next may take long.

        Raises:
            LedgerError: a checkpoint cannot be written.
        """
        last = len(self.steps) if num_steps is None else num_steps
        for number in range(len(self.losses), last):
            done = self._trainer.step(number, len(self.steps), self.steps[number])
            self.losses = (*self.losses, done)
            count = number + 1
            if count % self._job.recipe.checkpoint_every == 0 or (keeps_last and count == last):
                save_checkpoint(
                    self._folder, count, self._job.identity(), self.losses, self._trainer.tensors()
                )
            if on_step is not None:
                on_step(count, last, done)


@torch.no_grad()
def mean_loss(model: Any, samples: Sequence[Sample], max_pack: int) -> float:
    """Return the mean loss (nats) of all trained tokens of some samples."""
    batching = Batching(batch_size=1, max_pack=max_pack)
    total, count = 0.0, 0
    for (pack,) in steps_of(samples, batching, 0, 1):
        total += float(pack_loss(model, pack, stops_at_prefix=True))
        count += pack.num_trained
    return total / count
