"""A trace played again in the benchmark that its task is of.

The benchmark's own tools answer the agent's calls from the task's own start, and its own evaluator
judges the end. Calls of a simulated user are left out. A replay that comes out otherwise than the
trace says speaks of no party: `has_same_outcome` tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attribution.foreign.facts import Traced, traced_calls
from attribution.foreign.records import ForeignTrace, Outcome, Speaker
from components.records.frozen import thaw
from components.task.foreign.worker import Call, Foreign, ForeignTask, Played, Turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """One call as it was played."""

    call: Call
    answer: dict[str, Any]
    """As the benchmark gave it: `text`, `error`, `wrote`, `facts`."""
    turn: int
    """Turn of the agent that made it; of a call of gold, -1."""
    traced: Traced | None = None
    """Its place in the trace; None: it is of gold."""

    @property
    def is_write(self) -> bool:
        """Whether it changed something."""
        return bool(self.answer.get("wrote"))


class Replay:
    """A trace and its task's gold, each played from the task's start."""

    def __init__(self, foreign: Foreign, trace: ForeignTrace) -> None:
        """Play both.

        Raises:
            ConfigError: the benchmark has no such task.
        """
        self._foreign = foreign
        self.trace = trace
        self.task: ForeignTask = foreign.task(trace.task_id)
        self.message = "\n".join(m.text for m in trace.messages if m.speaker is Speaker.AGENT)
        traced = [
            item
            for item in traced_calls(trace)
            if item.call.by is Speaker.AGENT and item.call.arguments is not None
        ]
        self._slots = [min(_asked(trace, item), len(self.task.gold) - 1) for item in traced]
        calls: list[Call] = [
            {"tool": item.call.name, "arguments": thaw(item.call.arguments)} for item in traced
        ]
        self.played = self.play(list(zip(self._slots, calls, strict=True)))
        self.done = [
            Done(call=call, answer=answer, turn=item.turn, traced=item)
            for call, answer, item in zip(calls, self.played.flat, traced, strict=True)
        ]
        own = foreign.run(trace.task_id, self.task.gold, self.task.message)
        self.gold_played = own
        self.gold = [
            Done(call=call, answer=answer, turn=-1)
            for call, answer in zip(self.task.calls, own.flat, strict=True)
        ]
        self.gold_slots = [at for at, turn in enumerate(self.task.gold) for _ in turn]

    def play(self, calls: Sequence[tuple[int, Call]], message: str | None = None) -> Played:
        """Play calls, each with the turn of the task that it is of; None: what the agent said."""
        turns: Turns = [[] for _ in self.task.gold]
        for at, call in calls:
            turns[at].append(call)
        said = self.message if message is None else message
        return self._foreign.run(self.trace.task_id, turns, said)

    def slot(self, position: int) -> int:
        """Return the turn of the task that a call of the agent is of."""
        return self._slots[position]

    @property
    def has_same_outcome(self) -> bool:
        """Whether the benchmark says of the replay what the trace says of itself."""
        if self.trace.outcome is Outcome.UNKNOWN or self.played.passes is None:
            return False
        return self.played.passes is (self.trace.outcome is Outcome.PASSED)


def _asked(trace: ForeignTrace, item: Traced) -> int:
    """Return how many messages of the user come before a call, less one."""
    before = trace.messages[: item.message]
    return max(sum(message.speaker is Speaker.USER for message in before) - 1, 0)
