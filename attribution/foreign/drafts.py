"""A failure as a drafted regression task: what was asked, what was called, and what is to be said.

A draft is no task: nobody has said what must hold at its end, and nothing was certified.
"""

from __future__ import annotations

from typing import Any

from attribution.foreign.facts import traced_calls
from attribution.foreign.records import ForeignTrace, Speaker
from attribution.records import Attribution
from components.records.base import to_json
from components.records.frozen import thaw


def draft_task(trace: ForeignTrace, found: Attribution) -> dict[str, Any]:
    """Return the draft of a failure as JSON.

    Args:
        trace: what failed.
        found: the verdict on it.
    """
    user = [message.text for message in trace.messages if message.speaker is Speaker.USER]
    rules = [message.text for message in trace.messages if message.speaker is Speaker.SYSTEM]
    return {
        "schema_version": 1,
        "draft": True,
        "trace": trace.trace_id,
        "source": trace.source,
        "task": trace.task_id,
        "instruction": user[0] if user else "",
        "later_messages_of_the_user": user[1:],
        "scenario": trace.scenario,
        "rules": rules,
        "tools": [to_json(tool) for _, tool in sorted(trace.tools.items())],
        "recorded_calls": [
            {
                "turn": item.turn,
                "by": item.call.by.value,
                "tool": item.call.name,
                "arguments": item.call.written
                if item.call.arguments is None
                else thaw(item.call.arguments),
                "answer": None if item.call.answer is None else item.call.answer.text,
                "came_to": item.answer.value,
            }
            for item in traced_calls(trace)
        ],
        "suspected": [to_json(blame) for blame in found.verdict.blamed],
        "would_decide": found.verdict.would_decide,
        "unmet": list(trace.unmet),
        "why": [fact.statement for fact in found.evidence],
        "expected": None,
        "to_complete": [
            "expected: what must hold at the end (rows and fields, or an answer)",
            "the state that the tools begin with",
            "which recorded calls belong to a right solution",
        ],
    }
