"""Which policy acts, and its settings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from components.records.config import Config


class ErrorRates(Config):
    """How often the scripted policy slips, each a probability from 0 to 1 at each gold step."""

    skip_step: float = Field(ge=0, le=1)
    """Leaves a step of the gold solution out."""
    stale_value: float = Field(ge=0, le=1)
    """Uses the value of an earlier reading where it has changed since."""
    wrong_argument: float = Field(ge=0, le=1)
    """Gives one argument another value."""
    malformed_call: float = Field(ge=0, le=1)
    """Writes a call that no parser can read."""


class ScriptedPolicyConfig(Config):
    """`policy=scripted`: plays gold from what it is shown, with seeded slips; no model."""

    kind: Literal["scripted"]
    """The scripted policy: offline, deterministic."""
    error_rates: ErrorRates
    """How often it slips."""


class OpenAIPolicyConfig(Config):
    """`policy=openai`: a model behind an OpenAI-compatible endpoint."""

    kind: Literal["openai"]
    """An OpenAI-compatible endpoint (vLLM, SGLang, llama.cpp, a hosted one)."""
    base_url: str = Field(pattern=r"^https?://")
    """Address up to and including `/v1`."""
    model: str = Field(min_length=1)
    """Model name as the endpoint knows it."""
    api_key_env: str = Field(min_length=1)
    """Environment variable that holds the key; the key itself is never configured or stored."""
    temperature: float = Field(ge=0, allow_inf_nan=False)
    """Sampling temperature."""
    timeout_seconds: float = Field(gt=0, allow_inf_nan=False)
    """Seconds that one request may take."""
    max_retries: int = Field(ge=0)
    """Further tries of a request that failed in transit."""
    max_turn_tokens: int = Field(ge=1)
    """Tokens that one turn may have."""


PolicyConfig = Annotated[ScriptedPolicyConfig | OpenAIPolicyConfig, Field(discriminator="kind")]
"""Keys under `policy`."""
