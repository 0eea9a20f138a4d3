"""Which kind of record each tool is about, one name for one kind across a server.

Owns nouns: the object of a name or sentence, the noun of an identifier, and the merging of names
that mean one table (`user_stats` and `user`). What matters is that tools of one table agree.
"""

from __future__ import annotations

from collections import Counter

from components.environment.reading.features import ServerView, ToolView
from components.environment.reading.params import Param
from components.environment.reading.words import Phrase, singular, words

_MAX_WORDS = 3


def entities_of(server: ServerView) -> list[str | None]:
    """Return the kind of record of each tool, in the order of `server.tools`."""
    title = frozenset(singular(word) for word in server.title_words)
    candidates = [_candidates(view, title) for view in server.tools]
    votes: Counter[str] = Counter()
    for nouns in candidates:
        for rank, noun in enumerate(nouns):
            votes[noun] += 3 if rank == 0 else 1
    return [_choose(nouns, votes) for nouns in candidates]


def _choose(nouns: list[str], votes: Counter[str]) -> str | None:
    if not nouns:
        return None
    first = nouns[0]
    parts = first.split("_")
    for start in range(1, len(parts)):
        shorter = "_".join(parts[start:])
        if votes[shorter] >= 3 and shorter not in words("weak_nouns"):
            return shorter
    for end in range(len(parts) - 1, 0, -1):
        shorter = "_".join(parts[:end])
        if parts[-1] in words("aspects") and votes[shorter] > 0:
            return shorter
    return first


def _candidates(view: ToolView, title: frozenset[str]) -> list[str]:
    """Return nouns for a tool, likeliest first."""
    name = _noun(view.name, title)
    text = _noun(view.text, title)
    key = next(
        (
            noun
            for param, kind in zip(view.params, view.kinds, strict=True)
            if param.is_required and kind == "id" and (noun := key_noun(param))
        ),
        "",
    )
    weak = not name or name in words("weak_nouns")
    order = [text, key, name] if weak else [name, text, key]
    if view.name.family == "update" and key and name and key.split("_")[-1] not in name.split("_"):
        order = [key, name, text]
    return list(dict.fromkeys(noun for noun in order if noun))


def key_noun(param: Param) -> str:
    """Return the noun of an id-like parameter's name: `issue` of `issue_id`, or an empty text."""
    parts = [word for word in param.words if word not in ("the", "target", "parent", "source")]
    while parts and parts[-1] in words("key_tails"):
        parts = parts[:-1]
    return "_".join(singular(word) for word in parts[-_MAX_WORDS:])


def _noun(phrase: Phrase, title: frozenset[str]) -> str:
    parts = [singular(word) for word in phrase.noun if word.isalpha()]
    while len(parts) > 1 and parts[-1] in words("aspects"):
        parts = parts[:-1]
    while len(parts) > 1 and (parts[0] in words("qualifiers") or parts[0] in title):
        parts = parts[1:]
    return "_".join(parts[-_MAX_WORDS:])
