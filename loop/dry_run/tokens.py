"""About how many tokens a rollout takes, from conversations that are really rendered.

The conversations are those that the round before recorded, where there is one; otherwise a few
tasks are played in memory without slips, on the system that the round would start from. No
tokenizer is asked: characters are divided by ratios that were measured once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from components.environment.world import build_world
from components.errors import BoundaryError
from components.harness.episode import run_rollout
from components.harness.oracle import OraclePolicy
from components.harness.policy import RolloutPlan, turn_messages
from components.megamcp.session import open_session
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.trajectory import StopReason, Trajectory

PROMPT_CHARACTERS = 3.0
"""Characters of system and user text to one token."""
TURN_CHARACTERS = 2.5
"""Characters of replies and answers, mostly JSON and ids, to one token.

Source: the tokenizer of SmolLM2 (49,152 tokens) on the rollouts of a smoke round of the built-in
services gave 3.04 and 2.49 to 2.57.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensPerRollout:
    """Means over some conversations."""

    sent: float
    """Prompt tokens, the whole conversation sent at each turn."""
    new: float
    """Prompt tokens that were not sent before: what a server with a prefix cache has to read."""
    sampled: float
    turns: float
    basis: str
    """What the means rest on, in words."""


def tokens_of(trajectories: Sequence[Trajectory], basis: str) -> TokensPerRollout | None:
    """Return the means over trajectories; None when there are none to go by."""
    counts = [_count(item) for item in trajectories if item.turns]
    if not counts:
        return None
    sent, new, sampled, turns = (sum(column) / len(counts) for column in zip(*counts, strict=True))
    return TokensPerRollout(sent=sent, new=new, sampled=sampled, turns=turns, basis=basis)


def rehearse(system: System, task_ids: Sequence[str]) -> list[Trajectory]:
    """Play tasks once each without slips, in memory; a task that breaks is left out."""
    played = [asyncio.run(_play(system, task_id)) for task_id in task_ids]
    return [item for item in played if item is not None]


async def _play(system: System, task_id: str) -> Trajectory | None:
    task = system.tasks[task_id]
    plan = RolloutPlan(rollout_id=task_id, group_index=0, seed=0, component_hashes=FrozenDict())
    try:
        world = build_world(system, task.world)
    except BoundaryError:
        return None
    session = open_session(world, None, task_id)
    played = await run_rollout(system, world, task, OraclePolicy(task), plan, session)
    return None if played.stop_reason is StopReason.FAILURE else played


def _count(trajectory: Trajectory) -> tuple[float, float, float, float]:
    """Return tokens sent, new among them, sampled, and turns."""
    start = (len(trajectory.system_text) + len(trajectory.user_text)) / PROMPT_CHARACTERS
    context, sent, sampled, added = start, 0.0, 0.0, 0.0
    for turn in trajectory.turns:
        sent += context
        said, *answers = turn_messages(turn)
        reply = len(said.content) / TURN_CHARACTERS
        if turn.token_ids is not None:
            reply = float(len(turn.token_ids))
        read = sum(len(message.content) for message in answers) / TURN_CHARACTERS
        sampled += reply
        added += read
        context += reply + read
    return sent, start + added, sampled, float(len(trajectory.turns))
