"""From settings to the things that run: the whole registry of choices, one `match` a group."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from components.harness.policy import Policy
from components.records.task import Task
from loop.policy.config import OpenAIPolicyConfig, PolicyConfig, ScriptedPolicyConfig
from loop.policy.openai import OpenAIPolicy
from loop.policy.scripted import ScriptedPolicy

PolicyFor = Callable[[Task, int], Policy]
"""Gives the policy of one rollout, from its task and seed."""


@asynccontextmanager
async def open_policy(config: PolicyConfig) -> AsyncIterator[PolicyFor]:
    """Yield what gives each rollout its policy.

    A model's client is shared and closed at the end.
    """
    match config:
        case ScriptedPolicyConfig():
            rates = config.error_rates
            yield lambda task, seed: ScriptedPolicy(task, rates, seed)
        case OpenAIPolicyConfig():
            shared = OpenAIPolicy(config)
            try:
                yield lambda _task, _seed: shared
            finally:
                await shared.aclose()
