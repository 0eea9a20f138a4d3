"""Tool calls read out of a policy's raw text.

Parsers are tried by rank and the first that finds a call wins; all of its calls are kept. A call
drafted inside a reasoning block is never read. A call that cannot be read with certainty is not
guessed: it becomes a problem, a sentence that the policy is shown. Nothing in a text makes this
module raise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.errors import HarnessError
from components.harness.formats import READERS, RawCall
from components.harness.json_text import Unreadable, decode_text, end_of_value
from components.records.frozen import FrozenDict, JsonObject, freeze
from components.records.harness import HarnessSettings
from components.records.trajectory import ParsedCall

_REASONING = re.compile(r"<(/?)(?:think|thinking|reasoning|thought)>")
_PLACE = re.compile(r"[{\[]|<(/?)(?:think|thinking|reasoning|thought)>")
_LOOKS_LIKE_CALL = re.compile(r"<tool_call>|\"?'?arguments\"?'?\s*:|\"tool_calls\"")
_DOUBLED = re.compile(r"(.{1,100}?)(?:[\s.,_]*\1)+", re.DOTALL)
_PREFIX = re.compile(r"^(?:functions?|tools?)[.:/]")
_MAX_NAME = 200
_MAX_PLACES = 2000
_MAX_PROBLEMS = 8
"""Problems of one message that the policy is told of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTurn:
    """What was read from one message."""

    calls: tuple[ParsedCall, ...]
    problem: str = ""
    """Why a call, or any at all, could not be read; part of a sentence, without a full stop."""
    is_attempt: bool = True
    """False when the text does not even try to call a tool."""


def parse_turn(
    text: str, settings: HarnessSettings, tools: Mapping[str, JsonObject], turn_index: int = 0
) -> ParsedTurn:
    """Read the calls of one message.

    Args:
        text: raw text of the policy.
        settings: which parsers are tried, by rank.
        tools: policy name -> JSON Schema of the arguments, of the tools that are shown; with them
            names written in other ways are recognised. A name that is not among them is still a
            call.
        turn_index: part of the calls' ids.

    Raises:
        HarnessError: the settings name a parser that does not exist; never because of the text.
    """
    visible, is_closed = visible_text(text)
    problem = ""
    by_rank = sorted(settings.parsers.items(), key=lambda item: (item[1].rank, item[0]))
    for parser, setting in by_rank:
        if parser not in READERS:
            known = ", ".join(READERS)
            raise HarnessError(f"harness.parsers: no parser {parser!r}; there are {known}")
        if not setting.enabled:
            continue
        found = READERS[parser](visible)
        calls = [item for item in found if isinstance(item, RawCall)]
        problems = [item for item in found if isinstance(item, str)]
        if calls:
            parsed = (
                _parsed(call, tools, f"t{turn_index:02d}c{number}", parser)
                for number, call in enumerate(calls, 1)
            )
            return ParsedTurn(calls=tuple(parsed), problem=_said(problems))
        problem = problem or _said(problems)
    if problem:
        return ParsedTurn(calls=(), problem=problem)
    if not is_closed:
        return ParsedTurn(calls=(), problem="its reasoning was not closed, so no call follows it")
    if _LOOKS_LIKE_CALL.search(visible):
        return ParsedTurn(calls=(), problem="its tool call is in a format that is not accepted")
    return ParsedTurn(calls=(), problem="it holds no tool call", is_attempt=False)


def _said(problems: list[str]) -> str:
    """Return problems as one text, each once, a long row of them cut."""
    unique = list(dict.fromkeys(problems))
    more = [f"and {len(unique) - _MAX_PROBLEMS} more"] if len(unique) > _MAX_PROBLEMS else []
    return "; ".join([*unique[:_MAX_PROBLEMS], *more])


def visible_text(text: str) -> tuple[str, bool]:
    """Return the text outside reasoning blocks, and whether the last block was closed.

    A block that begins before the text does (the prompt opened it) ends at its closing tag. Tags
    inside a JSON value are part of that value.
    """
    if not _REASONING.search(text):
        return text, True
    kept: list[str] = []
    at = shown_from = 0
    is_hidden = False
    for _ in range(_MAX_PLACES):
        place = _PLACE.search(text, at)
        if place is None:
            break
        at = place.end()
        if place[1] is None:
            at = end_of_value(text, place.start()) or at
        elif place[1] and not is_hidden:
            kept, shown_from = [], at
        elif place[1]:
            is_hidden, shown_from = False, at
        elif not is_hidden:
            kept.append(text[shown_from : place.start()])
            is_hidden = True
    else:
        return "", False  # too tangled to tell what is reasoning
    if not is_hidden:
        kept.append(text[shown_from:])
    return "\n".join(kept), not is_hidden


def resolve_name(written: str, tools: Mapping[str, JsonObject]) -> str:
    """Return the shown tool that a written name can only mean, or the name as it was written."""
    name = written.strip()
    if name in tools or len(name) > _MAX_NAME:
        return name
    doubled = _DOUBLED.fullmatch(name)
    for candidate in (name, doubled[1] if doubled else name):
        bare = _PREFIX.sub("", candidate)
        for form in (bare, bare.partition(".")[2], bare.replace(".", "__", 1)):
            if form in tools:
                return form
    return name


def _parsed(
    call: RawCall, tools: Mapping[str, JsonObject], call_id: str, parser: str
) -> ParsedCall:
    name = resolve_name(call.name, tools)
    arguments: JsonObject = freeze(_unwrapped(call.arguments, tools.get(name, FrozenDict())))
    return ParsedCall(call_id=call_id, name=name, arguments=arguments, parser=parser)


def _unwrapped(arguments: dict[str, Any], schema: JsonObject) -> dict[str, Any]:
    """Decode values that are JSON text where the schema wants an object or a list and no text."""
    properties = schema.get("properties") or {}
    result = dict(arguments)
    for name, value in arguments.items():
        wanted = properties.get(name)
        if not isinstance(value, str) or not isinstance(wanted, Mapping):
            continue
        if wanted.get("type") in ("object", "array"):
            try:
                inner = decode_text(value)
            except Unreadable:
                continue
            if isinstance(inner, dict if wanted["type"] == "object" else list):
                result[name] = inner
    return result
