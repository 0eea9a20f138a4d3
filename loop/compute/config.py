"""Where the units of a round are worked on. Changes speed, never a result."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from components.records.config import Config


class LocalComputeConfig(Config):
    """`compute=local`: everything in this process."""

    kind: Literal["local"]
    """This process; needs nothing, and starts at once."""


class ProcessesComputeConfig(Config):
    """`compute=processes`: what computes is done by processes of this machine."""

    kind: Literal["processes"]
    """Processes of this machine, one unit at a time in each; nothing to install."""
    num_workers: int | None = Field(ge=1)
    """Processes; null: as many as the machine has processors."""


class RayComputeConfig(Config):
    """`compute=ray`: tasks, rollouts and verdicts are made by Ray workers."""

    kind: Literal["ray"]
    """Workers of Ray; they hold nothing that is not recorded here."""
    address: str | None = Field(pattern=r"^(auto|[^/\s]+:[0-9]+)$")
    """Existing cluster, as HOST:PORT or auto (the one on this machine); null: start workers on this
    machine, and end them with the round. A cluster's machines need the same version of Selvage, and
    what the policy reads from the environment."""
    num_workers: int | None = Field(ge=1)
    """Worker processes; null: as many as the processors allow."""
    cpus_per_worker: float = Field(gt=0, allow_inf_nan=False)
    """Processors that each worker reserves."""
    gpus_per_worker: float = Field(ge=0, allow_inf_nan=False)
    """GPUs that each worker reserves; it sees no others."""
    object_store_mb: int = Field(ge=80)
    """Shared memory for what workers read, in MB, where Ray is started here; what does not fit goes
    to /tmp."""


ComputeConfig = Annotated[
    LocalComputeConfig | ProcessesComputeConfig | RayComputeConfig, Field(discriminator="kind")
]
"""Keys under `compute`."""
