"""Where a request states a value: exact words, numbers in digits, times in the known forms."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, Literal

from components.records.task import FromInstruction
from components.task.moments import moment_at, moment_on
from components.task.spans import Span

_CLOCK = re.compile(r"\d{1,2}:\d{2} \w")
_MAX_DAY_WORDS = 5
Cast = Literal["string", "integer", "number", "boolean", "date", "moment"]


def stated(
    instruction: str, value: Any, now: str, within: Span | None = None
) -> list[FromInstruction]:
    """Return every place of a request that gives a value, as provenance, in order.

    Args:
        instruction: the request.
        value: a scalar.
        now: the world's clock, for times that are said relative to it.
        within: only places inside this span; None: all.
    """
    found = [
        FromInstruction(start=start, end=end, cast=cast)
        for start, end, cast in _places(instruction, value, now)
        if within is None or (within.start <= start and end <= within.end)
    ]
    return sorted(found, key=lambda item: item.start)


def span_of(instruction: str, words: str) -> Span | None:
    """Return the first place of some words in a request; None where they do not stand in it."""
    start = instruction.find(words)
    return None if start < 0 else Span(start, start + len(words))


def says_which(words: str, most: bool) -> bool:
    """Return whether words hold a superlative of this end: the latest, the cheapest."""
    known = set(_superlatives()["most" if most else "least"])
    return bool(known & set(re.findall(r"[a-z]+", words.lower())))


def _places(instruction: str, value: Any, now: str) -> Iterator[tuple[int, int, Cast]]:
    if isinstance(value, bool):
        yield from _words(instruction, "true" if value else "false", "boolean")
    elif isinstance(value, int):
        yield from _words(instruction, str(value), "integer")
    elif isinstance(value, float):
        for text in dict.fromkeys((str(value), f"{value:.2f}")):
            yield from _words(instruction, text, "number")
    elif isinstance(value, str) and value.strip():
        yield from _words(instruction, value, "string")
        yield from _times(instruction, value, now)


def _words(instruction: str, text: str, cast: Cast) -> Iterator[tuple[int, int, Cast]]:
    # A value ends before a full stop, and is no part of an address, a number or a time.
    pattern = rf"(?<!\w)(?<!\w[-.:/@]){re.escape(text)}(?!\w)(?![-.:/@]\w)"
    for match in re.finditer(pattern, instruction):
        yield match.start(), match.end(), cast


def _times(instruction: str, value: str, now: str) -> Iterator[tuple[int, int, Cast]]:
    for match in _CLOCK.finditer(instruction):
        ends = [
            match.start() + end.end() for end in re.finditer(r"\w\b", instruction[match.start() :])
        ]
        for end in ends[: _MAX_DAY_WORDS + 1]:
            words = instruction[match.start() : end]
            if moment_on(words) == value:
                yield match.start(), end, "date"
            elif moment_at(words, now) == value:
                yield match.start(), end, "moment"


@cache
def _superlatives() -> dict[str, list[str]]:
    text = resources.files("components.task.model_author").joinpath("superlatives.json")
    found: dict[str, list[str]] = json.loads(text.read_text(encoding="utf-8"))
    return found
