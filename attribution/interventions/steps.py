"""Calls executed again, one by one, with the states around each.

Siblings of a group make the same calls from the same states, so a call is executed once for a world
and a state, whoever asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from attribution.kept import kept
from components.environment.engine import call_recorded
from components.environment.state import WorldState
from components.environment.world import World
from components.records.calls import CallRecord


@dataclass(frozen=True, slots=True)
class Step:
    """One executed call with the states around it."""

    before: WorldState
    after: WorldState
    call: CallRecord


def run_steps(
    world: World, state: WorldState, calls: Iterable[CallRecord]
) -> tuple[WorldState, tuple[Step, ...]]:
    """Execute calls again and keep the states around each."""
    steps = []
    for call in calls:
        step = executed(world, state, call.service, call.tool, call.arguments)
        steps.append(step)
        state = step.after
    return state, tuple(steps)


def executed(
    world: World, state: WorldState, service: str, tool: str, arguments: Mapping[str, Any]
) -> Step:
    """Execute one call; the same step for the same call on the same state."""

    def make() -> Step:
        after, record = call_recorded(world, state, service, tool, arguments)
        return Step(state, after, record)

    try:
        said = json.dumps(arguments)
    except (TypeError, ValueError, RecursionError):  # what is no JSON is answered, and not kept
        return make()
    return kept("step", (world, state), make, (service, tool, said))
