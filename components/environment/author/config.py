"""Who writes services: nobody beyond the compiler, or a model behind an endpoint."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from components.model.config import ModelConfig
from components.records.config import Config, PathText


class NoAuthorConfig(Config):
    """`environment.author=none`: the compiler's blueprints alone; no model."""

    kind: Literal["none"]
    """No author."""


class ModelAuthorConfig(ModelConfig):
    """`environment.author=model`: a model writes what the compiler could not. The budget is what
    one service may cost."""

    section: ClassVar[str] = "environment.author"

    revisions: int = Field(ge=0, le=50)
    """How often a version may be revised after its tests were read."""
    source: PathText | None = Field(min_length=1)
    """Folder or file with the server's own source, which the model may read; null: none."""
    sandbox: Literal["bubblewrap", "unsafe"]
    """Walls around the code: bubblewrap, or unsafe (limits only, for code that may be trusted)."""
    deadline_seconds: float = Field(gt=0, allow_inf_nan=False)
    """Seconds that one call of written code may take."""
    record: PathText | None = Field(min_length=1)
    """JSONL file that every exchange is appended to; what it holds already is not asked again."""
    replay: PathText | None = Field(min_length=1)
    """JSONL file that answers every request instead of the endpoint; null: the endpoint does."""


AuthorConfig = Annotated[NoAuthorConfig | ModelAuthorConfig, Field(discriminator="kind")]
"""Keys under `environment.author`."""
