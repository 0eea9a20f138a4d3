"""Parts of texts, as reads of files and logs show them, and words that are looked for in texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_WORD = re.compile(r"\w+")


def matches(texts: Any, query: Any) -> bool:
    """Return whether every word of a query stands in one of the texts, in any case and order; no
    word: all do.

    Example:
        >>> matches(["Warp and weft"], "WEFT warp"), matches(["Warp"], "weft")
        (True, False)
    """
    words = _WORD.findall(" ".join(_texts((query,))).lower())
    whole = "\n".join(_texts(texts)).lower()
    return all(word in whole for word in words)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def first_lines(text: str, number: float) -> str:
    """Return the first lines of a text; all of it where it has no more.

    Example:
        >>> first_lines("warp" + chr(10) + "weft", 1)
        'warp'
    """
    return "\n".join(text.split("\n")[: _whole(number)])


def last_lines(text: str, number: float) -> str:
    """Return the last lines of a text; all of it where it has no more.

    Example:
        >>> last_lines("warp" + chr(10) + "weft", 1)
        'weft'
    """
    lines = text.split("\n")
    return "\n".join(lines[max(len(lines) - _whole(number), 0) :])


def _whole(number: float) -> int:
    if number < 0:
        raise ValueError(f"{number} lines")
    return int(number)
