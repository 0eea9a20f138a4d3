"""OpenAI chat messages, one episode a line.

    {"messages": [...], "tools": [...], "outcome": "failed", "id": "...", "task": "..."}

Only `messages` must be there. A message of the agent may carry `finish_reason`; so may the line,
for the last of them. `error` says what broke around the agent. Whether an answer is an error is
read from its text, since the form has no place for it, unless the message says `is_error`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attribution.foreign.reading import (
    MAX_MESSAGES,
    MAX_TOOLS,
    Place,
    answer_of,
    call_of,
    objects,
    outcome_of,
    read_objects,
    text_of,
    tools_of,
)
from attribution.foreign.records import (
    ForeignAnswer,
    ForeignCall,
    ForeignMessage,
    ForeignTrace,
    Speaker,
)

_SPEAKERS = {
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "user": Speaker.USER,
    "assistant": Speaker.AGENT,
}


def read_openai(path: Path) -> Iterator[ForeignTrace]:
    """Yield the traces of a file of JSON lines.

    Raises:
        ConfigError: a line is no such object; says which and why.
    """
    for number, (place, body) in enumerate(read_objects(path)):
        if "messages" not in body:
            place.refuse("has no messages", 'write {"messages": [...]} in each line')
        outcome, reward = outcome_of(
            body.get("reward"), body.get("outcome", body.get("passed")), place
        )
        messages = with_answers(objects(body["messages"], "messages", place, MAX_MESSAGES), place)
        if body.get("finish_reason") and messages and not messages[-1].stop:
            last = messages[-1].model_copy(update={"stop": str(body["finish_reason"])})
            messages = (*messages[:-1], last)
        name = str(body.get("id") or f"{path.stem}-{number:05d}")
        yield ForeignTrace(
            trace_id=name,
            task_id=str(body.get("task") or body.get("task_id") or name),
            source=str(place),
            messages=messages,
            tools=tools_of(objects(body.get("tools"), "tools", place, MAX_TOOLS), place),
            outcome=outcome,
            reward=reward,
            broken=text_of(body.get("error")),
            ended=str(body.get("termination_reason") or ""),
        )


def with_answers(listed: list[dict[str, Any]], place: Place) -> tuple[ForeignMessage, ...]:
    """Return chat messages with each answer at its call: by id, else the next open call of a name.

    Raises:
        ConfigError: a message has no known role.
    """
    answers: dict[str, list[ForeignAnswer]] = {}
    loose: list[ForeignAnswer] = []
    for entry in listed:
        if entry.get("role") in ("tool", "function"):
            flag = entry.get("is_error", entry.get("error"))
            made = answer_of(entry.get("content"), flag if isinstance(flag, bool) else None)
            key = entry.get("tool_call_id") or entry.get("id")
            if key:
                answers.setdefault(str(key), []).append(made)
            else:
                loose.append(made)
    messages = []
    for number, entry in enumerate(listed):
        role = entry.get("role")
        if role in ("tool", "function"):
            continue
        if not isinstance(role, str) or role not in _SPEAKERS:
            place.refuse(
                f"messages.{number} has the role {str(role)[:40]!r}",
                f"use one of {', '.join((*_SPEAKERS, 'tool'))}",
            )
        speaker = _SPEAKERS[role]
        calls = [
            _answered(call, answers, loose) for call in _calls(entry, f"messages.{number}", place)
        ]
        messages.append(
            ForeignMessage(
                speaker=speaker,
                text=text_of(entry.get("content")),
                calls=tuple(call.model_copy(update={"by": speaker}) for call in calls),
                stop=str(entry.get("finish_reason") or ""),
            )
        )
    return tuple(messages)


def _calls(entry: dict[str, Any], key: str, place: Place) -> list[ForeignCall]:
    listed = objects(entry.get("tool_calls"), f"{key}.tool_calls", place, MAX_MESSAGES)
    if isinstance(entry.get("function_call"), dict):
        listed = [*listed, {"function": entry["function_call"]}]
    found = []
    for call in listed:
        inner = call.get("function")
        body = inner if isinstance(inner, dict) else call
        found.append(call_of(call.get("id"), body.get("name"), body.get("arguments")))
    return found


def _answered(
    call: ForeignCall, answers: dict[str, list[ForeignAnswer]], loose: list[ForeignAnswer]
) -> ForeignCall:
    # An id may come again in a later turn: answers are given out in their order.
    left = answers.get(call.call_id, []) or loose
    answer = left.pop(0) if left else None
    return call.model_copy(update={"answer": answer})
