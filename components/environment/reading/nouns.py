"""Nouns of tools: the object of a name or a sentence, the noun of an identifier.

Owns what counts as a noun; which noun a tool gets is decided in `entities.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from components.environment.archetypes.find import archetype_of
from components.environment.archetypes.records import Found, Shape
from components.environment.reading.features import ServerView, ToolView
from components.environment.reading.params import Param
from components.environment.reading.words import Phrase, read_name, singular, verb_of, words

_MAX_WORDS = 3


def noun_of(phrase: Phrase, title: frozenset[str]) -> str:
    """Return the noun of an object in the singular, or an empty text.

    Args:
        phrase: a name or a sentence.
        title: words of the server's title, which say little before others.
    """
    both = phrase.rest[:1] in (("or",), ("and",)) and len(phrase.rest) > 2
    if not phrase.noun and both and verb_of(phrase.rest[1]):  # create or update a route
        phrase = read_name(phrase.rest[1:])
    parts = [singular(word) for word in phrase.noun if word.isalpha()]
    inner = [place for place, word in enumerate(parts) if word in words("clause_words")]
    if inner and not all(_is_no_noun(word) for word in parts[: inner[0]]):
        parts = parts[: inner[0]]
    while parts and _is_no_noun(parts[-1]):
        parts = parts[:-1]
    while len(parts) > 1 and parts[-1] in words("aspects") and not is_past("_".join(parts)):
        parts = parts[:-1]
    while len(parts) > 1 and (_is_qualifier(parts[0]) or parts[0] in title):
        parts = parts[1:]
    return "_".join(parts[-_MAX_WORDS:])


def noun_after(phrase: Phrase, title: frozenset[str]) -> str:
    """Return what a sentence looks for (`Search Wikipedia for articles`), or an empty text."""
    if phrase.family not in ("search", "list", "get") or "for" not in phrase.rest:
        return ""
    rest = phrase.rest[phrase.rest.index("for") + 1 :]
    return noun_of(read_name(("get", *rest)), title)


def text_noun(view: ToolView, title: frozenset[str]) -> str:
    """Return the noun of a tool's first sentence: its object, or else what it looks for."""
    return noun_of(view.text, title) or noun_after(view.text, title)


def _is_no_noun(word: str) -> bool:
    """True for words that stand where a noun is looked for and name no thing."""
    is_participle = word.endswith("ed") and bool(verb_of(word))
    return word in words("trailing_verbs") or word in words("no_nouns") or is_participle


def _is_qualifier(word: str) -> bool:
    """True for words before a noun that name no other kind of thing (`downloaded_file`)."""
    is_participle = word.endswith(("ed", "ing")) and bool(verb_of(word)) and word != verb_of(word)
    return word in words("qualifiers") or is_participle


def brands_of(server: ServerView, title: frozenset[str]) -> frozenset[str]:
    """Return the words of a server's title that its descriptions only ever write as a name."""
    text = " ".join(view.tool.description for view in server.tools)
    written = frozenset(re.findall(r"[^\W\d_]+", text))
    named = frozenset(word.lower() for word in written)
    return frozenset(word for word in title & named if written.isdisjoint((word, f"{word}s")))


def is_kind(noun: str) -> bool:
    """True for what is known as a kind of record."""
    return archetype_of(noun).found in (Found.DIRECT, Found.ALIAS)


def is_past(noun: str) -> bool:
    """True for a known kind of history: what a browser visited is no browser."""
    return noun.rpartition("_")[2] in words("pasts") and "_" in noun and is_kind(noun)


def is_value(noun: str) -> bool:
    """True for what is known as one value (`block_height`), and no record."""
    return is_kind(noun) and archetype_of(noun).shape is Shape.VALUE


def is_place(noun: str, title: frozenset[str]) -> bool:
    """True for what a server is called (`search_wikipedia`): where it looks, not what for."""
    return bool(noun) and title.issuperset(noun.split("_"))


def key_of(view: ToolView) -> str:
    """Return the noun of the id that a tool must be given: the name's own, or the last of them."""
    keys = [
        noun
        for param, kind in zip(view.params, view.kinds, strict=True)
        if param.is_required and kind in ("id", "path") and (noun := key_noun(param))
    ]
    spoken = [noun for noun in keys if noun in runs_of(view.parts)]
    return (spoken or keys or [""])[-1]


def key_noun(param: Param) -> str:
    """Return the noun of an id-like parameter's name: `issue` of `issue_id`, or an empty text."""
    parts = [word for word in param.words if word not in ("the", "target", "parent", "source")]
    while parts and (parts[-1] in words("key_tails") or parts[-1] in words("qualifiers")):
        parts = parts[:-1]
    return "_".join(singular(word) for word in parts[-_MAX_WORDS:])


def runs_of(parts: Sequence[str]) -> Iterator[str]:
    """Yield the runs of words of a name, the longest first, each in the singular."""
    for length in range(min(_MAX_WORDS, len(parts)), 0, -1):
        for start in range(len(parts) - length + 1):
            yield singular("_".join(parts[start : start + length]))
