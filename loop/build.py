"""From settings to the things that run: the whole registry of choices, one `match` a group."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from components.harness.policy import Policy
from components.records.task import Task
from loop.policy.config import (
    LocalPolicyConfig,
    OpenAIPolicyConfig,
    PolicyConfig,
    ScriptedPolicyConfig,
)
from loop.policy.effort import Played, Rollout
from loop.policy.openai import OpenAIPolicy
from loop.policy.scripted import ScriptedPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """Who acts, while it is open."""

    policy_of: Callable[[Task | None, int], Policy]
    """Gives the policy of one rollout, from its task (None: somebody else's) and seed."""
    play: Callable[[Sequence[Rollout]], Awaitable[Played]]
    """Plays rollouts of these policies to their end."""


def num_batches(config: PolicyConfig, num_rollouts: int) -> int:
    """Return into how many batches rollouts are divided; what they do may depend on their siblings.

    It depends on no machine. On CPUs it is even, so that two cores end at about the same time.
    """
    if not isinstance(config, LocalPolicyConfig):
        return num_rollouts
    least = -(-num_rollouts // config.batch_size)
    return least + least % 2 if config.device == "cpu" else least


def batches_at_once(config: PolicyConfig, concurrency: int) -> int:
    """Return how many batches are to be under way at once; no result depends on it.

    Args:
        config: who acts.
        concurrency: rollouts in flight, where the policy waits for others.
    """
    if not isinstance(config, LocalPolicyConfig):
        return concurrency
    return (os.cpu_count() or 1) if config.device == "cpu" else 1


@asynccontextmanager
async def open_policy(config: PolicyConfig) -> AsyncIterator[Acting]:
    """Yield who acts.

    A model, or a model's client, is shared and closed at the end.

    Raises:
        PolicyError: a local model or its adapter is not there.
    """
    match config:
        case ScriptedPolicyConfig():
            rates = config.error_rates

            def scripted(task: Task | None, seed: int) -> Policy:
                assert task is not None  # configurations without tasks of ours refuse this policy
                return ScriptedPolicy(task, rates, seed)

            yield Acting(policy_of=scripted, play=_in_turn)
        case OpenAIPolicyConfig():
            shared = OpenAIPolicy(config)
            try:
                yield Acting(policy_of=lambda _task, _seed: shared, play=_in_turn)
            finally:
                await shared.aclose()
        case LocalPolicyConfig():
            # Torch takes seconds to load, and most verbs do without.
            from loop.policy.local import open_local

            with open_local(config) as local:
                yield Acting(policy_of=lambda _task, _seed: local.policy, play=local.play)


async def _in_turn(rollouts: Sequence[Rollout]) -> Played:
    return Played([await rollout for rollout in rollouts])
