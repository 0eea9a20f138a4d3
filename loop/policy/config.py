"""Which policy acts, and its settings."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from components.records.config import Config, PathText


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
    break_rule: float = Field(default=0.0, ge=0, le=1)
    """Does what a policy rule does not allow, and says that it is done; drawn once a rollout."""


class ScriptedPolicyConfig(Config):
    """`policy=scripted`: plays gold from what it is shown, with seeded slips; no model."""

    kind: Literal["scripted"]
    """The scripted policy: offline, deterministic."""
    error_rates: ErrorRates
    """How often it slips."""


def _check_variable(name: str) -> str:
    # What was given is not repeated: it may be the key itself.
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(
            "policy.api_key_env must be the name of an environment variable (what was given is "
            "none, and is not shown: it may be a key); put the key into a variable and set "
            "policy.api_key_env=OPENAI_API_KEY"
        )
    return name


VariableName = Annotated[str, AfterValidator(_check_variable)]


class OpenAIPolicyConfig(Config):
    """`policy=openai`: a model behind an OpenAI-compatible endpoint."""

    kind: Literal["openai"]
    """An OpenAI-compatible endpoint (vLLM, SGLang, llama.cpp, a hosted one)."""
    base_url: str = Field(pattern=r"^https?://[^/?#@\s]+(/[^?#@\s]*)?$")
    """Address up to and including `/v1`; without user, password or query: it is kept and logged."""
    model: str = Field(min_length=1)
    """Model name as the endpoint knows it."""
    api_key_env: VariableName
    """Environment variable that holds the key; the key itself is never configured or stored."""
    temperature: float = Field(ge=0, allow_inf_nan=False)
    """Sampling temperature."""
    timeout_seconds: float = Field(gt=0, allow_inf_nan=False)
    """Seconds that one request may take."""
    max_retries: int = Field(ge=0)
    """Further tries of a request that failed in transit."""
    max_turn_tokens: int = Field(ge=1)
    """Tokens that one turn may have."""


class LocalPolicyConfig(Config):
    """`policy=local`: a model that runs here."""

    kind: Literal["local"]
    """A language model in this process, by transformers."""
    model: PathText = Field(min_length=1)
    """The model: builtin (SmolLM2-135M-Instruct), a folder, or a name on the Hugging Face hub."""
    adapter: PathText | None = Field(min_length=1)
    """Delta on top of it: builtin, a file or checkpoint folder; null: the plain model."""
    temperature: float = Field(ge=0, allow_inf_nan=False)
    """Sampling temperature; 0 takes the likeliest token."""
    batch_size: int = Field(ge=1)
    """Rollouts that are generated together and recorded at once, at most. On CPUs each batch has
    one core, and the rollouts of a pass are divided into an even number of batches."""
    device: str = Field(pattern=r"^(cpu|cuda(:[0-9]+)?)$")
    """Where the model runs: cpu, cuda or cuda:N."""
    dtype: Literal["float32", "bfloat16"]
    """Number format of the weights while acting."""


PolicyConfig = Annotated[
    ScriptedPolicyConfig | OpenAIPolicyConfig | LocalPolicyConfig, Field(discriminator="kind")
]
"""Keys under `policy`."""
