"""The harness as an artifact: all data, all patchable."""

from __future__ import annotations

from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from components.records.base import Record
from components.records.frozen import FrozenDict


class ParserSettings(Record):
    """One parser of tool calls."""

    enabled: bool = True
    rank: int = Field(ge=0)
    """Parsers are tried by rank; the first that finds a call wins."""


class Limits(Record):
    """All budgets of an episode in one place."""

    max_turns: int = Field(default=24, ge=1)
    """Policy messages in one episode."""
    max_user_turns: int = Field(default=16, ge=1)
    """Policy messages to the user in one episode of a multi-turn task."""
    max_calls_per_turn: int = Field(default=8, ge=1)
    max_invalid_turns: int = Field(default=3, ge=1)
    """Consecutive turns without a usable call before the episode ends."""
    max_turn_tokens: int = Field(default=512, ge=1)
    """Tokens that the policy may sample in one turn."""
    max_context_chars: int = Field(default=120_000, ge=1000)
    """Characters of the whole conversation; a policy with a tokenizer also counts tokens."""
    max_observation_chars: int = Field(default=4000, ge=50)
    """Characters of one observation as shown; longer ones are paged, with a line that says so."""

    @model_serializer(mode="wrap")
    def _plainly(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Limits that leave the user's turns at the default are written without that key."""
        body: dict[str, Any] = handler(self)
        is_default = self.max_user_turns == type(self).model_fields["max_user_turns"].default
        return {key: body[key] for key in body if not (is_default and key == "max_user_turns")}


class HarnessSettings(Record):
    """Prompts, rendering, parsers, limits, error feedback, tool exposure."""

    schema_version: int = Field(default=1, ge=1, le=1)
    system_prompt: str
    """Jinja2 template over `tools` (list of name, description, signature, schema), `now`, `rules`.
    """
    user_prompt: str
    """Jinja2 template over `instruction`, `answer_schema` and `answer` (the schema in a line)."""
    observation: str
    """Jinja2 template over `name`, `call_id` and `body` (the observation's JSON text)."""
    invalid_call_feedback: str
    """Jinja2 template over `problem`: shown when a call could not be parsed."""
    tool_style: str = Field(default="compact", pattern="^(json_schema|signature|compact)$")
    """How tools are shown: whole JSON Schema, signature and description, or names alone."""
    tool_exposure: str = Field(default="all", pattern="^(all|needed)$")
    """`all` shows distractors too; `needed` only the task's services."""
    hidden_tools: tuple[str, ...] = ()
    """Policy names of tools that are not shown."""
    parsers: FrozenDict[str, ParserSettings]
    """hermes, json_block, bare_json, openai -> settings."""
    limits: Limits = Limits()
