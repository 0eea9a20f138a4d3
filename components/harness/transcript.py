"""A conversation read back as calls and what was shown of their answers.

This is how the oracle sees: from the messages alone. Pages of a long answer are put together again;
what was never shown is not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from components.harness.json_text import Unreadable, decode_text
from components.harness.paging import Page, read_page
from components.harness.parsing import parse_turn, resolve_name
from components.harness.policy import Message
from components.harness.tools import READ_MORE
from components.records.frozen import FrozenDict, JsonObject, freeze
from components.records.harness import HarnessSettings, ParserSettings

FORMATS = ("hermes", "json_block", "bare_json", "openai")
"""Call formats in the order in which they are tried."""
TALK = "I have done what you said so far. What is next?"
"""What the oracle writes to the user of a multi-turn task."""
_MARKS = {"hermes": "<tool_call>", "json_block": "```json", "openai": '"tool_calls"'}
"""What a system message that asks for a format holds."""
_READ_ALL = HarnessSettings(
    system_prompt="",
    user_prompt="",
    observation="",
    invalid_call_feedback="",
    parsers=FrozenDict({name: ParserSettings(rank=rank) for rank, name in enumerate(FORMATS)}),
)
"""Reads its own messages back; nothing else of these settings is used."""


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One call and as much of its answer as was shown."""

    name: str
    arguments: JsonObject
    call_id: str = ""
    """Known only for an answer in pages."""
    total_pages: int = 1
    pages: dict[int, str] = field(default_factory=dict)
    num_page_calls: int = 0
    """Calls of `read_more` for this answer so far."""

    @property
    def missing_pages(self) -> list[int]:
        """Pages that were not shown yet."""
        return [page for page in range(1, self.total_pages + 1) if page not in self.pages]

    @property
    def is_error(self) -> bool:
        """Whether the answer is an error, or cannot be read at all."""
        return not self.pages.get(1, "").startswith('{"ok":true')

    @property
    def data(self) -> Any:
        """The answer's `data`; None when it was not shown whole."""
        if self.missing_pages:
            return None
        envelope = _decoded("".join(self.pages[page] for page in sorted(self.pages)))
        return envelope.get("data") if isinstance(envelope, FrozenDict) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What happened so far."""

    exchanges: tuple[Exchange, ...]
    """Answered calls in order, without `read_more`."""
    style: str
    """Call format to write next: the last one answered, or another when a good call went unread."""
    num_unread: int
    """Messages in a row, up to the end, that got no answer to a call."""


def read_transcript(
    messages: Sequence[Message], tools: Mapping[str, JsonObject] | None = None
) -> Transcript:
    """Read a conversation; with `tools` (policy name -> schema) more ways to write a name count."""
    exchanges: list[Exchange] = []
    by_call_id: dict[str, Exchange] = {}
    style, num_unread = _style_asked_for(messages), 0
    for index, message in enumerate(messages):
        if message.role != "assistant":
            continue
        if message.content == TALK:
            num_unread = 0
            continue
        answers = _answers_after(messages, index)
        calls = _calls_in(message.content)
        if answers and calls:
            num_unread = 0
            style = calls[0][2]
        else:
            num_unread += 1
            if calls:
                style = FORMATS[(FORMATS.index(calls[0][2]) + 1) % len(FORMATS)]
        for (written, arguments, _parser), shown in zip(calls, answers, strict=False):
            name = resolve_name(written, tools or {})
            page = read_page(shown)
            if name == READ_MORE:
                _add_page(by_call_id.get(str(arguments.get("call_id"))), page)
                continue
            exchange = Exchange(name=name, arguments=arguments)
            if page is not None:
                exchange.call_id, exchange.total_pages = page.call_id, page.total
                exchange.pages[page.number] = page.text
                by_call_id[page.call_id] = exchange
            exchanges.append(exchange)
    return Transcript(exchanges=tuple(exchanges), style=style, num_unread=num_unread)


def _style_asked_for(messages: Sequence[Message]) -> str:
    text = messages[0].content if messages and messages[0].role == "system" else ""
    return next((style for style, mark in _MARKS.items() if mark in text), FORMATS[0])


def _add_page(exchange: Exchange | None, page: Page | None) -> None:
    if exchange is None:
        return
    exchange.num_page_calls += 1
    if page is not None and page.call_id == exchange.call_id:
        exchange.pages[page.number] = page.text


def _answers_after(messages: Sequence[Message], index: int) -> list[str]:
    answers = []
    for message in messages[index + 1 :]:
        if message.role != "tool":
            break
        answers.append(message.content)
    return answers


@lru_cache(maxsize=4096)
def _calls_in(text: str) -> tuple[tuple[str, JsonObject, str], ...]:
    parsed = parse_turn(text, _READ_ALL, {})
    return tuple((call.name, call.arguments, call.parser) for call in parsed.calls)


@lru_cache(maxsize=4096)
def _decoded(text: str) -> Any:
    try:
        return freeze(decode_text(text))
    except Unreadable:
        return None
