"""Which model is asked, and what asking it may cost: the keys of every place that asks one."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from components.records.config import Config


class ModelBudget(Config):
    """What the work may cost; neither is ever passed on purpose."""

    tokens: int = Field(ge=1)
    """Tokens of prompts and answers together. A request is made only if its largest possible cost
    still fits."""
    usd: float = Field(ge=0, allow_inf_nan=False)
    """Cost at the two prices; where both are 0 nothing is counted."""


class ModelConfig(Config):
    """`SECTION=model`: a model behind an OpenAI-compatible endpoint. A place that asks one has a
    class of its own, with its section and its further keys."""

    section: ClassVar[str]
    """Where the keys stand (`environment.author`), for messages that name them."""

    kind: Literal["model"]
    """A model behind an OpenAI-compatible endpoint."""
    base_url: str = Field(pattern=r"^https?://[^/?#@\s]+(/[^?#@\s]*)?$")
    """Address up to and including `/v1`; without user, password or query: it is kept and logged."""
    model: str = Field(min_length=1)
    """Model name as the endpoint knows it."""
    api_key_env: str
    """Environment variable that holds the key; the key itself is never configured or stored."""
    temperature: float = Field(ge=0, allow_inf_nan=False)
    """Sampling temperature."""
    timeout_seconds: float = Field(gt=0, allow_inf_nan=False)
    """Seconds that one request may take."""
    max_retries: int = Field(ge=0)
    """Further tries of a request that failed in transit."""
    max_answer_tokens: int = Field(ge=256)
    """Tokens that one answer may have."""
    usd_per_million_prompt_tokens: float = Field(ge=0, allow_inf_nan=False)
    """Price of a million tokens of prompts."""
    usd_per_million_answer_tokens: float = Field(ge=0, allow_inf_nan=False)
    """Price of a million tokens of answers."""
    budget: ModelBudget
    """What the work may cost."""

    @field_validator("api_key_env")
    @classmethod
    def _is_a_variable(cls, name: str) -> str:
        # What was given is not repeated: it may be the key itself.
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(
                f"{cls.section}.api_key_env must be the name of an environment variable (what was "
                "given is none, and is not shown: it may be a key); put the key into a variable "
                f"and set {cls.section}.api_key_env=OPENAI_API_KEY"
            )
        return name
