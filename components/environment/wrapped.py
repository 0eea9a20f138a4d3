"""Tools whose arguments all lie in one object (`{"request": {...}}`), seen as if at the top.

Owns which tools those are, their specs without the object, and what a blueprint says of the same
arguments inside it. Reading, compiling and gates see the spec without the object; what is kept and
called is the one with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from components.environment.names import snake
from components.environment.params import unwrap
from components.records.base import to_json
from components.records.blueprint import Blueprint, ToolBlueprint
from components.records.frozen import FrozenDict, JsonObject, thaw
from components.records.spec import ServiceSpec, ToolSpec

_WRAPPERS = frozenset(
    {"args", "arguments", "body", "data", "input", "inputs", "parameters", "params", "payload",
     "query", "request"}
)  # fmt: skip
"""Names in snake_case that say nothing of what an object holds."""
_KEPT = frozenset({"$defs", "definitions", "$schema"})
_INNER = frozenset({"type", "properties", "required", "additionalProperties", "description",
                    "title", "$schema", "$defs", "definitions"})  # fmt: skip
"""Keywords of an object that mean the same where it is the whole: no rules across its properties.
"""


def wrapper_of(tool: ToolSpec) -> str | None:
    """Return the name of the one object that holds all arguments of a tool, or None.

    It is the only parameter, must be given, and is called like arguments in general.
    """
    schema = tool.input_schema
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or len(properties) != 1:
        return None
    (name,) = properties
    if snake(name) not in _WRAPPERS or list(schema.get("required") or ()) != [name]:
        return None
    if tool.rules or tool.effects or tool.returns or "." in name or not name:
        return None  # What is written of it speaks of the arguments where they are.
    inner, is_nullable = unwrap(properties[name], schema)
    held = inner.get("properties")
    is_object = isinstance(held, Mapping) and inner.get("type", "object") == "object"
    if not is_object or is_nullable or not _INNER.issuperset(inner):
        return None
    return None if _points_to(schema, "#/properties") else name


def _points_to(part: Any, start: str) -> bool:
    """True where a schema has a reference into a place that is no longer there without wrapper."""
    if isinstance(part, Mapping):
        target = part.get("$ref")
        if isinstance(target, str) and (target == "#" or target.startswith(start)):
            return True
        return any(_points_to(item, start) for item in part.values())
    return isinstance(part, (list, tuple)) and any(_points_to(item, start) for item in part)


def opened(spec: ServiceSpec) -> ServiceSpec:
    """Return a spec whose wrapped tools take their arguments at the top; itself if none is."""
    found = {
        name: _opened(tool, at) for name, tool in spec.tools.items() if (at := wrapper_of(tool))
    }
    if not found:
        return spec
    return spec.model_copy(update={"tools": FrozenDict({**spec.tools, **found})})


def arguments_schema(tool: ToolSpec) -> JsonObject:
    """Return the schema of a tool's arguments, wherever they lie."""
    wrapper = wrapper_of(tool)
    return tool.input_schema if wrapper is None else _opened(tool, wrapper).input_schema


def arguments_in_place(tool: ToolSpec) -> JsonObject:
    """Return a tool's input schema, in which a wrapper that is only referred to is written out."""
    wrapper, schema = wrapper_of(tool), tool.input_schema
    if wrapper is None:
        return schema
    inner, _ = unwrap(schema["properties"][wrapper], schema)
    return FrozenDict({**schema, "properties": FrozenDict({wrapper: inner})})


def _opened(tool: ToolSpec, wrapper: str) -> ToolSpec:
    schema = tool.input_schema
    inner, _ = unwrap(schema["properties"][wrapper], schema)
    kept = {key: schema[key] for key in _KEPT if key in schema}
    whole = FrozenDict({**inner, **kept, "type": "object"})
    return tool.model_copy(update={"input_schema": whole})


def closed(spec: ServiceSpec, blueprint: Blueprint) -> Blueprint:
    """Return the blueprint for a spec of what was compiled for its opened form.

    Defaults of the schema, which the engine fills in at the top alone, are written out.
    """
    tools = {}
    for name, wrapper in _wrapped(spec, blueprint):
        properties = _opened(spec.tools[name], wrapper).input_schema["properties"]
        usual = {
            argument: part["default"]
            for argument, part in properties.items()
            if isinstance(part, Mapping) and part.get("default") is not None
        }
        tools[name] = _rewritten(blueprint.tools[name], partial(_inside, wrapper, usual))
    return _with_tools(blueprint, tools)


def opened_blueprint(spec: ServiceSpec, blueprint: Blueprint) -> Blueprint:
    """Return a blueprint of a spec for the spec's opened form."""
    tools = {
        name: _rewritten(blueprint.tools[name], partial(_outside, wrapper))
        for name, wrapper in _wrapped(spec, blueprint)
    }
    return _with_tools(blueprint, tools)


def _wrapped(spec: ServiceSpec, blueprint: Blueprint) -> Iterator[tuple[str, str]]:
    """Yield the wrapped tools of a blueprint, each with the name of its object."""
    for name in blueprint.tools:
        wrapper = wrapper_of(spec.tools[name]) if name in spec.tools else None
        if wrapper is not None:
            yield name, wrapper


def _with_tools(blueprint: Blueprint, tools: Mapping[str, ToolBlueprint]) -> Blueprint:
    if not tools:
        return blueprint
    whole = FrozenDict({**blueprint.tools, **tools})
    return blueprint.model_copy(update={"tools": whole})


Change = Callable[[str, bool], Any]
"""(path of an argument, whether it is asked if it was given) -> the expression in its place."""


def _rewritten(tool: ToolBlueprint, change: Change) -> ToolBlueprint:
    return ToolBlueprint.model_validate(_changed(to_json(tool), change))


def _changed(part: Any, change: Change) -> Any:
    if isinstance(part, str):
        root, _, path = part.partition(".")
        return change(path, False) if root == "$args" else part
    if isinstance(part, list):
        return [_changed(item, change) for item in part]
    if not isinstance(part, dict) or set(part) == {"@lit"}:
        return part
    if set(part) == {"@given"}:
        return change(part["@given"], True)
    return {key: _changed(item, change) for key, item in part.items()}


def _inside(wrapper: str, usual: Mapping[str, Any], path: str, is_asked: bool) -> Any:
    """Return the expression of an argument that lies in the wrapper."""
    if is_asked:
        return path in usual or {"@given": f"{wrapper}.{path}"}
    reference = ".".join(part for part in ("$args", wrapper, path) if part)
    return {"@coalesce": [reference, {"@lit": thaw(usual[path])}]} if path in usual else reference


def _outside(wrapper: str, path: str, is_asked: bool) -> Any:
    """Return the expression of an argument that no longer lies in the wrapper."""
    inner = path.removeprefix(wrapper).removeprefix(".")
    if is_asked:
        return {"@given": inner}
    return f"$args.{inner}" if inner else "$args"
