"""The stage `train` of a round: the policy learns from what passed on the repaired system.

Owns which trajectories count and where the policy of a run is: the last delta that a round of it
kept. A task that is held out (`loop.train.split`) is played and never trained on. A round in which
nothing passed leaves the policy as it is, and says so.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from components.harness.rendering import rendering_version
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.trajectory import ScoredTrajectory, ScoreStatus, Trajectory
from loop.context import RoundContext
from loop.ledger import RoundFolder
from loop.policy.config import LocalPolicyConfig
from loop.rollouts import Rolled
from loop.summary import TrainingSummary
from loop.train.before_after import measured
from loop.train.config import SftTraining
from loop.train.kept import keep_policy, kept_policy
from loop.train.split import Kind, kind_of

_Scored = tuple[Trajectory, ScoredTrajectory]

STAGE = "train"
POLICY = "policy"
"""Folder of a round that holds the policy as the round leaves it."""
CHECKPOINTS = "checkpoints"
"""Folder of a round that a killed training goes on from; gone once the training is recorded."""
HELD_OUT = "held_out"
MASTERED = "mastered"


def with_trained_policy(context: RoundContext) -> RoundContext:
    """Return the context with the policy that the rounds before have trained.

    Raises:
        LedgerError: what they kept is missing or damaged.
    """
    policy = context.config.policy
    kept = kept_before(context.folder, context.number)
    if kept is None or not isinstance(policy, LocalPolicyConfig):
        return context
    changed = policy.model_copy(update={"adapter": str(kept)})
    return replace(context, config=context.config.model_copy(update={"policy": changed}))


def train_policy(context: RoundContext, system: System, after: Rolled) -> TrainingSummary | None:
    """Train on the valid samples of a pass; None where nothing is trained.

    Args:
        context: the open round, with the policy that acted.
        system: the system that the pass ran on.
        after: the pass.
    """
    recipe = context.config.train
    if not context.config.trains:
        if recipe.kind != "none" and context.config.policy.kind != "scripted":
            kind = context.config.policy.kind
            context.console.line(f"train: the weights of policy={kind} are not here; none learn")
        return None
    assert isinstance(recipe, SftTraining)

    def train() -> Path | None:
        compute = partial(_trained, context, system, after, recipe)
        result.update(context.folder.run_stage(STAGE, compute))
        # The delta is kept; what a killed training would have gone on from is many times as large.
        shutil.rmtree(context.folder.path / CHECKPOINTS, ignore_errors=True)
        adapter = result["adapter"]
        return None if adapter is None else kept_policy(context.folder.path / POLICY, adapter)

    result: dict[str, Any] = {}
    heldout = measured(context, system, recipe.held_out_tasks, train)
    return TrainingSummary(
        method=recipe.kind,
        samples=result["samples"],
        left_out=FrozenDict(result["left_out"]),
        figures=FrozenDict(result["figures"]),
        curves=FrozenDict({"sft_loss": tuple(result["losses"])}),
        heldout=heldout,
        checkpoint=None if result["adapter"] is None else POLICY,
    )


def _trained(
    context: RoundContext, system: System, after: Rolled, recipe: SftTraining
) -> dict[str, Any]:
    # Torch is loaded only here, so that a round that trains nothing does without.
    from loop.train.samples import samples_of
    from loop.train.tuned import delta_file, load_start, start_training

    policy = context.config.policy
    assert isinstance(policy, LocalPolicyConfig)
    allowed = {task_id for task_id in system.tasks if _may_train_on(system, task_id)}
    items = [
        (trajectory, after.scored[key])
        for key, trajectory in after.trajectories.items()
        if trajectory.task_id in allowed
    ]
    start = load_start(policy, recipe)
    unmastered = _unmastered(items, recipe.max_pass_rate)
    samples = samples_of(
        unmastered,
        start.tokens,
        max_tokens=recipe.max_tokens,
        masks_mistakes=recipe.masks_mistakes,
    )
    left_out = dict(samples.left_out)
    if len(items) < len(after.trajectories):
        left_out[HELD_OUT] = len(after.trajectories) - len(items)
    if num_mastered := len(items) - len(unmastered):
        left_out[MASTERED] = num_mastered
    result: dict[str, Any] = {
        "adapter": None,
        "samples": len(samples.samples),
        "left_out": left_out,
        "losses": [],
        "figures": {"steps": 0.0},
    }
    if not samples.samples:
        context.console.line("nothing that may be trained on has passed: the policy stays as it is")
        return result
    training = start_training(
        start, samples, recipe, context.config.seed, context.folder.path / CHECKPOINTS
    )
    training.run(
        on_step=lambda done, total, _: context.console.progress(STAGE, done, total),
        keeps_last=False,  # the delta is written next
    )
    harness = rendering_version(system.harness)
    data = delta_file(start, training, recipe, harness, samples.counts())
    losses = [step.loss for step in training.losses if step.loss is not None]
    counts = samples.counts()
    return {
        **result,
        "adapter": keep_policy(context.folder.path / POLICY, data),
        "losses": losses,
        "figures": {
            "steps": float(len(training.losses)),
            "trained_tokens": float(counts["trained_tokens"]),
            "masked_turns": float(counts["masked_turns"]),
            "delta_bytes": float(len(data)),
        },
    }


def _unmastered(items: list[_Scored], max_pass_rate: float) -> list[_Scored]:
    """Return the rollouts of the tasks that are not passed more often than that."""
    passes: dict[str, list[bool]] = {}
    for trajectory, scored in items:
        if scored.status is ScoreStatus.SCORED:
            passes.setdefault(trajectory.task_id, []).append(scored.passed is True)
    mastered = {
        task_id
        for task_id, group in passes.items()
        if len(group) > 1 and sum(group) > max_pass_rate * len(group)
    }
    return [item for item in items if item[0].task_id not in mastered]


def _may_train_on(system: System, task_id: str) -> bool:
    task, certificate = system.tasks[task_id], system.reference.certificates.get(task_id)
    if certificate is None:
        return False
    return kind_of(system.environment, task, certificate) is Kind.TRAIN


def kept_before(folder: RoundFolder, number: int) -> Path | None:
    """Return the delta that the last round before `number` kept; None where none did.

    Args:
        folder: any round of the run.
        number: a round; those before it are finished.

    Raises:
        LedgerError: what was kept is missing or damaged.
    """
    for earlier in range(number - 1, 0, -1):
        result = folder.earlier_result(earlier, STAGE)
        if result is not None and result["adapter"] is not None:
            return kept_policy(folder.earlier_path(earlier) / POLICY, result["adapter"])
    return None
