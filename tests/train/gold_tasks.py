"""Drafts of gold on the built-in system, made once a process."""

from __future__ import annotations

import asyncio
from functools import cache

from components.harness.defaults import default_harness
from components.records.system import System
from components.task.config import TaskConfig
from loop.policy.config import ErrorRates
from loop.train.gold import GoldDraft, GoldWay, draft_gold
from tests.task.builders import builtin_system


def sizes() -> TaskConfig:
    return TaskConfig(
        count=None, k=2, walk_length=5, distractors=0, domains=(), max_drafts_per_task=10
    )


def way(**given: float) -> GoldWay:
    rates = ErrorRates(skip_step=0, stale_value=0, wrong_argument=0.15, malformed_call=0.1)
    values = {
        "seed": 0,
        "shorter_walks": True,
        "fewer_distractors": False,
        "slip_share": 0.5,
        **given,
    }
    return GoldWay.model_validate({**values, "error_rates": rates})


def with_harness(system: System) -> System:
    return system.model_copy(update={"harness": default_harness()})


@cache
def drafts(num: int) -> tuple[GoldDraft, ...]:
    """Return the drafts among the first `num` that became tasks."""
    system = with_harness(builtin_system())
    made = [asyncio.run(draft_gold(system, sizes(), way(), number)) for number in range(num)]
    return tuple(item for item in made if isinstance(item, GoldDraft))
