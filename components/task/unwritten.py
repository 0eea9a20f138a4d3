"""A sentence for a tool that no phrase file knows, made of its names.

`emails_create` of a server called `HubSpot CRM API Server` is `Create an email in HubSpot CRM, with
... as the subject`. The verbs, and the words that are left out, are in `phrases.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.environment.names import singular, tokens
from components.records.blueprint import Operation
from components.task.graph import Role, ToolShape
from components.task.senses import own_name

_AT_ALL = frozenset({"of", "for", "and", "the", "to", "with", "in", "on"})


def sentence_of(shape: ToolShape, slots: Mapping[str, str], data: Mapping[str, Any]) -> str:
    """Return a sentence template that asks for a call.

    Args:
        shape: the tool.
        slots: pointer of each argument -> its name in the template.
        data: `unwritten` of the phrase file.
    """
    title = title_words(shape.title, data["title_ends"])
    verb, thing = _verb_and_thing(shape, title, data["verbs"])
    about = [f"{{{slots[pointer]}}}" for pointer in slots if _names_its_row(shape, pointer)]
    given = [
        f"{{{slots[pointer]}}} as the {own_name(shape, pointer).replace('_', ' ')}"
        for pointer in slots
        if not _names_its_row(shape, pointer)
    ]
    is_new = shape.blueprint.operation is Operation.CREATE
    entity = " ".join(tokens(shape.blueprint.entity or ""))
    if about and shape.blueprint.operation is Operation.APPEND:
        asked = f"{data['append']} {_listed(about)}"
    elif about and is_new:
        asked = f"{verb} {_with_article(thing)} for {_listed(about)}"
    elif about and singular(thing.replace(" ", "_")).replace("_", " ") in (entity, ""):
        asked = f"{verb} {_listed(about)}"
    elif about:
        asked = f"{verb} the {thing} of {_listed(about)}"
    else:
        asked = f"{verb} {_with_article(thing) if is_new or not thing else f'the {thing}'}".rstrip()
    return f"{asked} in {title}" + (f", with {_listed(given)}." if given else ".")


def title_words(title: str, ends: Sequence[str]) -> str:
    """Return what people call a service: its title without `server`, `MCP` and the like."""
    words = title.replace("_", " ").split()
    while len(words) > 1 and words[-1].lower().strip("()-") in ends:
        words = words[:-1]
    while len(words) > 1 and words[0].lower() in ends:
        words = words[1:]
    return " ".join(words)


def _names_its_row(shape: ToolShape, pointer: str) -> bool:
    item = next((item for item in shape.parameters if item.pointer == pointer), None)
    return item is not None and item.names_row and item.role is Role.SELECTS


def _verb_and_thing(shape: ToolShape, title: str, verbs: Mapping[str, str]) -> tuple[str, str]:
    """Return the verb, with a large letter, and the noun of what it is done to."""
    named = [word for word in tokens(shape.name) if word not in _AT_ALL]
    entity = " ".join(tokens(shape.blueprint.entity or ""))
    found = next((word for word in named if word in verbs), None)
    verb = verbs[found] if found else str(verbs[shape.blueprint.operation.value])
    about = {singular(word) for word in tokens(title)}
    rest = [word for word in named if word != found and singular(word) not in about]
    if entity and (not rest or shape.blueprint.operation is Operation.CREATE):
        return verb, entity
    return verb, " ".join(rest)


def _with_article(noun: str) -> str:
    if not noun:
        return ""
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
