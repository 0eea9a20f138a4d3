"""References to earlier answers in the arguments of a sequence: `$2.note.id`.

Owns how a reference is found in an answer. The two sides may wrap the same record differently, so a
path that is not there as it stands is looked for by its last name.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from components.environment.names import snake
from components.records.frozen import FrozenDict

_REFERENCE = re.compile(r"\$(\d+)((?:\.[^.\s]+)*)")


class Unresolved(Exception):
    """An answer does not hold what a reference names; the text is that reference."""


def first_late_reference(arguments: Any, number: int) -> str:
    """Return the first reference of call `number` that names no earlier call, or an empty text."""
    for text in _references(arguments):
        match = _REFERENCE.fullmatch(text)
        if match is not None and not 1 <= int(match[1]) < number:
            return text
    return ""


def _references(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if _REFERENCE.fullmatch(value) else []
    items = value.values() if isinstance(value, Mapping) else value
    if not isinstance(value, (Mapping, list, tuple)):
        return []
    return [text for item in items for text in _references(item)]


def resolved(value: Any, bodies: Sequence[Any]) -> Any:
    """Return arguments with each reference replaced by what it names.

    Args:
        value: arguments of a call.
        bodies: what the calls before it answered, as JSON; None where one failed.

    Raises:
        Unresolved: an answer holds nothing by that name.
    """
    if isinstance(value, Mapping):
        return FrozenDict({name: resolved(item, bodies) for name, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(resolved(item, bodies) for item in value)
    if not isinstance(value, str):
        return value
    match = _REFERENCE.fullmatch(value)
    if match is None:
        return value[1:] if value.startswith("$$") else value
    body = bodies[int(match[1]) - 1]
    path = [part for part in match[2].split(".") if part]
    found = _at(body, path)
    if found is None and path:
        found = _by_name(body, path[-1])
    if found is None:
        raise Unresolved(value)
    return found


def _at(body: Any, path: Sequence[str]) -> Any:
    for part in path:
        if isinstance(body, Mapping):
            body = body.get(part)
        elif isinstance(body, (list, tuple)) and part.isdigit() and int(part) < len(body):
            body = body[int(part)]
        else:
            return None
    return body


def _by_name(body: Any, name: str) -> Any:
    """Return the first single value under this name, outer ones first; `id` is also any
    `note_id`.
    """
    wanted = snake(name)
    for is_exact in (True, False):
        left = deque([body])
        while left:
            value = left.popleft()
            if isinstance(value, (list, tuple)):
                left.extend(value)
            if not isinstance(value, Mapping):
                continue
            for key, item in value.items():
                same = snake(key) == wanted if is_exact else _are_ids(snake(key), wanted)
                if same and isinstance(item, (str, int, float)):
                    return item
            left.extend(value.values())
    return None


def _are_ids(left: str, right: str) -> bool:
    short, long = sorted((left, right), key=len)
    return short == "id" and long.endswith("_id")
