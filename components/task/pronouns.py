"""Pronouns in a request's words: `its channel`, `their mailbox`, `my trip`.

Owns the replacement alone; whose pronoun it is, is known where the sentence is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from components.task.spans import Mark, Pieces

_JOINTS = "of|for|linked to|about"
_NOUN = r"(?:(?!(?:of|for|to|on|in|with|by|that|whom|who|about|and|at)\b)[\w-]+ ){0,2}[\w-]+"
ME = "me"


def owned(pieces: Pieces, owners: Collection[str], pronoun: str, joints: str = _JOINTS) -> Pieces:
    """Return words with `the channel of EV-2034` as `its channel`.

    Args:
        pieces: the words.
        owners: what the owner is called; the longest that fits is taken.
        pronoun: `its`, `their` or `my`.
        joints: the words that join a thing to its owner, as alternatives of a pattern.
    """
    told = "|".join(sorted(map(re.escape, owners), key=lambda text: (-len(text), text)))
    if not told:
        return pieces
    found = re.compile(rf"\bthe ({_NOUN}) (?:{joints}) (?:{told})(?![\w-])")
    return _each(pieces, lambda text: found.sub(lambda hit: f"{pronoun} {hit[1]}", text))


def mine(pieces: Pieces) -> Pieces:
    """Return words with `the trip of me` as `my trip`."""
    return owned(pieces, (ME,), "my", "of")


def _each(pieces: Pieces, change: Callable[[str], str]) -> Pieces:
    """Return pieces with every stretch of plain text changed; neighbours are one stretch."""
    made: list[str | Mark] = []
    for piece in pieces:
        if isinstance(piece, Mark):
            made.append(Mark(piece.tag, _each(piece.pieces, change)))
        elif made and isinstance(made[-1], str):
            made[-1] += piece
        else:
            made.append(piece)
    return [change(piece) if isinstance(piece, str) else piece for piece in made]
