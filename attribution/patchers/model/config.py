"""Who proposes patches where the rules find none: nobody, or a model behind an endpoint."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from components.model.config import ModelConfig
from components.records.config import Config


class NoPatcherConfig(Config):
    """`attribution.patcher=none`: the rules alone; no model."""

    kind: Literal["none"]
    """No model."""


class ModelPatcherConfig(ModelConfig):
    """`attribution.patcher=model`: a model is asked where no rule mends a failure mode. The budget
    is what one round may cost."""

    section: ClassVar[str] = "attribution.patcher"

    revisions: int = Field(ge=0, le=10)
    """How often a patch may be proposed again for a failure mode, after it was told why the last
    one was refused or rolled back."""


PatcherConfig = Annotated[NoPatcherConfig | ModelPatcherConfig, Field(discriminator="kind")]
"""Keys under `attribution.patcher`."""
