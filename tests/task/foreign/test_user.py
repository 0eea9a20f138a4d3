"""The user by rule of somebody else's tasks."""

from __future__ import annotations

from typing import Any

from components.task.foreign.user import CONFIRMS, ScenarioUser
from components.task.foreign.worker import ForeignTask


def _task(*texts: str, is_scenario: bool) -> ForeignTask:
    rest: dict[str, Any] = {
        "gold": [[] for _ in texts], "message": "", "words": [], "unscored_words": [],
        "unscored": [], "judged": [], "state_checked": True, "tools": {}, "hidden": [],
        "policy": None, "reads": [],
    }  # fmt: skip
    return ForeignTask(name="1", texts=list(texts), is_scenario=is_scenario, **rest)


def test_a_scenario_is_handed_over_and_confirmed_until_nothing_is_asked() -> None:
    user = ScenarioUser(_task("You want a refund.", is_scenario=True))

    assert user.opening().endswith("\nYou want a refund.")
    assert user.answer("Shall I refund it to your card?") == CONFIRMS
    assert user.answer("It is refunded.") is None


def test_messages_are_said_turn_by_turn_as_they_are() -> None:
    user = ScenarioUser(_task("Open a.", "Close b.", is_scenario=False))

    assert user.opening() == "Open a."
    assert user.answer("Shall I?") == "Close b."
    assert user.turn == 1
    assert user.answer("Shall I close it?") is None
