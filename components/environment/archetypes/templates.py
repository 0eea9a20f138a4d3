"""Templates of texts: literal text with slots.

{airline}  one of a word list     {Airline}  the same, first letter large
{~airline}  another one than before in this text
{#4}  four digits, the first not 0    {x8}  hexadecimal    {a3} {A3}  letters
{b24}  letters and digits that cannot be taken for each other
{=person.email}  a value of another meaning of the same row
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from components.environment.archetypes.word_lists import pool
from components.errors import SynthesisError

_SLOT = re.compile(r"\{([^{}]*)\}")
_CHARS = re.compile(r"^([#xaAb])(\d+)$")
ALPHABETS = {
    "#": "0123456789",
    "x": "0123456789abcdef",
    "a": "abcdefghijklmnopqrstuvwxyz",
    "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "b": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One place of a template that a draw fills."""

    words: tuple[str, ...] = ()
    is_large: bool = False
    is_other: bool = False
    alphabet: str = ""
    count: int = 0
    meaning: str = ""


Template = tuple[str | Slot, ...]
"""Literal texts and slots, in order."""


@lru_cache(maxsize=4096)
def parse_template(text: str) -> Template:
    """Read a template.

    Raises:
        SynthesisError: a slot names no word list.
    """
    parts: list[str | Slot] = []
    for index, piece in enumerate(_SLOT.split(text)):
        if index % 2 == 1:
            parts.append(_slot(piece, text))
        elif piece:
            parts.append(piece)
    return tuple(parts)


def _slot(piece: str, text: str) -> Slot:
    if piece.startswith("="):
        return Slot(meaning=piece[1:])
    found = _CHARS.match(piece)
    if found:
        return Slot(alphabet=found[1], count=int(found[2]))
    name = piece.removeprefix("~")
    words = pool(name[:1].lower() + name[1:])
    if not words:
        raise SynthesisError(f"template {text!r}: words.json has no list {name!r}")
    return Slot(words=words, is_large=name[:1].isupper(), is_other=name != piece)
