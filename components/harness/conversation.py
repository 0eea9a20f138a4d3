"""One rollout's conversation with the user of a multi-turn task.

Owns which moves were made and how often the policy wrote. What a user says is decided by
`components.task.user`; a script that cannot be followed is a failure of its own boundary.
"""

from __future__ import annotations

from components.errors import SimulatorError, boundary
from components.harness.parsing import ParsedTurn, visible_text
from components.records.task import Task
from components.task.user import next_move, text_of_move


class Conversation:
    """The changing part of one conversation; lives as long as its episode."""

    def __init__(self, task: Task) -> None:
        """Args: task, with or without a user."""
        self._task = task
        self._made: list[str] = []
        self.num_messages = 0
        """Messages of the policy to the user."""
        self.has_more = task.user is not None
        """Whether the last message was answered with a move, or none was written yet."""

    def is_addressed(self, parsed: ParsedTurn) -> bool:
        """Return whether a turn is a message to the user: one that does not try to call a tool."""
        return self._task.user is not None and not parsed.calls and not parsed.is_attempt

    def answer(self, text: str) -> str:
        """Return what the user answers to a raw text of the policy.

        Raises:
            SimulatorError: the script cannot be followed.
        """
        script = self._task.user
        assert script is not None
        self.num_messages += 1
        with boundary(SimulatorError, f"the user's answer in task {self._task.task_id}"):
            name = next_move(script, self._made, visible_text(text)[0])
            self.has_more = name is not None
            if name is None:
                return script.closing
            said = text_of_move(self._task, script.moves[name])
        self._made.append(name)
        return said
