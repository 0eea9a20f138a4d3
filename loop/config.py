"""The whole configuration of a verb, joined from its parts, and the one dial that sets sizes.

`conf/` holds the values; the models here and in the packages hold their meaning. Nothing past this
line sees Hydra.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from attribution.config import AttributionConfig, FaultsConfig, NoFaults
from attribution.patchers.model.config import NoPatcherConfig
from components.environment.config import EnvironmentConfig
from components.evaluator.config import EvaluatorConfig
from components.harness.config import HarnessConfig
from components.records.config import Config, PathText
from components.task.config import TaskConfig
from loop.compute.config import ComputeConfig
from loop.growth.config import NO_GROWTH, GrowConfig
from loop.policy.config import PolicyConfig
from loop.train.config import GoldConfig, HeldOutConfig, NoTraining, TrainingConfig

RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
STORE_FOLDER = "store"
"""Folder of the content-addressed store under `runs_dir`; no run may have this name."""


def _number_as_text(value: object) -> object:
    return str(value) if type(value) is int else value


def _check_run_name(name: str) -> str:
    # Folded: a file system may take `Store` and `store` for one folder.
    if not RUN_NAME.fullmatch(name) or name.casefold() == STORE_FOLDER:
        raise ValueError(
            f"run must be a folder name of letters, digits, '.', '_' and '-' other than "
            f"'{STORE_FOLDER}' (got '{name}'); set run=mine"
        )
    return name


RunName = Annotated[str, BeforeValidator(_number_as_text), AfterValidator(_check_run_name)]
TextId = Annotated[str, BeforeValidator(_number_as_text), Field(min_length=1)]
Scale = Literal["smoke", "small", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What `scale` and the keys that override it come to."""

    num_tasks: int
    group_size: int


SCALES: dict[Scale, Sizes] = {
    "smoke": Sizes(num_tasks=3, group_size=2),
    "small": Sizes(num_tasks=16, group_size=4),
    "full": Sizes(num_tasks=200, group_size=8),
}


class RolloutConfig(Config):
    """Keys under `rollout`."""

    group_size: int | None = Field(ge=1)
    """Rollouts of each task (G); null: what `scale` says."""
    concurrency: int = Field(ge=1)
    """Rollouts in flight at once; changes no result."""


class NoTracking(Config):
    """`tracking=none`: nothing is logged outside the run folder."""

    kind: Literal["none"]
    """No tracker."""


class WandbTracking(Config):
    """`tracking=wandb`: metrics also go to Weights & Biases."""

    kind: Literal["wandb"]
    """Weights & Biases."""
    project: str = Field(min_length=1)
    """Project that runs are logged to."""
    mode: Literal["auto", "online", "offline"]
    """auto: online where a key is set, otherwise offline, with files in the run folder."""


TrackingConfig = Annotated[NoTracking | WandbTracking, Field(discriminator="kind")]


class RunConfig(Config):
    """Everything that a round depends on."""

    run: RunName
    """Name of the run: its folder under `runs_dir`. In a sweep, each job adds 8 digits to it."""
    runs_dir: PathText = Field(min_length=1)
    """Folder of all runs and of the store that they share."""
    round: int | None = Field(ge=0)
    """Round to run or resume (0: only the seed system); null: the first that is not finished."""
    seed: int = Field(ge=0)
    """Seed of everything that is drawn."""
    scale: Scale
    """One dial for sizes left null: smoke 3 tasks x 2 rollouts, small 16 x 4, full 200 x 8."""
    out: PathText | None
    """File that the round's summary is also written to, as JSON; null: none."""
    dry_run: bool
    """true: run and write nothing, and say what the round would do."""
    environment: EnvironmentConfig
    """Services."""
    task: TaskConfig
    """Tasks."""
    grow: GrowConfig
    """What later rounds add."""
    harness: HarnessConfig
    """Overrides of the seed harness."""
    evaluator: EvaluatorConfig
    """Reward."""
    policy: PolicyConfig
    """Who acts."""
    rollout: RolloutConfig
    """How rollouts are run."""
    attribution: AttributionConfig
    """Blame and repair."""
    faults: FaultsConfig
    """Defects that are planted on purpose."""
    train: TrainingConfig
    """What a policy whose weights are here (policy=local) learns from the round."""
    compute: ComputeConfig
    """Who does the work; changes no result."""
    tracking: TrackingConfig
    """Where metrics go."""

    @property
    def trains(self) -> bool:
        """Whether a round ends with a training: only weights that are here can be trained."""
        return self.train.kind != "none" and self.policy.kind == "local"


def sizes_of(config: RunConfig) -> Sizes:
    """Return how many tasks and rollouts a task a configuration asks for."""
    dial, count, group_size = SCALES[config.scale], config.task.count, config.rollout.group_size
    return Sizes(
        num_tasks=dial.num_tasks if count is None else count,
        group_size=dial.group_size if group_size is None else group_size,
    )


class EvaluateConfig(Config):
    """Keys of `evaluate`."""

    run: RunName
    """Name of the run: its folder under `runs_dir`. In a sweep, each job adds 8 digits to it."""
    runs_dir: PathText = Field(min_length=1)
    """Folder of all runs and of the store that they share."""
    seed: int = Field(ge=0)
    """Seed of everything that is drawn; with the same keys of `task`, the same tasks."""
    out: PathText | None
    """File that the result is also written to, as JSON; null: none."""
    environment: EnvironmentConfig
    """Services."""
    task: TaskConfig
    """Tasks; count has no effect."""
    held_out: HeldOutConfig
    """Tasks that no policy is trained on."""
    harness: HarnessConfig
    """Overrides of the seed harness."""
    evaluator: EvaluatorConfig
    """Reward."""
    policy: PolicyConfig
    """Who acts."""
    rollout: RolloutConfig
    """How rollouts are run; group_size null: one of each task."""
    compute: ComputeConfig
    """Who does the work; changes no result."""


class TrainConfig(EvaluateConfig):
    """Keys of `train`."""

    gold: GoldConfig
    """What is learned from."""
    train: TrainingConfig
    """How it is learned."""
    curve: tuple[int, ...] = Field(min_length=1)
    """Numbers of trajectories, rising, after each of which the policy is kept and measured (0: as
    it is now); what is trained ends with the last. More than there are: passes over them again."""

    @model_validator(mode="after")
    def _is_a_training(self) -> TrainConfig:
        if self.train.kind == "none" or self.policy.kind != "local":
            raise ValueError(
                f"the verb train needs policy=local and a method (got policy={self.policy.kind} "
                f"train={self.train.kind}); set policy=local train=sft"
            )
        if list(self.curve) != sorted(set(self.curve)) or self.curve[0] < 0:
            raise ValueError(
                f"curve must rise from 0 or more (got {list(self.curve)}); set 'curve=[0,100]'"
            )
        return self


def as_round(config: EvaluateConfig) -> RunConfig:
    """Return the configuration of a round without growth, blame and training, for its rollouts."""
    group_size = config.rollout.group_size
    return RunConfig(
        run=config.run,
        runs_dir=config.runs_dir,
        round=0,
        seed=config.seed,
        scale="smoke",
        out=config.out,
        dry_run=False,
        environment=config.environment,
        task=config.task,
        grow=NO_GROWTH,
        harness=config.harness,
        evaluator=config.evaluator,
        policy=config.policy,
        rollout=config.rollout.model_copy(update={"group_size": group_size or 1}),
        attribution=AttributionConfig(
            audit_share=0.0,
            patches_per_mode=1,
            accept="auto",
            max_patches=None,
            patcher=NoPatcherConfig(kind="none"),
            guard_margin=0.1,
            guard_alpha=0.05,
        ),
        faults=NoFaults(kind="none"),
        train=NoTraining(kind="none"),
        compute=config.compute,
        tracking=NoTracking(kind="none"),
    )
