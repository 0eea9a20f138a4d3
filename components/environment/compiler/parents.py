"""Titles in reads that are a parent's: `get_sections(title)` where the title is the page's.

Owns the evidence: another tool gets rows of the parent by a name of that word, the read speaks of
that parent, and no tool makes or gets rows of its own kind by that word alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from components.environment.compiler.inputs import Input, Tool
from components.environment.names import singular, tokens
from components.environment.reading.records import Role
from components.records.blueprint import Operation

_MOST_TEXT = 300
"""Characters of a description in which a read says what it reads from."""
_NAMES = ("title", "name")
_READS = frozenset({Operation.GET, Operation.LIST, Operation.SEARCH})
_ASKED = frozenset({Role.IDENTIFIER, Role.VALUE, Role.PARENT, Role.REFERENCE})


def with_parents(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return the tools, with the title of a parent called by the parent (`page_title`)."""
    named = _named_by(tools)
    return {name: _with_parent(tool, named) for name, tool in tools.items()}


def _named_by(tools: Mapping[str, Tool]) -> dict[str, list[str]]:
    """Return the nouns of which tools get or make a row by nothing but a title or a name."""
    found: dict[str, list[str]] = {}
    for _, tool in sorted(tools.items()):
        noun = tool.reading.entity or ""
        needed = [item.word for item in tool.inputs if item.param.is_required]
        is_got = tool.reading.operation is Operation.GET and len(needed) == 1
        if is_got or tool.reading.operation is Operation.CREATE:
            for word in set(needed) & set(_NAMES):
                found.setdefault(word, []).append(noun)
    return found


def _with_parent(tool: Tool, named: Mapping[str, list[str]]) -> Tool:
    if tool.reading.operation not in _READS:
        return tool
    inputs = tuple(_of_parent(item, tool, named) for item in tool.inputs)
    return tool if inputs == tool.inputs else replace(tool, inputs=inputs)


def _of_parent(item: Input, tool: Tool, named: Mapping[str, list[str]]) -> Input:
    own = tool.reading.entity or ""
    is_asked = item.role in _ASKED and item.param.is_required and item.kind == "string"
    nouns = named.get(item.word, [])
    if not is_asked or item.is_list or own in nouns:
        return item
    text = f"{tool.name} {tool.spec.description[:_MOST_TEXT]} {item.param.description}"
    said = [singular(word) for word in tokens(text)]
    for noun in sorted(set(nouns), key=lambda noun: (-nouns.count(noun), noun)):
        if noun != own and noun.rpartition("_")[2] in said:
            return replace(item, role=Role.PARENT, called=f"{noun}_{item.word}")
    return item
