"""Real calls that a model asks for, one after the other, on a state of its own.

Owns the playing and what the model is shown of it. Nothing that is called here outlives the stage.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from components.environment.engine import call_recorded
from components.environment.state import WorldState
from components.environment.world import World
from components.records.calls import CallRecord
from components.records.frozen import thaw
from components.task.graph import ToolGraph
from components.task.model_author.records import MAX_PER_ANSWER, AskedCall

_MAX_SHOWN = 2_500
"""Characters of one answer that the model is shown."""


@dataclass(slots=True)
class Played:
    """A line of play while it lasts."""

    world: World
    graph: ToolGraph
    """Only its tools are offered."""
    most: int
    """Calls that may be made."""
    state: WorldState
    records: list[CallRecord] = field(default_factory=list)
    """Calls that were accepted."""
    lines: list[str] = field(default_factory=list)
    """What the model is shown: each call and its answer."""
    calls: int = 0

    @property
    def left(self) -> int:
        """Calls that may still be made."""
        return self.most - self.calls

    def make(self, asked: Sequence[AskedCall]) -> None:
        """Make calls; those of one answer beyond what is allowed are not made, and said to be."""
        allowed = min(self.left, MAX_PER_ANSWER)
        for call in asked[:allowed]:
            self._make(call)
        if len(asked) > allowed:
            self.lines.append(f"({len(asked) - allowed} further calls were not made)")

    def _make(self, call: AskedCall) -> None:
        self.calls += 1
        shown = _line({"service": call.service, "tool": call.tool, "arguments": call.arguments})
        if (call.service, call.tool) not in self.graph.tools:
            answer: Any = {"ok": False, "error": f"no tool {call.service}.{call.tool} is offered"}
        else:
            self.state, record = call_recorded(
                self.world, self.state, call.service, call.tool, call.arguments
            )
            answer = record.envelope
            if record.envelope["ok"]:
                self.records.append(record)
        told = _line(answer)
        cut = "" if len(told) <= _MAX_SHOWN else f" ... ({len(told)} characters)"
        self.lines.append(f"{shown}\n-> {told[:_MAX_SHOWN]}{cut}")


def played_on(world: World, graph: ToolGraph, most: int) -> Played:
    """Return a line of play that begins at the start of a world."""
    return Played(world=world, graph=graph, most=most, state=world.initial)


def _line(value: Any) -> str:
    return json.dumps(thaw(value), ensure_ascii=False, sort_keys=True)
