"""What an answer of a tool amounts to, and what a schema says of a value.

The rules are about form alone; the word lists are in `words.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, NoReturn

import jsonschema_rs

from attribution.foreign.records import ForeignAnswer, ForeignCall, ForeignTool
from attribution.foreign.words import has_any, words
from components.records.frozen import JsonObject, canonical_json, thaw

_SHOWN = 160


class Answer(Enum):
    """What an answer amounts to."""

    FINE = "fine"
    REFUSED = "refused"
    """An error by the tool's own rules."""
    MISSING = "missing"
    """An error that says that something is not there."""
    BROKE = "broke"
    """The tool itself failed: an exception, a time-out, a server's error."""
    ABSENT = "absent"
    """The trace has no answer."""


def kind_of(answer: ForeignAnswer | None) -> Answer:
    """Return what an answer amounts to."""
    if answer is None:
        return Answer.ABSENT
    if not _is_error(answer):
        return Answer.FINE
    if has_any(answer.text, "broke") or _code(answer) in words("broke_codes"):
        return Answer.BROKE
    return Answer.MISSING if has_any(answer.text, "missing") else Answer.REFUSED


def is_cut(answer: ForeignAnswer) -> str:
    """Return what shows that an answer was not shown whole; empty where nothing does."""
    tail = answer.text[-300:].lower()
    mark = next((word for word in words("cut") if word in tail), "")
    if mark:
        return f"it ends with '{mark}'"
    text = answer.text.strip()
    is_open = text[:1] in ("{", "[") and answer.data is None and text[-1:] not in ("}", "]")
    if is_open and len(text) > _SHOWN and _is_begun_json(text):
        return "it is JSON that breaks off"
    return ""


def is_read(call: ForeignCall, tools: Mapping[str, ForeignTool]) -> bool:
    """Return whether a call changes nothing, as its tool or else the tool's name says."""
    tool = tools.get(call.name)
    if tool is not None and tool.is_read is not None:
        return tool.is_read
    parts = name_parts(call.name)
    return bool(parts) and (parts[0] in words("reads") or parts[-1] in words("reads"))


def is_volatile(name: str) -> bool:
    """Return whether a tool may answer otherwise each time, as its name says."""
    return any(part in words("volatile") for part in name_parts(name))


def name_parts(name: str) -> list[str]:
    """Return the words of a tool's name: the part behind the server's, in lower case."""
    last = re.split(r"__|[./:]", name)[-1]
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", last)
    return [part.lower() for part in re.split(r"[^A-Za-z0-9]+", spaced) if part]


def schema_problem(schema: JsonObject | None, value: Any) -> str:
    """Return why a value does not fit a schema; empty where it does, or nobody can tell.

    A schema that is none, or refers to another document, tells nothing: nothing is fetched.
    """
    if schema is None:
        return ""
    validator = _validator(canonical_json(thaw(schema)))
    if validator is None:
        return ""
    try:
        error = next(iter(validator.iter_errors(thaw(value))), None)
    except (ValueError, RecursionError):
        return ""
    return "" if error is None else short(error.message)


def short(text: str) -> str:
    """Return a text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."


@lru_cache(maxsize=4096)
def _validator(schema: bytes) -> Any:
    try:
        return jsonschema_rs.validator_for(schema.decode(), retriever=_fetch_nothing)
    except (ValueError, RecursionError, jsonschema_rs.ReferencingError):
        return None


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


def _is_error(answer: ForeignAnswer) -> bool:
    if answer.is_error is not None:
        return answer.is_error
    data = answer.data
    if isinstance(data, Mapping):
        flags = [data.get("ok") is False, data.get("success") is False, data.get("isError") is True]
        return any(flags) or bool(data.get("error"))
    return answer.text.lstrip().lower().startswith(words("refused_prefixes"))


def _code(answer: ForeignAnswer) -> str:
    data = answer.data
    error = data.get("error") if isinstance(data, Mapping) else None
    inner = error if isinstance(error, Mapping) else data if isinstance(data, Mapping) else {}
    return str(inner.get("code") or inner.get("type") or "").lower()


def _is_begun_json(text: str) -> bool:
    """Return whether a text begins as JSON does: an object's first key, or a list's first value."""
    return re.match(r'\{\s*"|\[\s*[\[{"\d]', text) is not None
