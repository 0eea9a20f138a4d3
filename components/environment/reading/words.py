"""Text of a tool read as words: tokens, singulars, and the verb and object of a name or sentence.

Owns the splitting of names and first sentences; the words themselves are in `lexicon.json`. It says
what stands where and draws no conclusion: what a tool does is for the classifier to weigh.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_TOKEN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_WORD = re.compile(r"[^\W\d_]+(?:'[a-z]+)?", re.UNICODE)
_SENTENCE_END = re.compile(
    r"[.!?](?=\s|$)|\n\s*\n|[\u3002\uff01\uff1f\uff1b]|\n\s*(?=[A-Za-z]+:|[-*@:])"
)
_LEAD = re.compile(r"^(?:\s*\[[^\]]*\]|\s*\([^)]*\)|[^\w\[(]+)+")
MAX_TEXT = 1200
"""Characters of a description that are read; what follows is nearly always examples."""


def _load() -> dict[str, Any]:
    text = Path(__file__).with_name("lexicon.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


LEXICON = _load()
VERBS: dict[str, str] = {
    word: family for family, text in LEXICON["verbs"].items() for word in text.split()
}
"""Verb -> family, English."""
FOREIGN_VERBS: dict[str, str] = {
    word: family for family, text in LEXICON["foreign_verbs"].items() for word in text.split()
}
"""The same for descriptions in other languages."""


@lru_cache(maxsize=64)
def words(kind: str) -> frozenset[str]:
    """Return one word list of the lexicon."""
    return frozenset(LEXICON[kind].split())


_UNSPACED = tuple(
    sorted((word for word in FOREIGN_VERBS if ord(word[0]) > 0x2E7F), key=lambda word: -len(word))
)


@lru_cache(maxsize=16384)
def tokens(name: str) -> tuple[str, ...]:
    """Split a name at case changes, digits and punctuation.

    Example:
        >>> tokens("getHTTPHeader_by-id2")
        ('get', 'http', 'header', 'by', 'id', '2')
    """
    return tuple(part.lower() for part in _TOKEN.findall(name))


def snake(name: str) -> str:
    """Return a name as snake_case."""
    return "_".join(tokens(name))


@lru_cache(maxsize=16384)
def singular(word: str) -> str:
    """Return the singular of an English word, or of the last word of a snake_case noun.

    Example:
        >>> [singular(word) for word in ("notes", "entities", "boxes", "status", "tax_classes")]
        ['note', 'entity', 'box', 'status', 'tax_class']
    """
    head, underscore, last = word.rpartition("_")
    irregular: dict[str, str] = LEXICON["irregular_plurals"]
    if last in irregular:
        last = str(irregular[last])
    elif len(last) > 4 and last.endswith("ies"):
        last = f"{last[:-3]}y"
    elif len(last) > 3 and re.search(r"(ss|x|zz|ch|sh)es$", last):
        last = last[:-2]
    elif len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "us", "is", "ics")):
        last = last[:-1]
    return head + underscore + last


def is_plural(word: str) -> bool:
    """Tell whether a word is an English plural."""
    return singular(word) != word or word in words("collective")


@lru_cache(maxsize=16384)
def verb_of(word: str) -> str:
    """Return the verb that an inflected word is a form of, or an empty text.

    Example:
        >>> [verb_of(word) for word in ("Retrieves", "getting", "applied", "table")]
        ['retrieve', 'get', 'apply', '']
    """
    word = word.lower()
    if word in VERBS:
        return word
    endings: list[tuple[str, str]] = LEXICON["verb_endings"]
    for ending, put in endings:
        if word.endswith(ending) and (stem := word[: -len(ending)] + put) in VERBS:
            return stem
    if word.endswith(("ing", "ed")):
        stem = word[:-3] if word.endswith("ing") else word[:-2]
        if len(stem) > 3 and stem[-1] == stem[-2] and stem[:-1] in VERBS:
            return stem[:-1]
    return word if word in FOREIGN_VERBS else ""


def family_of(verb: str) -> str:
    """Return the family of a verb that `verb_of` found, or an empty text."""
    return VERBS.get(verb) or FOREIGN_VERBS.get(verb, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A tool's name, or the first sentence of its description, as verb and object."""

    verb: str = ""
    """Plain form of the verb; empty when none is known."""
    family: str = ""
    place: str = "none"
    """Where the verb stands: first, last, inner, none."""
    noun: tuple[str, ...] = ()
    """Words of the object, its head last, as written."""
    rest: tuple[str, ...] = ()
    """What follows the object, from its preposition on."""
    container: str = ""
    """`list`, `details` and the like, when the object stands behind it (`list of users`)."""
    is_single: bool = False
    """A word such as `a` or `specific` stands before the object."""
    is_all: bool = False
    """A word such as `all` stands before the object."""

    @property
    def head(self) -> str:
        """Singular of the object's last word, or an empty text."""
        return singular(self.noun[-1]) if self.noun else ""

    @property
    def is_plural(self) -> bool:
        """The object is written in the plural."""
        return bool(self.noun) and is_plural(self.noun[-1])


def read_name(parts: Sequence[str], groups: frozenset[str] = frozenset()) -> Phrase:
    """Read a tool's name.

    Args:
        parts: its tokens, without the words that only repeat the server's name.
        groups: words that tools of the server put before their verb (`crm_create_deal`).
    """
    if not parts:
        return Phrase()
    found = _verb_place(parts, groups)
    if found is None:
        return _object(parts, verb="", place="none")
    place = "first" if found == 0 else "last" if found == len(parts) - 1 else "inner"
    if place == "inner" and parts[found + 1] not in words("prepositions"):
        rest = list(parts[found + 1 :])
    else:
        rest = [*parts[:found], *parts[found + 1 :]]
    return _object(rest, verb=parts[found], place=place)


def _verb_place(parts: Sequence[str], groups: frozenset[str]) -> int | None:
    """Return where the verb stands; plain verbs at the end beat verbs that can be nouns."""
    plain, noun_like = words("plain_verbs"), words("noun_like_verbs")
    if len(parts) > 1 and parts[0] in groups and parts[1] in VERBS:
        return 1
    if parts[0] in VERBS and not (parts[0] in noun_like and len(parts) > 1):
        return 0
    if len(parts) > 1 and parts[-1] in plain:
        return len(parts) - 1
    inner = [place for place, word in enumerate(parts) if word in plain and place > 0]
    if inner and inner[0] <= 2:
        return inner[0]
    if parts[0] in VERBS:
        return 0
    known = [place for place, word in enumerate(parts) if word in VERBS and word not in noun_like]
    return known[0] if known else None


def _object(parts: Sequence[str], *, verb: str, place: str) -> Phrase:
    """Read what stands behind a verb: an object, then perhaps a preposition and more."""
    prepositions, small = words("prepositions"), words("determiners")
    family = family_of(verb)
    container, single, every = "", False, False
    start = 0
    while True:
        cut = next((i for i in range(start, len(parts)) if parts[i] in prepositions), len(parts))
        phrase = parts[start:cut]
        single = single or any(word in words("single_words") for word in phrase)
        every = every or any(word in words("all_words") for word in phrase)
        noun = tuple(word for word in phrase if word not in small)
        is_box = bool(noun) and singular(noun[-1]) in words("containers")
        if not is_box or container:
            break
        container = singular(noun[-1])
        if len(noun) > 1:
            noun = noun[:-1]
            break
        if cut >= len(parts) or parts[cut] not in words("of_words"):
            break
        start = cut + 1
    return Phrase(
        verb=verb,
        family=family,
        place=place,
        noun=noun,
        rest=tuple(parts[cut:]),
        container=container,
        is_single=single,
        is_all=every,
    )


def sentence(text: str) -> str:
    """Return the first sentence of a description, without marks and labels before it."""
    text = _LEAD.sub("", text[:MAX_TEXT]).strip()
    found = _SENTENCE_END.search(text)
    while found and found.start() < 12:
        found = _SENTENCE_END.search(text, found.end())
    return text[: found.start()] if found else text[:300]


def text_words(text: str) -> list[str]:
    """Return the lower-case words of a text; scripts without spaces give pairs of characters."""
    out: list[str] = []
    for word in _WORD.findall(text):
        if ord(word[0]) > 0x2E7F:
            out.extend(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            out.append(word.lower())
    return out


def read_sentence(text: str) -> Phrase:
    """Read the first sentence of a description as verb and object."""
    first = sentence(text)
    if not first:
        return Phrase()
    if ord(max(first[:40])) > 0x2E7F:
        hits = [(first.find(word), -len(word), word) for word in _UNSPACED if word in first[:60]]
        if hits:
            place, _, verb = min(hits)
            return Phrase(
                verb=verb, family=FOREIGN_VERBS[verb], place="first" if place == 0 else "inner"
            )
    parts = [word.lower() for word in _WORD.findall(first)]
    for place, word in enumerate(parts[:12]):
        verb = verb_of(word)
        if not verb or (word in words("lead_in") and place + 1 < len(parts)):
            continue
        if place > 0 and parts[place - 1] in words("not_before_verb"):
            continue
        at = "first" if place == 0 else "inner"
        return _object(parts[place + 1 :], verb=verb, place=at)
    return _object(parts, verb="", place="none")
