"""Who writes services: nobody beyond the compiler, or a model behind an endpoint."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from components.records.config import Config, PathText


def _check_variable(name: str) -> str:
    # What was given is not repeated: it may be the key itself.
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(
            "environment.author.api_key_env must be the name of an environment variable (what was "
            "given is none, and is not shown: it may be a key); put the key into a variable and "
            "set environment.author.api_key_env=OPENAI_API_KEY"
        )
    return name


class NoAuthorConfig(Config):
    """`environment.author=none`: the compiler's blueprints alone; no model."""

    kind: Literal["none"]
    """No author."""


class AuthorBudget(Config):
    """What a service may cost; neither is ever passed on purpose."""

    tokens: int = Field(ge=1)
    """Tokens of prompts and answers together. A request is made only if its largest possible cost
    still fits."""
    usd: float = Field(ge=0, allow_inf_nan=False)
    """Cost at the two prices; where both are 0 nothing is counted."""


class ModelAuthorConfig(Config):
    """`environment.author=model`: a model writes what the compiler could not."""

    kind: Literal["model"]
    """A model behind an OpenAI-compatible endpoint."""
    base_url: str = Field(pattern=r"^https?://[^/?#@\s]+(/[^?#@\s]*)?$")
    """Address up to and including `/v1`; without user, password or query: it is kept and logged."""
    model: str = Field(min_length=1)
    """Model name as the endpoint knows it."""
    api_key_env: Annotated[str, AfterValidator(_check_variable)]
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
    budget: AuthorBudget
    """What one service may cost."""
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
