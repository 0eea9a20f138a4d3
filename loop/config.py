"""The whole configuration of a verb, joined from its parts, and the one dial that sets sizes.

`conf/` holds the values; the models here and in the packages hold their meaning. Nothing past this
line sees Hydra.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from attribution.config import AttributionConfig, FaultsConfig
from components.environment.config import EnvironmentConfig
from components.evaluator.config import EvaluatorConfig
from components.harness.config import HarnessConfig
from components.records.config import Config
from components.task.config import TaskConfig
from loop.policy.config import PolicyConfig

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
Scale = Literal["smoke", "small", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What `scale` and the keys that override it come to."""

    num_tasks: int
    group_size: int


SCALES: dict[Scale, Sizes] = {
    "smoke": Sizes(num_tasks=6, group_size=2),
    "small": Sizes(num_tasks=32, group_size=4),
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
    runs_dir: str = Field(min_length=1)
    """Folder of all runs and of the store that they share."""
    round: int | None = Field(ge=0)
    """Round to run or resume (0: only the seed system); null: the first that is not finished."""
    seed: int = Field(ge=0)
    """Seed of everything that is drawn."""
    scale: Scale
    """One dial for sizes left null: smoke 6 tasks x 2 rollouts, small 32 x 4, full 200 x 8."""
    out: str | None
    """File that the round's summary is also written to, as JSON; null: none."""
    environment: EnvironmentConfig
    """Services."""
    task: TaskConfig
    """Tasks."""
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
    tracking: TrackingConfig
    """Where metrics go."""


def sizes_of(config: RunConfig) -> Sizes:
    """Return how many tasks and rollouts a task a configuration asks for."""
    dial, count, group_size = SCALES[config.scale], config.task.count, config.rollout.group_size
    return Sizes(
        num_tasks=dial.num_tasks if count is None else count,
        group_size=dial.group_size if group_size is None else group_size,
    )


class BenchConfig(Config):
    """Keys of `bench`."""

    benchmark: Literal["world"]
    """Which benchmark; the word after `bench`."""
    scale: Scale
    """How long it measures: smoke for seconds, small for a minute, full for a good figure."""
    seed: int = Field(ge=0)
    """Seed of everything that is drawn."""
    out: str | None
    """File that the result is also written to, as JSON; null: none."""
