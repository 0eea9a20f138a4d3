"""Which kind of record each tool is about, one name for one kind across a server.

Owns the merging of nouns that mean one table (`user_stats` and `user`). What matters is that tools
of one table agree: a noun that only one tool uses is held against the nouns that others share, and
gives way to one that its own name, its identifier or its first sentence speaks of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from components.environment.reading.features import ServerView, ToolView
from components.environment.reading.nouns import (
    brands_of,
    is_kind,
    is_past,
    is_place,
    is_value,
    key_of,
    noun_after,
    noun_of,
    runs_of,
    text_noun,
)
from components.environment.reading.sought import with_sought
from components.environment.reading.words import singular, words
from components.records.blueprint import Operation

_ON_ONE = frozenset({Operation.GET, Operation.UPDATE, Operation.DELETE, Operation.TRANSITION})
_SHOWS = frozenset({Operation.LIST, Operation.SEARCH})
_OFTEN = 3
"""Tools whose names end with a noun, from which it says something however general it is."""


def entities_of(server: ServerView, operations: Sequence[Operation]) -> list[str | None]:
    """Return the kind of record of each tool.

    Args:
        server: its tools.
        operations: what each of `server.tools` does.

    Returns:
        In the order of `server.tools`; None where no noun is found.
    """
    title = frozenset(singular(word) for word in server.title_words)
    brands = brands_of(server, title)
    uses = Counter(noun_of(view.name, title) for view in server.tools)
    spoken = frozenset(noun for noun, count in uses.items() if count >= _OFTEN)
    listed = frozenset(
        noun_of(view.name, title)
        for view, operation in zip(server.tools, operations, strict=True)
        if operation in _SHOWS
    )
    candidates = [_candidates(view, title, brands, spoken, listed) for view in server.tools]
    votes: Counter[str] = Counter()
    for nouns in candidates:
        for rank, noun in enumerate(nouns):
            votes[noun] += 3 if rank == 0 else 1
    first = [_choose(nouns, votes) for nouns in candidates]
    shared = Counter(noun for noun in first if noun)
    shared |= _named_by_key(server.tools, operations, first)
    homes = [
        _home(view, operation, noun, shared, title)
        for view, operation, noun in zip(server.tools, operations, first, strict=True)
    ]
    by_id = _named_by_id_alone(server.tools, operations, homes)
    if by_id:
        homes = [
            by_id if noun != by_id and _is_field(view, operation, noun) else noun
            for view, operation, noun in zip(server.tools, operations, homes, strict=True)
        ]
    homes = _taken_in(server.tools, operations, homes)
    return with_sought(server, operations, homes, title)


def _choose(nouns: list[str], votes: Counter[str]) -> str | None:
    if not nouns:
        return None
    first = nouns[0]
    if is_past(first):
        return first
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
    asks_nothing = not any(param.is_required for param in view.params)
    if noun is not None and (is_past(noun) or (asks_nothing and is_value(noun))):
        return noun
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
        yield from (run for run in runs_of(view.parts) if run not in title)
        if key := key_of(view):
            yield key
            yield from _parts(key, from_end_only=True)
    text = text_noun(view, title)
    if text:
        yield text
        yield from _parts(text, from_end_only=True)


def _parts(noun: str, *, from_end_only: bool) -> Iterator[str]:
    """Yield the shorter nouns that a noun is made of, the longest first."""
    pieces = noun.split("_")
    for start in range(1, len(pieces)):
        yield "_".join(pieces[start:])
    if not from_end_only and not (len(pieces) > 1 and is_kind(pieces[-1])):
        for end in range(len(pieces) - 1, 0, -1):
            yield "_".join(pieces[:end])


def _candidates(
    view: ToolView,
    title: frozenset[str],
    brands: frozenset[str],
    spoken: frozenset[str],
    listed: frozenset[str],
) -> list[str]:
    """Return nouns for a tool, likeliest first; what only says where it looks is none of them.

    Args:
        view: the tool.
        title: words of the server's title.
        brands: those of them that are names.
        spoken: nouns that several names of the server end with: these say something here.
        listed: nouns that the server lists: setting one is no change of what its id is of.
    """
    name = noun_of(view.name, title)
    text = text_noun(view, title)
    key = key_of(view)
    if is_place(name, brands):
        if not text or is_place(text, brands):
            text = noun_after(view.text, title)
        name, text = (text, name) if text.isascii() and text else ("", text)
    weak = not name or (name in words("weak_nouns") and name not in spoken)
    order = [text, key, name] if weak else [name, text, key]
    is_field = bool(key) and bool(name) and key.split("_")[-1] not in name.split("_")
    if view.name.family == "update" and is_field and name not in listed:
        order = [key, name, text]
    return list(dict.fromkeys(noun for noun in order if noun))


def _named_by_key(
    tools: Sequence[ToolView], operations: Sequence[Operation], nouns: Sequence[str | None]
) -> Counter[str]:
    """Return the nouns of ids that tools on several kinds of record name one row by: these may be
    parts and aspects of what is named (`set_draft(file_path)`, `get_frontmatter(file_path)`). What
    lists and creates must be given too is where records are, not which.
    """
    users: dict[str, set[str | None]] = {}
    places: set[str] = set()
    for view, operation, noun in zip(tools, operations, nouns, strict=True):
        key = key_of(view)
        if operation in _SHOWS | {Operation.CREATE}:
            places.add(key)
        elif operation in _ON_ONE and key and key not in words("weak_nouns"):
            users.setdefault(key, set()).add(noun)
    return Counter({key: 1 for key, found in users.items() if len(found) > 1 and key not in places})


def _named_by_id_alone(
    tools: Sequence[ToolView], operations: Sequence[Operation], nouns: Sequence[str | None]
) -> str | None:
    """Return the kind of record that a server means by `id`, where it is one."""
    found = Counter(
        noun
        for view, operation, noun in zip(tools, operations, nouns, strict=True)
        if noun
        and operation in _ON_ONE
        and _has_plain_id(view)
        and not _is_field(view, operation, noun)
    ).most_common(2)
    is_one = bool(found) and found[0][1] > 1 and (len(found) == 1 or found[1][1] == 1)
    return found[0][0] if is_one else None


def _has_plain_id(view: ToolView) -> bool:
    return any(param.is_required and param.words == ("id",) for param in view.params)


def _is_field(view: ToolView, operation: Operation, noun: str | None) -> bool:
    """True for a tool that sets what it is called after: `set_material(id, material)`."""
    last = (noun or "").rpartition("_")[2]
    return (
        operation is Operation.UPDATE
        and _has_plain_id(view)
        and any(singular("_".join(param.words)) in (noun, last) for param in view.params)
    )


def _taken_in(
    tools: Sequence[ToolView], operations: Sequence[Operation], nouns: Sequence[str | None]
) -> list[str | None]:
    """Let the general noun that a server reads most (`get_node`) take in what it makes and never
    speaks of again (`create_rectangle`).
    """
    uses = Counter(noun for noun in nouns if noun)
    reads = Counter(
        noun
        for operation, noun in zip(operations, nouns, strict=True)
        if noun in words("general_nouns") and operation in _SHOWS | {Operation.GET}
    )
    if not reads:
        return list(nouns)
    general = max(sorted(reads), key=lambda noun: uses[noun])
    made = Counter(
        noun
        for view, operation, noun in zip(tools, operations, nouns, strict=True)
        if operation is Operation.CREATE and _makes_one(view)
    )
    return [general if noun and made[noun] == uses[noun] else noun for noun in nouns]


def _makes_one(view: ToolView) -> bool:
    return view.name.family == "create" and not view.name.is_plural
