"""Names read as words: tokens, snake case, singulars and plurals of English nouns.

Owns the spelling. Irregular nouns are data (`names.json`).
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

_TOKEN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_IRREGULAR: dict[str, str] = json.loads(
    Path(__file__).with_name("names.json").read_text(encoding="utf-8")
)["irregular_plurals"]


@lru_cache(maxsize=8192)
def tokens(name: str) -> tuple[str, ...]:
    """Split a name at case changes, digits and punctuation.

    Example:
        >>> tokens("getHTTPHeader_by-id2")
        ('get', 'http', 'header', 'by', 'id', '2')
    """
    return tuple(part.lower() for part in _TOKEN.findall(name))


@lru_cache(maxsize=8192)
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
    if last in _IRREGULAR:
        last = _IRREGULAR[last]
    elif len(last) > 4 and last.endswith("ies"):
        last = f"{last[:-3]}y"
    elif re.search(r"(ss|x|ch|sh)es$", last):
        last = last[:-2]
    elif len(last) > 2 and last.endswith("s") and not last.endswith(("ss", "us", "is")):
        last = last[:-1]
    return head + underscore + last


@lru_cache(maxsize=8192)
def plural(word: str) -> str:
    """Return the plural of an English word."""
    if singular(word) != word:
        return word
    for many, one in _IRREGULAR.items():
        if word == one and many != one:
            return str(many)
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search(r"(s|x|z|ch|sh)$", word) else f"{word}s"


def article(noun: str) -> str:
    """Return a noun with `a` or `an` before it, for messages."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def is_id_of(word: str, noun: str) -> bool:
    """True when a parameter's name means the generated id of a noun (`id`, `note_id`, `noteid`)."""
    own = {noun, noun.rpartition("_")[2]}
    return word in ("id", "uuid", "gid") or word in {
        form for one in own for form in (f"{one}_id", f"{one}id", f"{one}_uuid", f"{one}_gid")
    }


def strip_noun(word: str, noun: str) -> str:
    """Return a parameter's name without the noun in front (`tag_name` of a tag -> `name`)."""
    for own in (noun, noun.rpartition("_")[2]):
        if word.startswith(f"{own}_"):
            return word[len(own) + 1 :]
    return word
