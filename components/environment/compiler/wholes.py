"""Things and their parts: a property of a company is no company, and text that is added to a file
is the file's.

Owns which record such a tool is about, where its name calls the part and its reading the whole, or
the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from components.environment.archetypes.context import in_context
from components.environment.compiler.inputs import Tool, words_of
from components.environment.names import singular, tokens
from components.records.blueprint import Operation

_READS = frozenset({Operation.GET, Operation.LIST, Operation.SEARCH})
_STORE = _READS | {Operation.CREATE, Operation.UPDATE, Operation.DELETE, Operation.APPEND}


def as_parts(tools: Mapping[str, Tool], spoken: frozenset[str]) -> dict[str, Tool]:
    """Return the tools, each about the thing that it changes: the whole, or a part of its own.

    Args:
        spoken: words that the service uses; they say which sense a noun has.
    """
    parts = frozenset(_own_parts(tools))
    found = {name: _about_part(tool, parts) for name, tool in tools.items()}
    return {name: _about_whole(tool, found, spoken) for name, tool in found.items()}


def _part(tool: Tool) -> str:
    """Return the part of its noun that a tool's name speaks of (`property`), or an empty text."""
    noun = tool.reading.entity or ""
    words = [singular(word) for word in tokens(tool.name)]
    last = noun.rpartition("_")[2]
    is_one = tool.reading.operation in _STORE and last in words
    after = words[words.index(last) + 1 :] if is_one else []
    return after[0] if after and after[0] in words_of("own_parts") else ""


def _own_parts(tools: Mapping[str, Tool]) -> Iterator[tuple[str, str]]:
    """Yield noun and part, of the parts that some tool makes or takes away: others are only told
    of their whole.
    """
    for tool in tools.values():
        is_change = tool.reading.operation not in (*_READS, Operation.UPDATE)
        if is_change and (part := _part(tool)):
            yield tool.reading.entity or "", part


def _about_part(tool: Tool, parts: frozenset[tuple[str, str]]) -> Tool:
    noun, part = tool.reading.entity or "", _part(tool)
    if (noun, part) not in parts:
        return tool
    update = {"entity": f"{noun}_{part}"}
    return replace(tool, reading=tool.reading.model_copy(update=update))


def _about_whole(tool: Tool, tools: Mapping[str, Tool], spoken: frozenset[str]) -> Tool:
    """A text that is added to a thing which no tool shows apart goes to the thing's own text."""
    reading = tool.reading
    noun, whole = reading.entity or "", reading.parent
    is_text = noun.rpartition("_")[2] in words_of("text_parts")
    if reading.operation is not Operation.APPEND or not is_text or whole in (None, noun):
        return tool
    if any(other.reading.entity == noun for other in tools.values() if other is not tool):
        return tool
    texts = [item for item in tool.data if item.word in words_of("text_parts")]
    spoken_of = {
        item.word
        for other in tools.values()
        for item in other.data
        if other.reading.entity == whole and other.reading.operation not in _READS
    }
    usual = {*spoken_of, *in_context(whole or "", spoken).fields}
    held = next((word for word in sorted(words_of("text_parts") & usual)), "")
    if len(texts) != 1 or not held:
        return tool
    inputs = tuple(replace(item, called=held) if item in texts else item for item in tool.inputs)
    update = {"entity": whole, "parent": None}
    return replace(tool, reading=reading.model_copy(update=update), inputs=inputs)
