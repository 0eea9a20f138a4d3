"""What a round reaches for: the policy, here or behind an endpoint, and Weights & Biases."""

from __future__ import annotations

import os

from components.errors import PolicyError, ProviderError
from loop.config import NoTracking, TrackingConfig
from loop.doctor.check import Check, Level, graded
from loop.doctor.packages import version_of
from loop.policy.check import BUILTIN, check_policy, model_folder
from loop.policy.config import LocalPolicyConfig, OpenAIPolicyConfig, PolicyConfig
from loop.policy.openai import list_models
from loop.tracking import tracking_mode

DEADLINE_SECONDS = 4.0


def check_local(policy: PolicyConfig) -> list[Check]:
    """Return whether a policy that runs here could be opened; nothing where none does."""
    if not isinstance(policy, LocalPolicyConfig):
        return []
    try:
        check_policy(policy)
        is_here = policy.model == BUILTIN or model_folder(policy.model) is not None
    except PolicyError as error:
        return [Check("policy", Level.FAIL, str(error))]
    where = "" if is_here else ", which the hub gives when it is first needed"
    adapter = "no adapter" if policy.adapter is None else f"adapter {policy.adapter}"
    found = f"{policy.model}{where}, {adapter}, on {policy.device}"
    return [graded("policy", found)]


def check_endpoint(policy: PolicyConfig) -> list[Check]:
    """Return whether the policy's endpoint answers; nothing where there is no endpoint."""
    if not isinstance(policy, OpenAIPolicyConfig):
        return []
    key = "" if os.environ.get(policy.api_key_env) else f", {policy.api_key_env} is not set"
    try:
        models = list_models(policy, DEADLINE_SECONDS)
    except ProviderError as error:
        mend = "start it, or mend policy.base_url"
        if "status 401" in str(error) or "status 403" in str(error):
            mend = f"set the environment variable {policy.api_key_env} to the key"
        return [Check("endpoint", Level.FAIL, f"{error}{key}", mend)]
    is_served = policy.model in models
    shown = ", ".join(models[:3]) + (", ..." if len(models) > 3 else "")
    return [
        graded(
            "endpoint",
            f"{policy.base_url} serves {policy.model if is_served else shown or 'no model'}{key}",
            warns=not is_served,
            mend=f"it does not list policy.model={policy.model}",
        )
    ]


def check_tracking(tracking: TrackingConfig) -> Check:
    """Return where metrics would go."""
    if isinstance(tracking, NoTracking):
        return graded("tracking", "none")
    if version_of("wandb") is None:
        return Check("tracking", Level.WARN, "wandb is not installed", "set tracking=none")
    mode = tracking_mode(tracking)
    where = {
        "online": f"W&B, project {tracking.project}",
        "offline": "W&B, offline files in the run folder (wandb login to change that)",
        "disabled": "W&B is disabled by WANDB_MODE",
    }
    return graded("tracking", where.get(str(mode), str(mode)))
