"""Rollouts of somebody else's tasks by a policy, written as chat messages.

A line is what `attribute traces=` reads: messages, tools, the benchmark's verdict as reward, and
how the episode ended.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from components.harness.foreign import ForeignEpisode, foreign_harness
from components.harness.policy import RolloutPlan
from components.records.base import hash_record
from components.records.frozen import FrozenDict, content_hash, thaw
from components.records.harness import Limits
from components.records.trajectory import StopReason, Trajectory
from components.task.foreign.worker import Foreign, ForeignTask
from loop.build import batches_at_once, num_batches, open_policy
from loop.verb_configs import RolloutVerbConfig

_ENDS = {StopReason.FINISHED: "user_stop", StopReason.FAILURE: ""}
"""How an episode's end is called in its line, where not by its own name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedTask:
    """One rollout with its verdict."""

    line: dict[str, Any]
    """As it is written."""
    stop: StopReason
    reward: float | None
    """None: the episode broke, or only a model could judge it."""


def play_tasks(
    foreign: Foreign,
    tasks: Sequence[ForeignTask],
    config: RolloutVerbConfig,
    progress: Callable[[int, int], None],
) -> list[PlayedTask]:
    """Play each task once and return what came of each, in order.

    Args:
        foreign: the benchmark.
        tasks: which of its tasks.
        config: who acts, with which limits.
        progress: gets how many are done, and of how many.

    Raises:
        PolicyError: a local model or its adapter is not there.
    """
    return asyncio.run(_played(foreign, tasks, config, progress))


async def _played(
    foreign: Foreign,
    tasks: Sequence[ForeignTask],
    config: RolloutVerbConfig,
    progress: Callable[[int, int], None],
) -> list[PlayedTask]:
    limits = Limits(
        max_turns=config.max_turns,
        max_user_turns=config.max_user_turns,
        max_turn_tokens=config.max_turn_tokens,
    )
    settings = foreign_harness(limits, config.tool_style)
    hashes = FrozenDict({"harness": hash_record(settings)})
    found: dict[int, PlayedTask] = {}
    count = num_batches(config.policy, len(tasks))
    ends = [len(tasks) * (number + 1) // count for number in range(count)]
    batches = [range(a, b) for a, b in zip([0, *ends], ends, strict=False) if a < b]
    free = asyncio.Semaphore(batches_at_once(config.policy, config.concurrency))
    async with open_policy(config.policy) as acting:

        async def play(batch: range) -> None:
            episodes, rollouts = [], []
            for number in batch:
                task = tasks[number]
                seed = int(content_hash(f"{config.seed}:{task.name}")[:12], 16)
                plan = RolloutPlan(
                    rollout_id=f"{task.name}-00", group_index=0, seed=seed, component_hashes=hashes
                )
                episode = ForeignEpisode(task, foreign.rules, _plays(foreign, task.name), settings)
                episodes.append(episode)
                rollouts.append(episode.run(acting.policy_of(None, seed), plan))
            async with free:
                played = await acting.play(rollouts)
            for number, episode, trajectory in zip(
                batch, episodes, played.trajectories, strict=True
            ):
                found[number] = _recorded(episode, trajectory)
            progress(len(found), len(tasks))

        await asyncio.gather(*map(play, batches))
    return [found[number] for number in range(len(tasks))]


def _plays(foreign: Foreign, name: str) -> Callable[..., Any]:
    return lambda turns, message: foreign.run(name, turns, message)


def _recorded(episode: ForeignEpisode, trajectory: Trajectory) -> PlayedTask:
    passes = None if episode.verdict is None else episode.verdict.passes
    reward = None if passes is None else float(passes)
    failure = trajectory.failure
    line: dict[str, Any] = {
        "id": trajectory.rollout_id,
        "task": trajectory.task_id,
        "policy": next((turn.policy_version for turn in trajectory.turns), ""),
        "seed": trajectory.seed,
        "messages": list(_messages(episode, trajectory)),
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": thaw(tool.schema),
                },
            }
            for tool in episode.tools
        ],
        "termination_reason": _ENDS.get(trajectory.stop_reason, trajectory.stop_reason.value),
    }
    if reward is not None:
        line |= {"reward": reward, "why": episode.verdict.why if episode.verdict else ""}
    if failure is not None:
        line["error"] = f"{failure.boundary}: {failure.message}"
    return PlayedTask(line=line, stop=trajectory.stop_reason, reward=reward)


def _messages(episode: ForeignEpisode, trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    yield {"role": "system", "content": trajectory.system_text}
    yield {"role": "user", "content": trajectory.user_text}
    for turn in trajectory.turns:
        calls = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(thaw(call.arguments))},
            }
            for call in turn.calls
        ]
        said: dict[str, Any] = {"role": "assistant", "content": turn.raw_text}
        yield said | {"tool_calls": calls} if calls else said
        for shown in turn.observations:
            answer = episode.answers[shown.call_id]
            yield {
                "role": "tool",
                "tool_call_id": shown.call_id,
                "content": answer.text,
                "is_error": answer.is_error,
            }
        for text in (turn.feedback, turn.user):
            if text:
                yield {"role": "user", "content": text}
