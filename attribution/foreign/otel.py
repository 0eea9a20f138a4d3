"""Spans of OpenTelemetry's conventions for generative AI, as lines of JSON.

A line is a span, or an export that holds many (`resourceSpans`). Attributes are an object, or the
list of OTLP. Spans of one conversation (`gen_ai.conversation.id`) or else of one trace make an
episode: the last call of a model has all messages before it, spans of `execute_tool` have what was
asked and answered where messages were not recorded. Content is opt-in there: where none was
recorded, little can be judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attribution.foreign.otel_messages import (
    as_json,
    broken_by,
    chat_of,
    outcome_in,
    tool_messages,
)
from attribution.foreign.reading import (
    MAX_TOOLS,
    MAX_TRACES,
    Place,
    objects,
    outcome_of,
    read_objects,
    tools_of,
)
from attribution.foreign.records import ForeignTool, ForeignTrace
from components.records.frozen import FrozenDict

MAX_SPANS = 500_000
_CHATS = ("chat", "generate_content", "text_completion")


class Span:
    """One span that matters here."""

    def __init__(self, body: Mapping[str, Any], place: Place) -> None:
        """Args: body: as it was written; place: where."""
        self.place = place
        self.attributes = _attributes(body.get("attributes"))
        events = body.get("events")
        self.events = [
            (str(event.get("name", "")), _attributes(event.get("attributes")))
            for event in (events if isinstance(events, list) else [])
            if isinstance(event, dict)
        ]
        status = body.get("status")
        self.status = status if isinstance(status, dict) else {}
        context = body.get("context")
        ids = context if isinstance(context, dict) else body
        self.trace = str(ids.get("traceId") or ids.get("trace_id") or body.get("trace_id") or "")
        self.start = _number(body.get("startTimeUnixNano") or body.get("start_time_unix_nano") or 0)
        self.written = str(body.get("start_time") or body.get("startTime") or "")

    @property
    def operation(self) -> str:
        """What the span is of (`chat`, `execute_tool`, ...)."""
        return str(self.attributes.get("gen_ai.operation.name") or "")

    @property
    def order(self) -> tuple[int, str]:
        """When it began."""
        return self.start, self.written


def read_otel(path: Path) -> Iterator[ForeignTrace]:
    """Yield the episodes of a file of spans, in the order in which they first appear.

    Raises:
        ConfigError: a line holds no span; says which and why.
    """
    groups: dict[str, list[Span]] = {}
    count = 0
    for place, body in read_objects(path):
        for entry in _spans(body, place):
            span = Span(entry, place)
            count += 1
            if count > MAX_SPANS or len(groups) > MAX_TRACES:
                place.refuse(f"there are more than {MAX_SPANS} spans", "split the file")
            conversation = span.attributes.get("gen_ai.conversation.id")
            groups.setdefault(str(conversation or span.trace or place.where), []).append(span)
    for name, spans in groups.items():
        if any(span.operation for span in spans):
            yield _trace(name, sorted(spans, key=lambda span: span.order))


def _trace(name: str, spans: list[Span]) -> ForeignTrace:
    place = spans[0].place
    chats = [span for span in spans if span.operation in _CHATS]
    calls = [span for span in spans if span.operation == "execute_tool"]
    messages = chat_of(
        [span.attributes for span in chats], [span.attributes for span in calls], place
    )
    if not any(message.calls for message in messages) and calls:
        messages = (*messages, *tool_messages([span.attributes for span in calls]))
    events = [event for span in spans for event in span.events]
    reward, said = outcome_in([span.attributes for span in spans], events)
    outcome, number = outcome_of(reward, said, place)
    return ForeignTrace(
        trace_id=name,
        task_id=name,
        source=str(place),
        messages=messages,
        tools=_tools(spans),
        outcome=outcome,
        reward=number,
        broken=broken_by([(span.attributes, span.status) for span in chats]),
    )


def _tools(spans: list[Span]) -> FrozenDict[str, ForeignTool]:
    found: dict[str, ForeignTool] = {}
    for span in spans:
        listed = as_json(span.attributes.get("gen_ai.tool.definitions"))
        entries = objects(listed, "gen_ai.tool.definitions", span.place, MAX_TOOLS)
        found.update(tools_of([item for item in entries if _is_function(item)], span.place))
    return FrozenDict(found)


def _is_function(entry: Mapping[str, Any]) -> bool:
    return entry.get("type") in (None, "function")


def _spans(body: dict[str, Any], place: Place) -> list[dict[str, Any]]:
    exported = body.get("resourceSpans") or body.get("resource_spans")
    if exported is None:
        if "attributes" not in body:
            place.refuse("is no span: it has no attributes", "write one span a line")
        return [body]
    found: list[dict[str, Any]] = []
    for resource in objects(exported, "resourceSpans", place, MAX_SPANS):
        scopes = resource.get("scopeSpans") or resource.get("scope_spans")
        for scope in objects(scopes, "scopeSpans", place, MAX_SPANS):
            found += objects(scope.get("spans"), "spans", place, MAX_SPANS)
    return found


def _attributes(value: Any) -> dict[str, Any]:
    """Return attributes as an object, from one or from OTLP's list of keys and values."""
    if isinstance(value, dict):
        return value
    found = {}
    for entry in value if isinstance(value, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("key"), str):
            found[entry["key"]] = _otlp(entry.get("value"))
    return found


def _otlp(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    match kind:
        case "intValue":
            return _number(inner)
        case "arrayValue":
            listed = inner.get("values") if isinstance(inner, dict) else None
            return [_otlp(item) for item in listed or []]
        case "kvlistValue":
            return _attributes(inner.get("values") if isinstance(inner, dict) else None)
        case "stringValue" | "boolValue" | "doubleValue" | "bytesValue":
            return inner
        case _:
            return value


def _number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0
