"""What a tool's name says that it does to a record which an argument only calls by its name.

Owns that `launch_app(name)` moves the app of that name and renames none, that `set_profile(name)`
which activates a profile makes it the current one, and that `add_layer(path)` makes a layer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from components.environment.compiler.inputs import Input, Tool, words_of
from components.environment.compiler.moves import state_words
from components.environment.names import is_id_of, singular, strip_noun, tokens
from components.environment.reading.records import Role
from components.records.blueprint import Operation

_MOVES = frozenset({Operation.TRANSITION, Operation.UPDATE})
_WORD = re.compile(r"[a-z]+")


def as_named(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return the tools, those that move what a name calls with that name as identifier, and those
    that add a record of their noun as makers.
    """
    return {name: _as_maker(_as_named(tool)) for name, tool in tools.items()}


def _as_named(tool: Tool) -> Tool:
    verbs = [word for word in tokens(tool.name) if word in state_words()]
    names = [item for item in tool.data if _calls(item, tool)]
    if tool.reading.operation not in _MOVES or not verbs or len(names) != 1:
        return tool
    others = [item for item in tool.data if item is not names[0]]
    if any(item.param.is_required or item.kind != "boolean" for item in others):
        return tool
    is_weak = not set(verbs).isdisjoint(words_of("weak_moves"))
    if is_weak and words_of("activates").isdisjoint(_WORD.findall(_told(tool, names[0]))):
        return tool
    inputs = tuple(
        replace(item, role=Role.IDENTIFIER) if item is names[0] else item for item in tool.inputs
    )
    update = {"operation": Operation.TRANSITION}
    return replace(tool, reading=tool.reading.model_copy(update=update), inputs=inputs)


def _calls(item: Input, tool: Tool) -> bool:
    """True for the name of a record of the tool's noun, which no schema lists."""
    noun = tool.reading.entity or ""
    is_text = item.kind == "string" and not item.is_list and not item.param.enum
    is_name = strip_noun(item.word, noun) in ("name", "title") or item.word in (noun, _last(noun))
    may_be = item.role in (Role.VALUE, Role.IDENTIFIER, Role.PARENT)
    return is_text and is_name and may_be and item.is_always_given


def _told(tool: Tool, item: Input) -> str:
    return f"{tool.spec.description[:200]} {item.param.description}".lower()


def _last(noun: str) -> str:
    return noun.rpartition("_")[2]


def _as_maker(tool: Tool) -> Tool:
    """A tool that adds the noun of its name, and takes no id of one, makes one."""
    reading = tool.reading
    noun = reading.entity or ""
    parts = [singular(word) for word in tokens(tool.name)]
    is_alone = reading.operation is Operation.APPEND and reading.parent in (None, noun)
    is_alone &= tool.first(Role.BATCH) is None  # each of a list may say where it goes
    is_said = not words_of("adds").isdisjoint(parts) and _last(noun) in parts
    ids = tool.of(Role.IDENTIFIER, Role.PARENT)
    if not is_alone or not is_said or any(is_id_of(item.word, noun) for item in ids):
        return tool
    inputs = tuple(replace(item, role=Role.VALUE) if item in ids else item for item in tool.inputs)
    update = {"operation": Operation.CREATE, "parent": None}
    return replace(tool, reading=reading.model_copy(update=update), inputs=inputs)
