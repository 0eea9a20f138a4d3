"""Reads that show nothing that is kept: computations, runs of a program, fetches from outside.

Owns the evidence for that: the verb, an operand or a whole content among the arguments, and that no
other tool of the service keeps what would be shown. Such a tool's answer is simulated, since a row
that was made up for it would say nothing about what it was given. The words are in `works.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from components.environment.names import singular, tokens
from components.environment.params import Param
from components.environment.reading.records import ToolReading
from components.environment.reading.words import family_of, read_sentence, verb_of
from components.records.blueprint import Operation
from components.records.spec import ServiceSpec, ToolSpec

_READS = frozenset({Operation.GET, Operation.LIST, Operation.SEARCH})
_KEEPS = frozenset(
    {Operation.CREATE, Operation.APPEND, Operation.LIST, Operation.SEARCH, Operation.UPDATE}
)
_NUMERIC = ("number", "integer")


@cache
def _words(kind: str) -> frozenset[str]:
    text = Path(__file__).with_name("works.json").read_text(encoding="utf-8")
    return frozenset(json.loads(text)[kind].split())


def works_out(
    spec: ServiceSpec,
    readings: Mapping[str, ToolReading],
    params: Mapping[str, Mapping[str, Param]],
    prefix: tuple[str, ...] = (),
) -> dict[str, str]:
    """Return why a tool's answer is worked out or fetched, by the name of each read that does so.

    Args:
        spec: the service.
        readings: what each tool was taken for.
        params: parameters of the tools whose schemas can be read.
        prefix: words that all tools of the service begin with.
    """
    verbs = {name: _verb(spec.tools[name], prefix) for name in params}
    works = _words("strong") | _words("weak")
    found: dict[str, str] = {}
    for name, own in sorted(params.items()):
        reading = readings[name]
        choice = _choice(own) if reading.deterministic else None
        if choice is not None:
            found[name] = f"which of several things it does, {choice!r} says"
            continue
        if reading.operation not in _READS or not reading.deterministic:
            continue
        kept = {
            other.entity
            for title, other in readings.items()
            if title != name and other.operation in _KEEPS and verbs.get(title) not in works
        }
        told = _why(verbs[name], own, reading, frozenset(noun for noun in kept if noun))
        if told:
            found[name] = told
    return found


def _why(verb: str, params: Mapping[str, Param], reading: ToolReading, kept: frozenset[str]) -> str:
    needed = [param for param in params.values() if param.is_required]
    if verb in _words("asks_whether"):
        return f"what {verb!r} asks is answered by yes or no"
    is_list = reading.operation is Operation.LIST  # of records, however they are found
    if verb in _words("strong") and not is_list:
        return f"to {verb} is to work something out"
    if reading.entity in kept or any(_names(param, kept) for param in needed):
        return ""
    operands = [param for param in needed if _is_operand(param)]
    if operands and len(operands) == len(needed):
        return f"it is worked out from {operands[0].name!r}"
    if verb in _words("weak") and needed and not is_list:
        return f"to {verb} what it is given is to work something out"
    contents = [param for param in needed if param.word in _words("contents")]
    if contents and len(contents) == len(needed) and reading.operation is Operation.GET:
        return f"it is worked out from {contents[0].name!r}"
    places = [param for param in needed if param.word in _words("places")]
    is_fetch = verb in _words("fetches") and (reading.entity or "") in _words("fetched")
    if is_fetch and places and len(places) == len(needed):
        return f"what is at {places[0].name!r} lies outside"
    return ""


def _choice(params: Mapping[str, Param]) -> str | None:
    """Return the argument that chooses between different operations (`action: list, create`), or
    None: one set of effects is not all of them.
    """
    for name, param in params.items():
        if not param.is_required or not param.enum or param.word not in _words("choices"):
            continue
        verbs = [verb_of(parts[0]) for value in param.enum if (parts := tokens(value))]
        families = {family_of(verb) for verb in verbs if verb} - {""}
        if len(families) > 1:
            return name
    return None


def _names(param: Param, kept: frozenset[str]) -> bool:
    """True for an argument that names a record of a kind that the service keeps."""
    parts = [singular(part) for part in param.word.split("_")]
    return any(noun.rpartition("_")[2] in parts for noun in kept)


def _is_operand(param: Param) -> bool:
    if param.type == "array":
        kind = param.items.get("type")
        return kind in (*_NUMERIC, "array")
    return param.word in _words("operands") and param.type in (*_NUMERIC, "string")


def _verb(tool: ToolSpec, prefix: tuple[str, ...]) -> str:
    """Return the verb that a name begins with, or that its description does where it has none."""
    parts = tokens(tool.name)
    parts = parts[len(prefix) :] if parts[: len(prefix)] == prefix else parts
    first = verb_of(parts[0]) if parts else ""
    if first:
        return parts[0] if parts[0] in _words("strong") | _words("weak") else first
    if parts and parts[0] in _words("strong") | _words("weak") | _words("asks_whether"):
        return parts[0]
    works = _words("inner")
    inner = next((part for part in parts[1:-1] if part in works or verb_of(part)), "")
    if inner in works:  # `lab_estimate_query_cost`
        return inner
    said = read_sentence(tool.description)
    return said.verb if said.place == "first" else ""
