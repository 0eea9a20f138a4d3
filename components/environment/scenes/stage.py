"""Which scene a service plays, and its tools made from it.

Owns the matching of tools and parameters by their names. A tool that fits no part, or that must be
told something its part does not know, is left to the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from components.environment.names import snake, tokens
from components.environment.params import properties_of
from components.environment.reading.records import ToolReading
from components.environment.scenes.records import Part, Scene, known_scenes
from components.records.base import to_json
from components.records.blueprint import EntityBlueprint, Operation, ToolBlueprint
from components.records.frozen import FrozenDict, JsonObject, freeze
from components.records.spec import ServiceSpec, ToolSpec

_MOST_TEXT = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """The part of a service that a scene makes."""

    tools: Mapping[str, ToolBlueprint]
    why: Mapping[str, str]
    entities: Mapping[str, EntityBlueprint]
    rows: Mapping[str, FrozenDict[str, JsonObject]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cast:
    """A tool and the part that it plays."""

    part: Part
    role: str
    given: Mapping[str, str]
    """What callers give -> the parameter's name."""
    tool: ToolSpec


def staged(spec: ServiceSpec, readings: Mapping[str, ToolReading]) -> Staged | None:
    """Return what the first scene that the service plays makes of its tools, or None.

    Args:
        spec: the service.
        readings: what each tool is taken for; external ones stay so.
    """
    kept = [tool for _, tool in sorted(spec.tools.items())]
    for scene in known_scenes():
        casts = _casts(scene, kept, readings)
        if set(scene.needs) <= {cast.role for cast in casts} and _is_spoken(scene, kept):
            return _stage(scene, casts, readings)
    return None


def _is_spoken(scene: Scene, tools: Iterable[ToolSpec]) -> bool:
    texts = (f"{' '.join(tokens(tool.name))}. {tool.description[:_MOST_TEXT]}" for tool in tools)
    return re.search(scene.spoken, " ".join(texts).lower()) is not None


def _casts(
    scene: Scene, tools: Iterable[ToolSpec], readings: Mapping[str, ToolReading]
) -> list[_Cast]:
    """Return who plays what: a part is played once, by the first tool that fits it."""
    casts: dict[str, _Cast] = {}
    for tool in tools:
        name = _own_name(tool.name, scene.prefixes)
        text = f"{' '.join(tokens(tool.name))}. {tool.description[:_MOST_TEXT]}".lower()
        for role, part in sorted(scene.tools.items()):
            if role in casts or re.fullmatch(part.name, name) is None:
                continue
            is_said = re.search(part.says, text) is not None
            given = _given(scene, part, tool)
            is_same = _fits(part, readings[tool.name])
            if given is not None and is_said and is_same and _answer_name(tool, part) is not None:
                casts[role] = _Cast(part=part, role=role, given=given, tool=tool)
                break
    return list(casts.values())


def _fits(part: Part, reading: ToolReading) -> bool:
    """True where a tool was taken for what a part does: of one that depends on a world outside the
    reading says little else.
    """
    if reading.operation is Operation.EXTERNAL or not reading.deterministic:
        return part.is_kept
    return reading.functional is part.functional


def _own_name(name: str, prefixes: str) -> str:
    """Return a tool's name without the words that say what kind of service it belongs to."""
    parts = snake(name).split("_")
    while len(parts) > 1 and parts[0] in prefixes.split():
        parts = parts[1:]
    return "_".join(parts)


def _given(scene: Scene, part: Part, tool: ToolSpec) -> dict[str, str] | None:
    """Return the parameter of each thing that a part takes; None where one is missing, or where a
    required parameter is none of these.
    """
    properties = tool.input_schema.get("properties") or {}
    found: dict[str, str] = {}
    for wanted in (*part.takes, *part.may_take):
        fitting = (
            name
            for name in properties
            if name not in found.values() and re.fullmatch(scene.params[wanted], snake(name))
        )
        name = next(fitting, None)
        if name is not None:
            found[wanted] = name
    missing = set(part.takes) - set(found) - set(scene.implied)
    unknown = set(tool.input_schema.get("required") or ()) - set(found.values())
    return None if missing or unknown else found


def _answer_name(tool: ToolSpec, part: Part) -> str | None:
    """Return what holds the text of an answer; None where the output schema asks for more."""
    output = tool.output_schema
    properties = {} if output is None else properties_of(output, output)
    if not properties:
        return "result"
    only = next(iter(properties.values()))
    is_text = len(properties) == 1 and only.type == "string"
    return only.name if is_text and not part.is_data else None


def _stage(scene: Scene, casts: list[_Cast], readings: Mapping[str, ToolReading]) -> Staged:
    rows = {
        table: FrozenDict({str(row[scene.tables[table].key]): row for row in found})
        for table, found in scene.rows.items()
    }
    return Staged(
        tools={cast.tool.name: _tool(scene, cast, readings[cast.tool.name]) for cast in casts},
        why={cast.tool.name: f"it is the {cast.role!r} of {scene.title}" for cast in casts},
        entities=scene.tables,
        rows=rows,
    )


def _tool(scene: Scene, cast: _Cast, reading: ToolReading) -> ToolBlueprint:
    part = cast.part
    body = {
        "operation": part.operation,
        "functional": part.functional,
        "entity": part.entity,
        "difficulty": reading.difficulty,
        "lookups": {name: to_json(scene.lookups[name]) for name in part.lookups},
        "checks": {name: to_json(check) for name, check in part.checks.items()},
        "effects": {name: to_json(effect) for name, effect in part.effects.items()},
        "query": None if part.query is None else to_json(part.query),
        "result": {_answer_name(cast.tool, part): part.result},
    }
    return ToolBlueprint.model_validate(freeze(_filled(body, scene, cast)))


def _filled(value: Any, scene: Scene, cast: _Cast) -> Any:
    """Return a part's expressions with the tool's own parameters in them."""
    if isinstance(value, str) and value.startswith("$given."):
        return _argument(value.removeprefix("$given."), cast)
    if isinstance(value, Mapping):
        if set(value) == {"@use"}:
            return _filled(scene.parts[value["@use"]], scene, cast)
        return {name: _filled(item, scene, cast) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_filled(item, scene, cast) for item in value]
    return value


def _argument(wanted: str, cast: _Cast) -> Any:
    name = cast.given.get(wanted)
    if name is None:
        return None
    ref = f"$args.{name}"
    kind = cast.tool.input_schema["properties"][name].get("type")
    return [ref] if wanted in _LISTS and kind != "array" else ref


_LISTS = frozenset({"files"})
"""What is a list even where a tool takes one of it."""
