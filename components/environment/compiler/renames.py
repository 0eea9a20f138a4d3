"""Two names for one thing: `source` and `destination` of a move, `new_name` of what is made.

Owns which parameter of a move, a copy or a create gives the value that other tools of the service
name a row by, whatever it is called there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from components.environment.compiler.inputs import Input, Tool, words_of
from components.environment.compiler.table import NAMES_ITS_ROW, OLD, RENAMES
from components.environment.names import strip_noun, tokens
from components.environment.reading.records import Role
from components.records.blueprint import Operation

_PAIRED = frozenset(
    {Operation.CREATE, Operation.UPDATE, Operation.LINK, Operation.TRANSITION, Operation.APPEND}
)
_NAMED = frozenset({Operation.CREATE, Operation.UPDATE})


def with_names(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return the tools, with the inputs that give a row's old or new name called by that name."""
    return {name: _renamed(tool, tools) for name, tool in tools.items()}


def is_copy(tool: Tool) -> bool:
    """True for a tool whose name says that it makes a row like another."""
    is_new = tool.reading.operation is Operation.CREATE
    return is_new and not words_of("copies").isdisjoint(tokens(tool.name))


def _renamed(tool: Tool, tools: Mapping[str, Tool]) -> Tool:
    own = _own_name(tool, tools)
    noun = tool.reading.entity or ""
    if own is None or not _is_name(own, noun):
        return tool
    alike = (own, strip_noun(own, noun))
    parts = set(tokens(tool.name))
    is_move = not words_of("moves").isdisjoint(parts)
    pair = _pair(tool) if is_move or not words_of("copies").isdisjoint(parts) else None
    if pair is not None and tool.reading.operation in _PAIRED:
        old, new = pair
        if _plain(old.word) not in alike or _plain(new.word) not in alike:
            tool = _called(tool, {old: (own, Role.IDENTIFIER), new: (f"new_{own}", Role.VALUE)})
        update = {"operation": Operation.UPDATE if is_move else Operation.CREATE}
        return replace(tool, reading=tool.reading.model_copy(update=update))
    new_name = next((item for item in tool.data if item.word in words_of("new_names")), None)
    if new_name is None or tool.reading.operation not in _NAMED:
        return tool
    if new_name.kind != "string" or new_name.is_list or _plain(new_name.word) in alike:
        return tool
    old_name = next((item for item in tool.data if item.word == own), None)
    if old_name is not None:
        called = {old_name: (own, Role.IDENTIFIER), new_name: (f"new_{own}", Role.VALUE)}
        return _called(tool, called)
    is_new = tool.reading.operation is Operation.CREATE
    return _called(tool, {new_name: (own, Role.VALUE)}) if is_new else tool


def _own_name(tool: Tool, tools: Mapping[str, Tool]) -> str | None:
    """Return what most other tools name a row of the same kind by; None where none does."""
    votes: Counter[str] = Counter()
    for other in tools.values():
        is_same = other.reading.entity == tool.reading.entity and other is not tool
        if not is_same or other.reading.operation not in NAMES_ITS_ROW:
            continue
        votes.update(
            item.word
            for item in other.of(Role.IDENTIFIER)
            if item.kind == "string" and not item.is_list
        )
    return max(sorted(votes), key=lambda word: votes[word]) if votes else None


def _is_name(word: str, noun: str) -> bool:
    """True for a word that rows are called by, and not for an id or an address."""
    is_noun = word in (noun, noun.rpartition("_")[2])
    return is_noun or strip_noun(word, noun).rpartition("_")[2] in words_of("name_ends")


def _pair(tool: Tool) -> tuple[Input, Input] | None:
    """Return the inputs that give the old and the new name (`from_path`, `to_path`), or None."""
    texts = {
        item.word: item
        for item in tool.data
        if item.is_always_given and item.kind == "string" and not item.is_list
    }
    for pair in sorted(words_of("name_pairs")):
        first, _, second = pair.partition("/")
        for word, item in texts.items():
            if word == first or word.startswith(f"{first}_"):
                other = texts.get(f"{second}{word.removeprefix(first)}")
                if other is not None:
                    return item, other
    return None


def _plain(word: str) -> str:
    start = next((start for start in (*RENAMES, *OLD) if word.startswith(start)), "")
    return word.removeprefix(start)


def _called(tool: Tool, names: Mapping[Input, tuple[str, Role]]) -> Tool:
    inputs = tuple(
        replace(item, called=names[item][0], role=names[item][1]) if item in names else item
        for item in tool.inputs
    )
    return replace(tool, inputs=inputs)
