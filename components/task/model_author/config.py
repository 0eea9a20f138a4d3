"""Who authors tasks: the grammar, or a model behind an endpoint."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from components.model.config import ModelConfig
from components.records.config import Config, PathText
from components.task.config import TaskConfig

_OF_GRAMMAR = ("multi_turn", "implicit", "policies")
"""Keys of what the grammar alone can put into words."""


class GrammarTaskAuthorConfig(Config):
    """`task.author=grammar`: the built-in grammar; no model."""

    kind: Literal["grammar"]
    """No model."""


class ModelTaskAuthorConfig(ModelConfig):
    """`task.author=model`: a model explores, designs and solves each task, under the gates of all
    tasks. The budget is what a whole set may cost."""

    section: ClassVar[str] = "task.author"

    revisions: int = Field(ge=0, le=20)
    """How often a draft may be designed again, after its author was told why the last design was
    refused."""
    explore_calls: int = Field(ge=1, le=200)
    """Calls that the author may make to look round before it designs."""
    probe_calls: int = Field(ge=2, le=200)
    """Calls in which a request must be solved."""
    replay: PathText | None = Field(min_length=1)
    """JSONL file that answers every request instead of the endpoint, such as the `author.jsonl` of
    a set; null: the endpoint does."""


TaskAuthorConfig = Annotated[
    GrammarTaskAuthorConfig | ModelTaskAuthorConfig, Field(discriminator="kind")
]
"""Keys under `task.author`."""


class ComposedTaskConfig(TaskConfig):
    """Keys under `task` of `compose`."""

    author: TaskAuthorConfig
    """Who writes requests and solutions: the grammar, or a model."""

    @model_validator(mode="after")
    def _grammar_alone(self) -> ComposedTaskConfig:
        if isinstance(self.author, ModelTaskAuthorConfig):
            for name in _OF_GRAMMAR:
                if getattr(self, name):
                    raise ValueError(
                        f"task.{name} is for task.author=grammar (got task.{name}="
                        f"{getattr(self, name):g} with task.author=model); drop task.{name}"
                    )
        return self

    def shape(self) -> TaskConfig:
        """Return the keys that every author reads."""
        return TaskConfig.model_validate(self.model_dump(exclude={"author"}))
