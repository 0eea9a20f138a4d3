"""Messages, answers and outcomes in the attributes of spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attribution.foreign.openai import with_answers
from attribution.foreign.reading import (
    MAX_MESSAGES,
    Place,
    answer_of,
    call_of,
    objects,
    parse_strict,
    text_of,
)
from attribution.foreign.records import ForeignAnswer, ForeignMessage, Speaker
from attribution.foreign.words import words

Attributes = Mapping[str, Any]
_ROLES = {"user", "assistant", "system", "tool", "developer"}


def as_json(value: Any) -> Any:
    """Return an attribute that may be JSON written as a text; a text that is none as it is."""
    if not isinstance(value, str):
        return value
    try:
        return parse_strict(value)
    except (ValueError, RecursionError):
        return value


def chat_of(
    chats: Sequence[Attributes], calls: Sequence[Attributes], place: Place
) -> tuple[ForeignMessage, ...]:
    """Return the conversation as the model's last call has it, with what tools' spans add.

    Args:
        chats: attributes of the model's calls, in order.
        calls: attributes of the tools' spans, in order.
        place: for what cannot be read.
    """
    best: list[dict[str, Any]] = []
    stops: list[str] = []
    for attributes in chats:
        listed: list[dict[str, Any]] = []
        system = as_json(attributes.get("gen_ai.system_instructions"))
        if system:
            listed.append({"role": "system", "content": text_of(system)})
        for key in ("gen_ai.input.messages", "gen_ai.output.messages"):
            found = as_json(attributes.get(key))
            for entry in objects(found, key, place, MAX_MESSAGES):
                listed += _plain(entry)
        reasons = as_json(attributes.get("gen_ai.response.finish_reasons"))
        last = reasons[-1] if isinstance(reasons, list) and reasons else reasons
        stops.append(str(last or ""))
        if len(listed) >= len(best):
            best = listed
    answers = _span_answers(calls)
    messages = [
        message.model_copy(
            update={
                "calls": tuple(
                    call.model_copy(
                        update={"answer": _better(call.answer, answers.get(call.call_id))}
                    )
                    for call in message.calls
                )
            }
        )
        for message in with_answers(best, place)
    ]
    if messages and stops and stops[-1] and messages[-1].speaker is Speaker.AGENT:
        messages[-1] = messages[-1].model_copy(update={"stop": messages[-1].stop or stops[-1]})
    return tuple(messages)


def tool_messages(calls: Sequence[Attributes]) -> tuple[ForeignMessage, ...]:
    """Return the tools' spans as turns of one call each, where no messages were recorded."""
    answers = [_span_answer(attributes) for attributes in calls]
    return tuple(
        ForeignMessage(
            speaker=Speaker.AGENT,
            text="",
            calls=(
                call_of(
                    attributes.get("gen_ai.tool.call.id"),
                    attributes.get("gen_ai.tool.name"),
                    attributes.get("gen_ai.tool.call.arguments"),
                ).model_copy(update={"answer": answer}),
            ),
        )
        for attributes, answer in zip(calls, answers, strict=True)
    )


def broken_by(chats: Sequence[tuple[Attributes, Mapping[str, Any]]]) -> str:
    """Return what broke the last of the model's calls; empty where none did."""
    if not chats:
        return ""
    attributes, status = chats[-1]
    error = attributes.get("error.type")
    if error:
        return f"the model's endpoint: {str(error)[:200]}"
    if status.get("code") in ("ERROR", "STATUS_CODE_ERROR", 2):
        return f"the model's endpoint: {str(status.get('message') or 'an error')[:200]}"
    return ""


def outcome_in(
    spans: Sequence[Attributes], events: Sequence[tuple[str, Attributes]]
) -> tuple[Any, Any]:
    """Return the reward and the word that an evaluation gives; None where there is none."""
    judged = [attributes for name, attributes in events if name == "gen_ai.evaluation.result"]
    judged += [item for item in spans if "gen_ai.evaluation.score.value" in item]
    if not judged:
        return None, None
    last = judged[-1]
    label = str(last.get("gen_ai.evaluation.score.label") or "").lower()
    value = last.get("gen_ai.evaluation.score.value")
    is_share = isinstance(value, (int, float)) and 0 <= value <= 1
    is_verdict = label in (*words("passed"), *words("failed"))
    return (value if is_share else None), (label if is_verdict else None)


def _plain(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a message of parts as chat messages: its text and calls, then its answers."""
    role = str(entry.get("role") or "assistant")
    role = role if role in _ROLES else "assistant"
    parts = entry.get("parts")
    if not isinstance(parts, list):
        return [{**entry, "role": role}]
    texts, calls, answers = [], [], []
    for part in parts:
        if not isinstance(part, dict):
            continue
        match part.get("type"):
            case "tool_call":
                calls.append(
                    {
                        "id": part.get("id"),
                        "name": part.get("name"),
                        "arguments": part.get("arguments"),
                    }
                )
            case "tool_call_response":
                content = part.get("response", part.get("result"))
                answers.append({"role": "tool", "tool_call_id": part.get("id"), "content": content})
            case "text":
                texts.append(text_of(part.get("content")))
    said: list[dict[str, Any]] = []
    if texts or calls or not answers:
        said.append(
            {
                "role": "user" if role == "tool" else role,
                "content": "\n".join(texts),
                "tool_calls": calls,
                "finish_reason": entry.get("finish_reason"),
            }
        )
    return [*said, *answers]


def _span_answers(calls: Sequence[Attributes]) -> dict[str, ForeignAnswer]:
    found = {}
    for attributes in calls:
        answer = _span_answer(attributes)
        key = attributes.get("gen_ai.tool.call.id")
        if answer is not None and key:
            found[str(key)] = answer
    return found


def _span_answer(attributes: Attributes) -> ForeignAnswer | None:
    result, error = attributes.get("gen_ai.tool.call.result"), attributes.get("error.type")
    if result is None and error is None:
        return None
    shown = result if result is not None else f"error: {error}"
    return answer_of(shown, True if error else None)


def _better(message: ForeignAnswer | None, span: ForeignAnswer | None) -> ForeignAnswer | None:
    """Return the answer of the message, with what the tool's span says of errors."""
    if message is None or span is None:
        return message or span
    return message.model_copy(update={"is_error": span.is_error or message.is_error})
