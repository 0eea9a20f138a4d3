"""Growth: new tasks where there are fewer than asked for, through the same gates as the first ones.

Tasks that a patch retired are replaced, and a raised `task.count` is met, with the current settings
of `task`. Patches that a person accepted since the round before are part of the system that grows.
Keys that shaped the seed system and shape nothing later are named in a warning.
"""

from __future__ import annotations

from typing import Any

from components.records.base import to_json
from components.records.system import System
from loop.composing import compose_tasks
from loop.config import sizes_of
from loop.context import RoundContext, live_tasks
from loop.reviews import Review, accepted_before, with_accepted

SEED_KEYS = ("environment.", "harness.", "evaluator.", "faults.")
"""Groups that round 0 alone reads."""


def grow(context: RoundContext, system: System) -> System:
    """Return the system with what was accepted, and as many live tasks as are asked for.

    Raises:
        LedgerError: a review is damaged, or does not fit.
    """

    def compute() -> dict[str, Any]:
        run_folder = context.folder.path.parent
        start = with_accepted(run_folder, system, context.number)
        reviewed = [to_json(item) for item in accepted_before(run_folder, context.number)]
        more = {"reviewed": reviewed} if reviewed else {}
        missing = max(0, sizes_of(context.config).num_tasks - len(live_tasks(start)))
        if not missing:
            return {
                "system": context.keep(start),
                "drafted": 0,
                "certified": 0,
                "rejected": {},
                **more,
            }
        composed = compose_tasks(context, "grow", start, missing)
        return {
            "system": context.keep(composed.system),
            "drafted": composed.drafted,
            "certified": missing,
            "rejected": composed.rejected,
            **more,
        }

    return context.load(context.folder.run_stage("grow", compute)["system"])


def reviewed_in(grown: Any) -> tuple[Review, ...]:
    """Return the accepted reviews that a round started with, from the result of its `grow`."""
    return tuple(Review.model_validate(body) for body in grown.get("reviewed", ()))


def warn_of_keys_without_effect(context: RoundContext) -> None:
    """Say which changed keys have no effect any more, since round 0 has used them up."""
    for change in context.folder.manifest.config_changes:
        if change.key.startswith(SEED_KEYS):
            context.console.line(
                f"{change.key} changed, and has no effect in round {context.number}: the seed "
                "system was built with the old value; give run= another name to use the new one"
            )
