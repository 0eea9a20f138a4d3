"""Names read as words: tokens, singulars, and the verb and noun of a tool's name.

Owns the reading of names; the words themselves are in `lexicon.json`. A name that does not
read plainly gives no reading: guessing is the caller's to refuse.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_TOKEN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def _load() -> dict[str, Any]:
    text = Path(__file__).with_name("lexicon.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


_LEXICON = _load()
VERBS: dict[str, str] = _LEXICON["verbs"]


def words(kind: str) -> frozenset[str]:
    """Return one word list of the lexicon."""
    return frozenset(_LEXICON[kind])


@lru_cache(maxsize=8192)
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


@lru_cache(maxsize=8192)
def singular(word: str) -> str:
    """Return the singular of an English word.

    Example:
        >>> [singular(word) for word in ("notes", "entities", "boxes", "status", "tax_classes")]
        ['note', 'entity', 'box', 'status', 'tax_class']
    """
    head, underscore, last = word.rpartition("_")
    irregular: dict[str, str] = _LEXICON["irregular_plurals"]
    if last in irregular:
        last = irregular[last]
    elif len(last) > 4 and last.endswith("ies"):
        last = f"{last[:-3]}y"
    elif re.search(r"(s|x|z|ch|sh)es$", last):
        last = last[:-2]
    elif len(last) > 2 and last.endswith("s") and not last.endswith(("ss", "us", "is")):
        last = last[:-1]
    return head + underscore + last


@lru_cache(maxsize=8192)
def plural(word: str) -> str:
    """Return the plural of an English word."""
    if singular(word) != word:
        return word
    for many, one in _LEXICON["irregular_plurals"].items():
        if word == one and many != one:
            return str(many)
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search(r"(s|x|z|ch|sh)$", word) else f"{word}s"


def article(noun: str) -> str:
    """Return a noun with `a` or `an` before it, for messages."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NameReading:
    """A tool's name as verb and noun."""

    verb: str
    """Family of the verb: create, add, get, open, list, search, update, delete; empty when none is
    plain.
    """
    noun: str = ""
    """Singular head noun in snake_case; empty when the name has none."""
    is_plural: bool = False
    by: str = ""
    """Words behind a preposition (`get_user_by_email` -> `email`)."""
    problem: str = ""
    """Why the name is not plain, as the rest of a sentence."""


def read_name(
    name: str, prefix: tuple[str, ...], groups: frozenset[str] = frozenset()
) -> NameReading:
    """Read one tool's name.

    Args:
        name: as in the spec.
        prefix: words that only repeat the server's name (see `common_prefix`).
        groups: words that a group of tools begins with, before the verb (see `group_words`).
    """
    parts = list(tokens(name))
    if len(parts) > len(prefix) and tuple(parts[: len(prefix)]) == prefix:
        parts = parts[len(prefix) :]
    if not parts:
        return NameReading(verb="", problem="has no words")
    if len(parts) > 2 and parts[0] in groups and parts[1] in VERBS:
        parts = parts[1:]
    if parts[0] in VERBS:
        verb, rest = VERBS[parts[0]], parts[1:]
    elif parts[-1] in words("end_verbs"):
        verb, rest = VERBS[parts[-1]], parts[:-1]
    else:
        return NameReading(verb="", problem=f"has no plain verb (found {parts[0]!r})")
    places = [place for place, word in enumerate(rest) if word in words("prepositions")]
    cut = places[0] if places else len(rest)
    by = "_".join(rest[cut + 1 :]) if places and rest[cut] == "by" else ""
    if places and not by:
        return NameReading(verb=verb, problem=f"goes on with {' '.join(rest[cut:])!r}")
    rest = rest[:cut]
    blocking = [word for word in rest if word in words("blocking")]
    if blocking:
        return NameReading(
            verb=verb, problem=f"speaks of {blocking[0]!r}, which the spec does not define"
        )
    every = "all" in rest
    kept = [word for word in rest if word not in words("droppable")]
    if kept and kept[-1] == "list" and verb == "get":
        verb, kept = "list", kept[:-1]
    if kept and kept[-1] in ("info", "details", "detail") and verb == "get" and len(kept) > 1:
        kept = kept[:-1]
    noun = "_".join(kept)
    return NameReading(
        verb=verb, noun=singular(noun), is_plural=every or singular(noun) != noun, by=by
    )


def common_prefix(service: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the words that nearly all tool names begin with and that are no verb, or the server's
    own name.
    """
    firsts = [parts[0] for name in names if (parts := tokens(name))]
    if not firsts:
        return ()
    word, count = Counter(firsts).most_common(1)[0]
    if word in VERBS or count < 3 or count < 0.8 * len(firsts):
        own = tokens(service)
        return own[:1] if own and own[0] in firsts and own[0] not in VERBS else ()
    return (word,)


def group_words(names: Iterable[str]) -> frozenset[str]:
    """Return the words that three or more tool names put before their verb (`crm_create_deal`)."""
    firsts = Counter(
        parts[0]
        for name in names
        if len(parts := tokens(name)) > 2 and parts[0] not in VERBS and parts[1] in VERBS
    )
    return frozenset(word for word, count in firsts.items() if count >= 3)


def external_evidence(name: str, description: str) -> str:
    """Return what shows that a tool speaks to the world outside, or an empty text."""
    for word in tokens(name):
        if word in words("external_words") or singular(word) in words("external_words"):
            return f"its name speaks of {word!r}"
    text = description.lower()
    for phrase in _LEXICON["external_phrases"]:
        if phrase in text:
            return f"its description speaks of {phrase!r}"
    return ""
