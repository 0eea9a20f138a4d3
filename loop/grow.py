"""Growth: new tasks where there are fewer than asked for, through the same gates as the first ones.

Tasks that a patch retired are replaced, and a raised `task.count` is met, with the current settings
of `task`. Keys that shaped the seed system and shape nothing later are named in a warning.
"""

from __future__ import annotations

from typing import Any

from components.records.system import System
from loop.composing import compose_tasks
from loop.config import sizes_of
from loop.context import RoundContext, live_tasks

SEED_KEYS = ("environment.", "harness.", "evaluator.", "faults.")
"""Groups that round 0 alone reads."""


def grow(context: RoundContext, system: System) -> System:
    """Return the system with as many live tasks as the configuration asks for."""

    def compute() -> dict[str, Any]:
        missing = max(0, sizes_of(context.config).num_tasks - len(live_tasks(system)))
        if not missing:
            return {"system": context.keep(system), "drafted": 0, "certified": 0, "rejected": {}}
        composed = compose_tasks(context, "grow", system, missing)
        return {
            "system": context.keep(composed.system),
            "drafted": composed.drafted,
            "certified": missing,
            "rejected": composed.rejected,
        }

    return context.load(context.folder.run_stage("grow", compute)["system"])


def warn_of_keys_without_effect(context: RoundContext) -> None:
    """Say which changed keys have no effect any more, since round 0 has used them up."""
    for change in context.folder.manifest.config_changes:
        if change.key.startswith(SEED_KEYS):
            context.console.line(
                f"{change.key} changed, and has no effect in round {context.number}: the seed "
                "system was built with the old value; give run= another name to use the new one"
            )
