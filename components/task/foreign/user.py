"""A user by rule, for somebody else's tasks: says what the task says, and confirms when asked.

It is no model. Where the task is a scenario, it hands the whole of it over at once, which a user
would not do: what comes of it is easier than the benchmark's own conversation.
"""

from __future__ import annotations

from components.task.foreign.worker import ForeignTask

OPENING = (
    "I am the customer. This note says who I am and what I want; 'you' in it is me, and "
    "'the agent' is you:"
)
CONFIRMS = (
    "Yes, please go ahead. All that I know is in my note. Where it leaves a choice to me, take "
    "what it prefers; what it does not mention I do not want."
)
_ASKS = ("?", "confirm", "proceed", "let me know", "please provide", "would you", "shall i")


class ScenarioUser:
    """The user of one episode."""

    def __init__(self, task: ForeignTask) -> None:
        self._task = task
        self.turn = 0
        """Which of the task's turns the user is at, from 0."""

    def opening(self) -> str:
        """Return the first message."""
        return self._said()

    def answer(self, text: str) -> str | None:
        """Return the answer to a message of the agent; None: the user has what it came for.

        Args:
            text: what the agent wrote, without a call.
        """
        if self.turn + 1 < len(self._task.texts):
            self.turn += 1
            return self._said()
        asks = self._task.is_scenario and any(word in text.lower() for word in _ASKS)
        return CONFIRMS if asks else None

    def _said(self) -> str:
        text = self._task.texts[self.turn]
        return f"{OPENING}\n{text}" if self._task.is_scenario else text
