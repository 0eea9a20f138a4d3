"""The stage `grow`: tasks are replaced, and others added by rule, through the gates of the first.

Tasks that a patch retired are replaced, and a raised `task.count` is met, with the current settings
of `task`; then the rules of `loop.growth` ask for more. Patches that a person accepted since the
round before are part of the system that grows. Keys that shaped the seed system and shape nothing
later are named in a warning.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from components.records.base import to_json
from components.records.frozen import FrozenDict
from components.records.system import System
from loop.composing import Composed, compose_tasks
from loop.config import sizes_of
from loop.context import RoundContext, live_tasks
from loop.growth.growing import grow_by_rules
from loop.growth.records import GrowthRound
from loop.growth.services import KEYS, STAGE
from loop.growth.words import growth_lines
from loop.reviews import Review, accepted_before, with_accepted

SEED_KEYS = ("environment.", "harness.", "evaluator.", "faults.")
"""Groups that round 0 alone reads, apart from what names services."""


def grow(context: RoundContext, system: System) -> System:
    """Return the system with what was accepted, as many live tasks as are asked for, and what the
    rules add.

    Raises:
        ConfigError: too few drafts became tasks where some are to be replaced.
        LedgerError: a review is damaged, or does not fit.
    """

    def compute() -> dict[str, Any]:
        run_folder = context.folder.path.parent
        start = with_accepted(run_folder, system, context.number)
        reviewed = [to_json(item) for item in accepted_before(run_folder, context.number)]
        more = {"reviewed": reviewed} if reviewed else {}
        missing = max(0, sizes_of(context.config).num_tasks - len(live_tasks(start)))
        composed = Composed(start, 0, {})
        if missing:
            composed = compose_tasks(context, "grow", start, missing)
        grown = grow_by_rules(context, composed.system)
        record = _with_services(context, grown.record)
        return {
            "system": context.keep(grown.system),
            "drafted": composed.drafted + grown.drafted,
            "certified": missing + sum(len(step.admitted) for step in record.steps),
            "rejected": _added(composed.rejected, record),
            "growth": to_json(record),
            **more,
        }

    result = context.folder.run_stage("grow", compute)
    for line in growth_lines(growth_in(result)):
        context.console.line(line)
    return context.load(result["system"])


def growth_in(grown: Any) -> GrowthRound:
    """Return what a round grew by rule, from the result of its `grow`."""
    return GrowthRound.model_validate(grown["growth"])


def _with_services(context: RoundContext, record: GrowthRound) -> GrowthRound:
    """Return the record with the services that came into this round before it grew."""
    result = context.folder.stage_result(STAGE)
    if result is None:
        return record
    services, refused = tuple(result["came"]), FrozenDict(result["refused"])
    return record.model_copy(update={"services": services, "refused": refused})


def _added(rejected: dict[str, int], record: GrowthRound) -> dict[str, int]:
    """Return the drafts that came to nothing, by reason, replacements and growth together."""
    reasons = Counter(rejected)
    for step in record.steps:
        reasons.update(step.rejected)
    return dict(sorted(reasons.items()))


def reviewed_in(grown: Any) -> tuple[Review, ...]:
    """Return the accepted reviews that a round started with, from the result of its `grow`."""
    return tuple(Review.model_validate(body) for body in grown.get("reviewed", ()))


def warn_of_keys_without_effect(context: RoundContext) -> None:
    """Say which changed keys have no effect any more, since round 0 has used them up."""
    for change in context.folder.manifest.config_changes:
        if change.key.startswith(SEED_KEYS) and not change.key.startswith(KEYS):
            context.console.line(
                f"{change.key} changed, and has no effect in round {context.number}: the seed "
                "system was built with the old value; give run= another name to use the new one"
            )
