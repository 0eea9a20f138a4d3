"""Values of calls that would be known again, and whether answers show them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_SHORTEST_TEXT = 3
_SMALLEST_NUMBER = 100
"""Shorter values stand in an answer by chance."""


def named_values(arguments: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield (name of the argument, value) of what would be known again; references are none."""
    if isinstance(arguments, Mapping):
        for name, item in arguments.items():
            yield from named_values(item, f"{at}.{name}")
    elif isinstance(arguments, (list, tuple)):
        for item in arguments:
            yield from named_values(item, at)
    elif isinstance(arguments, str):
        text = arguments.strip()
        if len(text) >= _SHORTEST_TEXT and not re.match(r"\$\d", text):
            yield at, text
    elif (
        isinstance(arguments, (int, float))
        and not isinstance(arguments, bool)
        and abs(arguments) >= _SMALLEST_NUMBER
    ):
        yield at, _number(arguments)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


class Shown:
    """What an answer shows: texts, names and numbers, at any depth."""

    def __init__(self, body: Any) -> None:
        """Args: body: JSON, or prose as a text."""
        self._texts: list[str] = []
        self._read(body)

    def __contains__(self, value: str) -> bool:
        """Return whether a value, as `named_values` gives it, stands in the answer."""
        pattern = None
        if value.replace(".", "").lstrip("-").isdigit():
            pattern = re.compile(rf"(?<![\d.]){re.escape(value)}(?![\d])")
        return any(
            value in text if pattern is None else pattern.search(text) is not None
            for text in self._texts
        )

    def _read(self, value: Any) -> None:
        if isinstance(value, Mapping):
            self._texts += [str(name) for name in value]
            value = list(value.values())
        if isinstance(value, (list, tuple)):
            for item in value:
                self._read(item)
        elif isinstance(value, str):
            self._texts.append(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self._texts.append(_number(value))
