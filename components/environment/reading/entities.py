"""Which kind of record each tool is about, one name for one kind across a server.

Owns nouns: the object of a name or sentence, the noun of an identifier, and the merging of names
that mean one table (`user_stats` and `user`). What matters is that tools of one table agree: a noun
that only one tool uses is held against the nouns that others share, and gives way to one that its
own name, its identifier or its first sentence speaks of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from components.environment.reading.features import ServerView, ToolView
from components.environment.reading.params import Param
from components.environment.reading.words import (
    Phrase,
    singular,
    verb_of,
    words,
)
from components.records.blueprint import Operation

_MAX_WORDS = 3
_ON_ONE = frozenset({Operation.GET, Operation.UPDATE, Operation.DELETE, Operation.TRANSITION})
_SHOWS = frozenset({Operation.LIST, Operation.SEARCH})


def entities_of(server: ServerView, operations: Sequence[Operation]) -> list[str | None]:
    """Return the kind of record of each tool.

    Args:
        server: its tools.
        operations: what each of `server.tools` does.

    Returns:
        In the order of `server.tools`; None where no noun is found.
    """
    title = frozenset(singular(word) for word in server.title_words)
    candidates = [_candidates(view, title) for view in server.tools]
    votes: Counter[str] = Counter()
    for nouns in candidates:
        for rank, noun in enumerate(nouns):
            votes[noun] += 3 if rank == 0 else 1
    first = [_choose(nouns, votes) for nouns in candidates]
    shared = Counter(noun for noun in first if noun)
    homes = [
        _home(view, operation, noun, shared, title)
        for view, operation, noun in zip(server.tools, operations, first, strict=True)
    ]
    main = Counter(noun for noun in homes if noun).most_common(1)
    usual = main[0][0] if main and main[0][1] > 1 else None
    return [noun or usual for noun in homes]


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


def _home(
    view: ToolView,
    operation: Operation,
    noun: str | None,
    shared: Mapping[str, int],
    title: frozenset[str],
) -> str | None:
    """Return the noun that a tool's own noun gives way to, or the tool's own."""
    if noun is not None and shared[noun] > 1 and noun not in words("aspects"):
        return noun
    for other in _spoken_of(view, operation, noun, title):
        says_little = other in words("weak_nouns") or other in words("trailing_verbs")
        if other != noun and shared.get(other, 0) > 0 and not says_little:
            return other
    return noun


def _spoken_of(
    view: ToolView, operation: Operation, noun: str | None, title: frozenset[str]
) -> Iterator[str]:
    """Yield nouns that a tool may be about besides its own, likeliest first."""
    yield from _parts(noun or "", from_end_only=operation not in _ON_ONE)
    if operation in _ON_ONE:
        yield from (run for run in _runs(view.parts) if run not in title)
        if key := _key(view):
            yield key
            yield from _parts(key, from_end_only=True)
    text = _noun(view.text, title)
    if text:
        yield text
        yield from _parts(text, from_end_only=True)


def _parts(noun: str, *, from_end_only: bool) -> Iterator[str]:
    """Yield the shorter nouns that a noun is made of, the longest first."""
    pieces = noun.split("_")
    for start in range(1, len(pieces)):
        yield "_".join(pieces[start:])
    if not from_end_only:
        for end in range(len(pieces) - 1, 0, -1):
            yield "_".join(pieces[:end])


def _runs(parts: Sequence[str]) -> Iterator[str]:
    """Yield the runs of words of a name, the longest first, each in the singular."""
    for length in range(min(_MAX_WORDS, len(parts)), 0, -1):
        for start in range(len(parts) - length + 1):
            yield singular("_".join(parts[start : start + length]))


def _candidates(view: ToolView, title: frozenset[str]) -> list[str]:
    """Return nouns for a tool, likeliest first."""
    name = _noun(view.name, title)
    text = _noun(view.text, title)
    key = _key(view)
    weak = not name or name in words("weak_nouns")
    order = [text, key, name] if weak else [name, text, key]
    if view.name.family == "update" and key and name and key.split("_")[-1] not in name.split("_"):
        order = [key, name, text]
    return list(dict.fromkeys(noun for noun in order if noun))


def _key(view: ToolView) -> str:
    """Return the noun of the id that a tool must be given: the name's own, or the last of them."""
    keys = [
        noun
        for param, kind in zip(view.params, view.kinds, strict=True)
        if param.is_required and kind == "id" and (noun := key_noun(param))
    ]
    spoken = [noun for noun in keys if noun in _runs(view.parts)]
    return (spoken or keys or [""])[-1]


def key_noun(param: Param) -> str:
    """Return the noun of an id-like parameter's name: `issue` of `issue_id`, or an empty text."""
    parts = [word for word in param.words if word not in ("the", "target", "parent", "source")]
    while parts and parts[-1] in words("key_tails"):
        parts = parts[:-1]
    return "_".join(singular(word) for word in parts[-_MAX_WORDS:])


def _is_no_noun(word: str) -> bool:
    """True for words that stand where a noun is looked for and name no thing."""
    is_participle = word.endswith("ed") and bool(verb_of(word))
    return word in words("trailing_verbs") or word in words("no_nouns") or is_participle


def _noun(phrase: Phrase, title: frozenset[str]) -> str:
    parts = [singular(word) for word in phrase.noun if word.isalpha()]
    while parts and _is_no_noun(parts[-1]):
        parts = parts[:-1]
    while len(parts) > 1 and parts[-1] in words("aspects"):
        parts = parts[:-1]
    while len(parts) > 1 and (parts[0] in words("qualifiers") or parts[0] in title):
        parts = parts[1:]
    return "_".join(parts[-_MAX_WORDS:])
