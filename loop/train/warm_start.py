"""The verb `train`: a policy learns from gold solutions, and is measured on the way.

    services   built and gated, as in round 0
    gold       tasks composed, told apart, and their gold played; no model
    sft-N      the policy after N trajectories, kept as a delta
    measure-N  that policy on the held-out tasks

Each point of the curve is two stages of the run's ledger: what is finished is read back, and what
was under way goes on from its last checkpoint or rollout.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from components.harness.rendering import rendering_version
from components.records.base import Record, to_json
from components.records.frozen import FrozenDict
from components.records.system import System
from loop.compute.pool import open_pool
from loop.config import EvaluateConfig, TrainConfig, as_round
from loop.console import Console
from loop.context import RoundContext
from loop.ledger import Ledger
from loop.ledger_files import pretty_json, write_file
from loop.policy.check import check_policy
from loop.policy.config import LocalPolicyConfig
from loop.policy.weights import load_model
from loop.seed_round import seed_services
from loop.services import check_settings
from loop.train.checkpoints import StepLoss
from loop.train.config import SftTraining
from loop.train.evaluation import Evaluation, adapted, evaluate, outcome
from loop.train.held_out import GoldData, draw_gold
from loop.train.kept import keep_policy, kept_policy
from loop.train.packing import Sample, num_samples
from loop.train.samples import SampleSet, samples_of
from loop.train.sft import Training, mean_loss
from loop.train.tuned import Start, delta_file, load_start, refuse_nothing, start_training

RESULT = "result.json"
CHECKPOINTS = "checkpoints"
_LOSS_TASKS = 16
"""Held-out tasks whose gold the loss is taken over, about."""


class Point(Record):
    """The policy after some trajectories."""

    trajectories: int
    """Trajectories trained on so far, again and again where there were passes."""
    steps: int
    adapter: str | None
    """Hash of its delta, in the folder `policy-N` of the run; None: the policy as it was."""
    bytes: int
    """Size of that delta."""
    losses: tuple[float | None, ...]
    """Nats per trained token at each step since the point before."""
    held_out_loss: float
    """Nats per trained token of gold of held-out tasks."""
    kept_loss: float
    """The same, with the delta as it was kept."""
    evaluation: Evaluation


class TrainResult(Record):
    """What came of `train`."""

    data: FrozenDict[str, int]
    """Counts of tasks and samples."""
    curve: tuple[Point, ...]


def train(config: TrainConfig, console: Console) -> Path:
    """Run or resume a warm start and return the file of its result.

    Raises:
        UserError: the configuration names what is not there, or what cannot be met, or another
            training has this run's name.
    """
    check_settings(as_round(config))
    check_policy(config.policy, config.train)
    ledger = Ledger(Path(config.runs_dir), config.run)
    with (
        ledger.locked(),
        open_pool(config.compute, console.line) as pool,
        ledger.open_round(0, config) as folder,
    ):
        context = RoundContext(0, as_round(config), folder, console, pool)
        path = folder.path / RESULT
        if not folder.is_finished or not path.exists():
            write_file(path, pretty_json(to_json(_train(context, config))), point="result")
            folder.finish()
        return path


def measure_policy(config: EvaluateConfig, console: Console) -> Evaluation:
    """Run or resume the verb `evaluate`: one policy on held-out tasks.

    Raises:
        UserError: the configuration names what is not there, or what cannot be met.
    """
    check_settings(as_round(config))
    ledger = Ledger(Path(config.runs_dir), config.run)
    with (
        ledger.locked(),
        open_pool(config.compute, console.line) as pool,
        ledger.open_round(0, config) as folder,
    ):
        context = RoundContext(0, as_round(config), folder, console, pool)
        system = _services(context)
        data = draw_gold(context, system, config.held_out, None)
        found = evaluate(context, "measure", system, data.held_out)
        folder.finish()
        return found


def _services(context: RoundContext) -> System:
    return context.load(
        context.folder.run_stage("services", lambda: seed_services(context))["system"]
    )


def _train(context: RoundContext, config: TrainConfig) -> TrainResult:
    system = _services(context)
    data = draw_gold(context, system, config.held_out, config.gold)
    learning = _Learning(context, config, system, data)
    points: list[Point] = []
    for count in config.curve:
        name = f"policy-{count:06d}"
        before = points[-1].steps if points else 0
        until = partial(learning.until, count, before)
        trained = context.folder.run_stage(f"sft-{count:06d}", until)
        adapter = trained["adapter"]
        after = context
        if adapter is not None:
            after = adapted(context, kept_policy(context.folder.path / name, adapter))
        found = evaluate(after, f"measure-{count:06d}", system, data.held_out)
        point = Point.model_validate({**trained, "evaluation": found})
        for line in (_shown(point), *outcome(found)):
            context.console.line(line)
        points.append(point)
    return TrainResult(data=FrozenDict(data.counts()), curve=tuple(points))


class _Learning:
    """The training behind the curve; nothing is loaded before a point of it is missing."""

    def __init__(
        self, context: RoundContext, config: TrainConfig, system: System, data: GoldData
    ) -> None:
        assert isinstance(config.train, SftTraining)
        self._context, self._data = context, data
        assert isinstance(config.policy, LocalPolicyConfig)
        self._recipe, self._policy = config.train, config.policy
        self._harness = rendering_version(system.harness)
        self._begun: tuple[Start, Training, SampleSet] | None = None

    def until(self, count: int, before: int) -> dict[str, Any]:
        """Train until `count` trajectories were seen and return the point without its measure.

        Args:
            count: trajectories.
            before: steps of the point before.
        """
        start, training, samples = self._begun = self._begun or self._begin()
        seen = list(accumulate(num_samples(step) for step in training.steps))
        num_steps = min(len(seen), bisect_left(seen, count) + 1) if count else 0
        training.run(num_steps, self._show)
        losses = [item.loss for item in training.losses[before:num_steps]]
        gold = self._held_out_samples(start)
        held_out_loss = mean_loss(training.model, gold, self._recipe.max_pack)
        point: dict[str, Any] = {
            "trajectories": seen[num_steps - 1] if num_steps else 0,
            "steps": num_steps,
            "losses": losses,
            "held_out_loss": held_out_loss,
        }
        if not num_steps:
            return {**point, "adapter": None, "bytes": 0, "kept_loss": held_out_loss}
        data = delta_file(start, training, self._recipe, self._harness, samples.counts())
        folder = self._context.folder.path / f"policy-{count:06d}"
        adapter = keep_policy(folder, data)
        kept = load_model(self._policy.model, str(kept_policy(folder, adapter))).model
        kept_loss = mean_loss(kept.to(self._policy.device), gold, self._recipe.max_pack)
        return {**point, "adapter": adapter, "bytes": len(data), "kept_loss": kept_loss}

    def _begin(self) -> tuple[Start, Training, SampleSet]:
        start = load_start(self._policy, self._recipe)
        samples = samples_of(
            [(draft.trajectory, draft.scored) for draft in self._data.train],
            start.tokens,
            max_tokens=self._recipe.max_tokens,
            masks_mistakes=self._recipe.masks_mistakes,
            slips={draft.trajectory.rollout_id: draft.slips for draft in self._data.train},
        )
        self._context.console.line(f"samples: {samples.counts()}")
        refuse_nothing(samples)
        folder = self._context.folder.path / CHECKPOINTS
        seed = self._context.config.seed
        return start, start_training(start, samples, self._recipe, seed, folder), samples

    def _held_out_samples(self, start: Start) -> tuple[Sample, ...]:
        drafts = self._data.held_out
        chosen = drafts[:: max(1, len(drafts) // _LOSS_TASKS)]
        return samples_of(
            [(draft.trajectory, draft.scored) for draft in chosen],
            start.tokens,
            max_tokens=self._recipe.max_tokens,
            masks_mistakes=False,
        ).samples

    def _show(self, done: int, total: int, step: StepLoss) -> None:
        del step
        self._context.console.progress("sft", done, total)


def _shown(point: Point) -> str:
    size = f", {point.bytes / 1e6:.1f} MB" if point.bytes else ""
    last = "" if not point.losses or point.losses[-1] is None else f"loss {point.losses[-1]:.4f}, "
    return (
        f"after {point.trajectories} trajectories: {last}on held-out gold "
        f"{point.held_out_loss:.4f} (as kept {point.kept_loss:.4f}{size})"
    )
