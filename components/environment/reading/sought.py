"""What a search without a noun of its own is about.

Owns the case that a tool is called after where it looks (`search_wikipedia`), how it looks
(`search_by_key_words`) or all that it may find: it is about what its server gets and lists, for
what is found is to be opened by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from components.environment.names import tokens
from components.environment.reading.features import ServerView, ToolView
from components.environment.reading.nouns import is_kind, is_place, noun_of
from components.environment.reading.words import singular, words
from components.records.blueprint import Operation

_SHOWS = frozenset({Operation.LIST, Operation.SEARCH})
_NEVER = 1 << 20


def with_sought(
    server: ServerView,
    operations: Sequence[Operation],
    nouns: Sequence[str | None],
    title: frozenset[str],
) -> list[str | None]:
    """Return the noun of each tool, with what it looks for where its own says only where or how.

    Args:
        server: its tools.
        operations: what each of `server.tools` does.
        nouns: what each is taken to be about.
        title: singular words of the server's title.
    """
    little = [
        _says_little(view, operation, noun, nouns, title)
        for view, operation, noun in zip(server.tools, operations, nouns, strict=True)
    ]
    left = [None if says else noun for noun, says in zip(nouns, little, strict=True)]
    main = Counter(noun for noun in left if noun).most_common(1)
    usual = main[0][0] if main and main[0][1] > 1 else None
    got: dict[str, int] = {}
    for view, operation, noun in zip(server.tools, operations, left, strict=True):
        told = sum(param.is_required for param in view.params)
        if noun and operation is Operation.GET and told:
            got[noun] = min(told, got.get(noun, told))
    found: list[str | None] = []
    for view, operation, noun, says in zip(server.tools, operations, nouns, little, strict=True):
        if noun and not says:
            found.append(noun)
            continue
        best = _best(view, got) if operation in _SHOWS else None
        if best and usual and not (says and _place(view, best) < _NEVER):
            best = usual
        found.append(best or usual or noun)
    return found


def _best(view: ToolView, got: Mapping[str, int]) -> str | None:
    """Return the kind of record, of those that a server gets, that a search speaks of first.

    Args:
        view: the search.
        got: how much must be told to get one, by noun: what needs little is what is looked for.
    """
    ranked = sorted(got, key=lambda noun: (_place(view, noun), got[noun], noun))
    return ranked[0] if ranked else None


def _place(view: ToolView, noun: str) -> int:
    """Return where a tool's description speaks of a kind of record, in words."""
    said = [singular(word) for word in tokens(view.tool.description)]
    last = noun.rpartition("_")[2]
    return said.index(last) if last in said else _NEVER


def _says_little(
    view: ToolView,
    operation: Operation,
    noun: str | None,
    nouns: Sequence[str | None],
    title: frozenset[str],
) -> bool:
    """True for a search whose noun is how or where it looks, or a list of what it may find, and no
    kind that another tool is about.
    """
    if noun is None or operation not in _SHOWS or view.name.family != "search":
        return False
    if noun in words("ways"):
        return nouns.count(noun) == 1
    if is_place(noun, title):
        return not is_kind(noun)
    own = noun_of(view.name, title)
    return nouns.count(noun) == 1 and not is_kind(noun) and (not own or is_place(own, title))
