"""From settings to the things that run: the whole registry of choices, one `match` a group."""

from __future__ import annotations

from collections.abc import Callable

from components.harness.policy import Policy
from components.records.task import Task
from loop.policy.config import OpenAIPolicyConfig, PolicyConfig, ScriptedPolicyConfig
from loop.policy.openai import OpenAIPolicy
from loop.policy.scripted import ScriptedPolicy

PolicyFor = Callable[[Task, int], Policy]
"""Gives the policy of one rollout, from its task and seed."""


def build_policy(config: PolicyConfig) -> PolicyFor:
    """Return what gives each rollout its policy. A model's client is made once and shared."""
    match config:
        case ScriptedPolicyConfig():
            rates = config.error_rates
            return lambda task, seed: ScriptedPolicy(task, rates, seed)
        case OpenAIPolicyConfig():
            shared = OpenAIPolicy(config)
            return lambda _task, _seed: shared
