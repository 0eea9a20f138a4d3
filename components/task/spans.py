"""Text with marked spans: nested pieces, read as one string and the place of every mark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Tag = tuple[str, ...]
"""What a span is: `("literal", step, pointer)`, `("referent", step)`, `("demand", step)`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Pieces with a tag."""

    tag: Tag
    pieces: Pieces


Pieces = Sequence["str | Mark"]


class Span(NamedTuple):
    """A place in the text, [start, end)."""

    start: int
    end: int


def flatten(pieces: Pieces) -> tuple[str, dict[Tag, Span]]:
    """Return the text, and the first span of every tag."""
    text: list[str] = []
    spans: dict[Tag, Span] = {}
    length = _flatten(pieces, 0, text, spans)
    whole = "".join(text)
    assert len(whole) == length
    return whole, spans


def _flatten(pieces: Pieces, at: int, text: list[str], spans: dict[Tag, Span]) -> int:
    for piece in pieces:
        if isinstance(piece, str):
            text.append(piece)
            at += len(piece)
        else:
            end = _flatten(piece.pieces, at, text, spans)
            spans.setdefault(piece.tag, Span(at, end))
            at = end
    return at


def fill(template: str, values: Mapping[str, Pieces]) -> Pieces:
    """Return the template with every `{name}` replaced."""
    filled: list[str | Mark] = []
    for number, part in enumerate(re.split(r"\{(\w*)\}", template)):
        filled.extend(values[part] if number % 2 else ([part] if part else []))
    return filled
