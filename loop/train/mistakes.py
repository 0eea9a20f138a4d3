"""Turns that went wrong, as their record shows: nothing that a policy should learn to repeat."""

from __future__ import annotations

from components.harness.paging import read_page
from components.records.trajectory import Observation, Turn


def is_mistake(turn: Turn) -> bool:
    """Return whether a call of this turn could not be read, was refused, or failed."""
    return bool(turn.problem) or any(map(is_failed, turn.observations))


def is_failed(observation: Observation) -> bool:
    """Return whether a call's answer is an error."""
    if observation.call is not None:
        return observation.call.envelope.get("ok") is not True
    page = read_page(observation.shown)  # `finish`, `read_more` and refusals leave only their text
    return page is None or (page.number == 1 and page.text.startswith('{"ok":false'))
