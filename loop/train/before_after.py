"""Held-out tasks that a round plays before and after its training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from components.records.system import System
from loop.context import RoundContext
from loop.summary import Reevaluation
from loop.train.config import HeldOutConfig
from loop.train.evaluation import adapted, evaluate
from loop.train.gold import with_tasks
from loop.train.held_out import draw_gold

BEFORE, AFTER = "heldout_before", "heldout_after"
_DRAFTS_PER_TASK = 10


def measured(
    context: RoundContext, system: System, num_tasks: int, train: Callable[[], Path | None]
) -> Reevaluation | None:
    """Train between two passes over the same held-out tasks; None where there is nothing to tell.

    Args:
        context: the open round, with the policy that acted.
        system: the repaired system; its services and harness are played on.
        num_tasks: how many held-out tasks; none where it is 0.
        train: trains, and returns the delta that was kept; None: the policy stays as it was.
    """
    if not num_tasks:
        train()
        return None
    config = context.config
    once = config.rollout.model_copy(update={"group_size": 1})
    context = replace(context, config=config.model_copy(update={"rollout": once}))
    tasks = HeldOutConfig(
        tasks=num_tasks,
        shorter_walks=False,
        fewer_distractors=False,
        max_drafts=_DRAFTS_PER_TASK * num_tasks,
    )
    bare = with_tasks(system, {})
    drafts = draw_gold(context, bare, tasks, None).held_out
    before = evaluate(context, BEFORE, bare, drafts).success
    delta = train()
    if delta is None:
        return None
    after = evaluate(adapted(context, delta), AFTER, bare, drafts).success
    context.console.line(
        f"held-out tasks: {before.passed} of {before.scored} before the training, "
        f"{after.passed} of {after.scored} after it"
    )
    return Reevaluation(before=before, after=after)
