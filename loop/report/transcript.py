"""Rollouts as the page tells them, turn by turn, in groups of those to whom the verdicts fell.

A group is a party, or what else became of a rollout. Every rollout of the first pass is told; of
the second pass, what the same task and seed came to after the patches.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from attribution.records import Attribution, Decision
from components.records.base import to_json
from components.records.frozen import content_hash
from components.records.system import System
from components.records.task import Task
from components.records.trajectory import ScoredTrajectory, Trajectory, Turn
from loop.blame import Blamed
from loop.report.changes import StateChange, turn_changes
from loop.report.round_picture import PARTIES
from loop.rollouts import Rolled


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """One call: as the parser read it, what came back, what it changed."""

    name: str
    arguments: str
    shown: str
    truncated: bool
    changes: tuple[StateChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """One message of the policy."""

    index: int
    raw: str
    tokens: int | None
    """Tokens that were sampled for it; None when the policy gives none."""
    calls: tuple[CallView, ...]
    problem: str
    feedback: str
    user: str
    """What the user of a multi-turn task answered; empty when nobody did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassView:
    """One rollout from its first turn to its end."""

    turns: tuple[TurnView, ...]
    stop: str
    failure: str
    answer: str | None
    """JSON of the `finish` call's answer; None when it was never called."""
    passed: bool | None
    scored: ScoredTrajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutView:
    """One rollout of the first pass, its verdict, and the same task and seed after the patches."""

    rollout_id: str
    group: str
    task: Task
    attribution: Attribution | None
    prompt: str
    """Short hash of the system message."""
    user_text: str
    before: PassView
    after: PassView | None
    """None when the task was taken out of service."""


def rollout_views(
    system: System, before: Rolled, blamed: Blamed, after: Rolled
) -> dict[str, list[RolloutView]]:
    """Return the rollouts by group, groups in the order in which the round's picture draws them."""
    groups: dict[str, list[RolloutView]] = {name: [] for name in PARTIES}
    for key in sorted(before.scored):
        view = _rollout(key, system, before, blamed.attributions.get(key), after)
        groups[view.group].append(view)
    return {name: views for name, views in groups.items() if views}


def verdict_group(attribution: Attribution | None) -> str:
    """Return to whom a rollout's verdict falls: a party, `undecided`, `clean` or `unseen`."""
    if attribution is None:
        return "unseen"
    match attribution.verdict.decision:
        case Decision.BLAMED:
            return attribution.verdict.blamed[0].party.value
        case Decision.CLEARED:
            return "clean"
        case _:
            return "undecided"


def prompts_of(rolled: Rolled) -> dict[str, str]:
    """Return the distinct system messages of a pass by short hash."""
    texts = {item.system_text for item in rolled.trajectories.values() if item.system_text}
    return {_short(text): text for text in sorted(texts)}


def _rollout(
    key: str, system: System, before: Rolled, attribution: Attribution | None, after: Rolled
) -> RolloutView:
    trajectory = before.trajectories[key]
    again = after.trajectories.get(key)
    return RolloutView(
        rollout_id=key,
        group=verdict_group(attribution),
        task=system.tasks[trajectory.task_id],
        attribution=attribution,
        prompt=_short(trajectory.system_text),
        user_text=trajectory.user_text,
        before=_pass(trajectory, before.scored[key]),
        after=None if again is None else _pass(again, after.scored[key]),
    )


def _pass(trajectory: Trajectory, scored: ScoredTrajectory) -> PassView:
    failure = trajectory.failure
    return PassView(
        turns=tuple(_turn(turn) for turn in trajectory.turns),
        stop=trajectory.stop_reason.value,
        failure="" if failure is None else f"{failure.boundary}: {failure.message}",
        answer=None if trajectory.answer is None else _json(to_json(trajectory)["answer"]),
        passed=scored.passed,
        scored=scored,
    )


def _turn(turn: Turn) -> TurnView:
    observations = {item.call_id: item for item in turn.observations}
    changes = turn_changes(turn)
    calls = []
    for call in turn.calls:
        seen = observations.get(call.call_id)
        calls.append(
            CallView(
                name=call.name,
                arguments=_json(to_json(call)["arguments"]),
                shown="" if seen is None else seen.shown,
                truncated=seen is not None and seen.truncated,
                changes=changes.get(call.call_id, ()),
            )
        )
    return TurnView(
        index=turn.index,
        raw=turn.raw_text,
        tokens=None if turn.token_ids is None else len(turn.token_ids),
        calls=tuple(calls),
        problem=turn.problem,
        feedback=turn.feedback,
        user=turn.user,
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return content_hash(text)[:8]
