"""Keys of `rollout`, which plays somebody else's tasks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from components.records.config import Config, PathText
from loop.policy.config import PolicyConfig, ScriptedPolicyConfig


class RolloutVerbConfig(Config):
    """Keys of `rollout`."""

    tasks: PathText = Field(min_length=1)
    """Somebody else's tasks, as `certify` takes them: `tau2:retail`, `FILE.jsonl`, ..."""
    path: PathText | None
    """Checkout of the benchmark; null: what the interpreter has installed."""
    python: PathText | None
    """Interpreter that has the benchmark installed; null: this one."""
    policy: PolicyConfig
    """Who acts: a model; the scripted policy knows no foreign tasks."""
    count: int | None = Field(ge=1)
    """How many tasks are played, drawn with `seed`; null: all."""
    seed: int = Field(ge=0)
    """Seed of the drawn tasks and of sampling."""
    max_turns: int = Field(ge=1)
    """Messages of the policy in one episode."""
    max_user_turns: int = Field(ge=1)
    """Messages of the policy to the user in one episode."""
    max_turn_tokens: int = Field(ge=1)
    """Tokens that the policy may sample in one turn."""
    tool_style: Literal["json_schema", "signature", "compact"]
    """How tools are shown: whole JSON Schema, signature and description, or names alone."""
    concurrency: int = Field(ge=1)
    """Episodes in flight, where the policy waits for others."""
    out: PathText = Field(min_length=1)
    """File that the rollouts are written to, a line of chat messages each."""

    @model_validator(mode="after")
    def _a_model_acts(self) -> RolloutVerbConfig:
        if isinstance(self.policy, ScriptedPolicyConfig):
            raise ValueError(
                "policy=scripted plays tasks of its own alone; set policy=local or policy=openai"
            )
        return self
