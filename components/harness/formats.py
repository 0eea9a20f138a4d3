"""The formats in which models write tool calls: one reader each.

A reader returns, in the order of the text, each call and, where a call was begun that cannot be
read, the reason as a text. It returns nothing when its format does not occur. Readers never raise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from components.harness.json_text import Unreadable, decode_text, read_value, read_values, skip

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_FENCE = "```"
_OPEN_FENCE = re.compile(r"```[ \t]*([A-Za-z_]*)[ \t]*\r?\n?\s*")
_LINE_START = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
_MAX_STARTS = 32
"""Lines at which a bare call is looked for."""
_MAX_BROKEN = 32
"""Broken calls after which a text is read no further: each costs a pass over what is left of it."""


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as it was written."""

    name: str
    arguments: dict[str, Any]


Found = list[RawCall | str]


def read_hermes(text: str) -> Found:
    """Read `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, any number of them."""
    found: Found = []
    num_broken = 0
    at = text.find(_OPEN)
    while at >= 0:
        start = at + len(_OPEN)
        fence = _OPEN_FENCE.match(text, skip(text, start))
        try:
            values, end = read_values(text, fence.end() if fence else start, _CLOSE)
            if fence and text.startswith(_FENCE, end):
                end = skip(text, end + len(_FENCE))
            found += _calls_between(text, values, end)
            at = text.find(_OPEN, end)
        except Unreadable as error:
            found.append(f"in {_OPEN}, {error}")
            num_broken += 1
            if num_broken == _MAX_BROKEN:
                return found
            # What a broken call holds is not searched: a call quoted in it is no call.
            closed = text.find(_CLOSE, start)
            at = text.find(_OPEN, closed) if closed >= 0 else -1
    return found


def read_json_block(text: str) -> Found:
    """Read calls from fenced blocks marked `json`, `tool_call` or not marked."""
    found: Found = []
    num_broken = 0
    fence = _OPEN_FENCE.search(text)
    while fence:
        is_json = fence[1].lower() in ("json", "tool_call", "")
        end = fence.end()
        if is_json and text[end : end + 1] in ("{", "["):
            try:
                values, end = read_values(text, end, _FENCE)
                calls = _calls_of(values, needs_arguments=True)
                if calls and end < len(text) and not text.startswith(_FENCE, end):
                    calls = ["in the fenced block, text follows the JSON"]
                found += calls
            except Unreadable as error:
                found.append(f"in the fenced block, {error}")
                num_broken += 1
                if num_broken == _MAX_BROKEN:
                    return found
        closed = text.find(_FENCE, end)
        fence = _OPEN_FENCE.search(text, closed + len(_FENCE)) if closed >= 0 else None
    return found


def read_bare_json(text: str) -> Found:
    """Read calls that are JSON from the start of a line to the end of the text."""
    problem = ""
    at = 0
    for _ in range(_MAX_STARTS):
        start = _LINE_START.search(text, at)
        if start is None:
            break
        at = start.end()
        try:
            values, end = read_values(text, at)
        except Unreadable as error:
            if '"arguments"' in text[at:]:
                problem = problem or str(error)
            at += 1
            continue
        calls = _calls_of(values, needs_arguments=True)
        if calls and not text[end:].strip():
            return calls
        if calls:
            problem = problem or "text follows the JSON of the call"
        at = max(end, at + 1)
    return [problem] if problem else []


def read_openai(text: str) -> Found:
    """Read an assistant message in JSON whose `tool_calls` have arguments as JSON text."""
    start = skip(text, 0)
    if not text.startswith("{", start) or '"tool_calls"' not in text:
        return []
    try:
        message, _end = read_value(text, start)
    except Unreadable as error:
        return [f"in the message with tool_calls, {error}"]
    calls = message.get("tool_calls")
    return _calls_of(calls, needs_arguments=False) if isinstance(calls, list) else []


READERS: Mapping[str, Callable[[str], Found]] = {
    "hermes": read_hermes,
    "json_block": read_json_block,
    "openai": read_openai,
    "bare_json": read_bare_json,
}
"""Parsers by the name that the harness's settings give them."""


def _calls_between(text: str, values: list[Any], end: int) -> Found:
    """Return the calls of one tagged block whose JSON ends at `end`."""
    rest = text[end:]
    if not values:
        raise Unreadable("there is no JSON object" if rest else "the text ends before the call")
    if rest and not rest.startswith((_CLOSE, _OPEN)):
        raise Unreadable("text follows the JSON")
    return _calls_of(values, needs_arguments=False) or ["the call has no name"]


def _calls_of(values: list[Any], *, needs_arguments: bool) -> Found:
    """Return the calls among decoded values; lists of calls are taken apart.

    Args:
        values: decoded JSON.
        needs_arguments: True where any JSON may stand, so that only an object with a name and
            arguments is a call.
    """
    found: Found = []
    for value in values:
        if isinstance(value, list):
            found += _calls_of(value, needs_arguments=needs_arguments)
        elif isinstance(value, dict):
            call = _call_of(value, needs_arguments)
            if call is not None:
                found.append(call)
        elif not needs_arguments:
            found.append("a call is not a JSON object")
    return found


def _call_of(value: dict[str, Any], needs_arguments: bool) -> RawCall | str | None:
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = value.get("name", inner if isinstance(inner, str) else None)
    key = "arguments" if "arguments" in value else "parameters"
    if not isinstance(name, str) or not name.strip() or (needs_arguments and key not in value):
        return None if needs_arguments else "a call has no name"
    arguments = value.get(key)
    try:
        for _ in range(2):  # some servers encode the arguments twice
            if isinstance(arguments, str) and arguments.strip():
                arguments = decode_text(arguments)
    except Unreadable as error:
        return f"the arguments of {name[:100]!r} cannot be read: {error}"
    if arguments is None or arguments == "":
        arguments = {}
    if not isinstance(arguments, dict):
        return f"the arguments of {name[:100]!r} are not a JSON object"
    return RawCall(name, arguments)
