"""Chats as other programs write them, small enough to read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attribution.foreign.judge import judge_trace
from attribution.foreign.read import read_traces
from attribution.records import Attribution

ORDER = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["order_id"],
    "additionalProperties": False,
}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": ORDER,
            "outputSchema": {"type": "object", "required": ["order"]},
        },
    }
    for name in ("get_order", "cancel_order")
]
ASKED = {"role": "user", "content": "Cancel order W-100, please."}


def call(name: str, arguments: Any, answer: Any, **more: Any) -> list[dict[str, Any]]:
    """Return a message of the agent with one call, and the answer to it; None: there is none."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    asked = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": name, "arguments": written}}
        ],
        **more,
    }
    if answer is None:
        return [asked]
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return [asked, {"role": "tool", "tool_call_id": "c", "content": text}]


def says(text: str, **more: Any) -> dict[str, Any]:
    """Return a message of the agent without a call."""
    return {"role": "assistant", "content": text, **more}


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    """Return a line: the user's request, then these messages (lists are laid flat)."""
    flat = [ASKED]
    for item in messages:
        flat += item if isinstance(item, list) else [item]
    return {"messages": flat, "tools": TOOLS, "outcome": "failed", **more}


def write_lines(path: Path, lines: Sequence[Any]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def judged(folder: Path, line: dict[str, Any]) -> Attribution:
    """Return the verdict on one line."""
    (trace,) = read_traces(write_lines(folder / "chats.jsonl", [line]), None)
    return judge_trace(trace)


def checks_of(found: Attribution) -> list[str]:
    """Return the names of the checks that found something, in order."""
    return [str(item.data["check"]) for item in found.evidence]
