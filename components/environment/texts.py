"""Parts of texts, as reads of files and logs show them."""

from __future__ import annotations


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
