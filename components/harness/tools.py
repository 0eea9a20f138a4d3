"""Which tools a policy is shown, under which names.

Names and schemas are rendered from the specs and never kept. `finish` and `read_more` belong to the
harness: they are always shown, and no service can take their names, since a service's tools have
`__` in theirs.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from components.environment.identity import Same
from components.environment.service import CompiledService
from components.records.frozen import FrozenDict, JsonObject
from components.records.harness import HarnessSettings
from components.records.task import Task

FINISH = "finish"
READ_MORE = "read_more"
_FINISH_TEXT = "End the task and give its answer. Call it once, last, when all work is done."
_READ_MORE_TEXT = "Read a further page of an earlier answer that was too long to show at once."
_READ_MORE_SCHEMA: JsonObject = FrozenDict(
    {
        "type": "object",
        "properties": FrozenDict(
            {
                "call_id": FrozenDict(
                    {"type": "string", "description": "Id of the call whose answer was cut."}
                ),
                "page": FrozenDict({"type": "integer", "minimum": 1}),
            }
        ),
        "required": ("call_id", "page"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTool:
    """One tool as the policy may call it."""

    name: str
    """Policy name: `<service>__<tool>`, or a reserved one."""
    service: str
    """Empty for the harness's own tools."""
    tool: str
    description: str
    schema: JsonObject
    """JSON Schema of the arguments."""


def shown_tools(
    services: Mapping[str, CompiledService], task: Task, settings: HarnessSettings
) -> tuple[ShownTool, ...]:
    """Return the tools that this harness shows: by service and name, the harness's own last."""
    distractors = task.world.distractors if settings.tool_exposure == "all" else ()
    shown = []
    for service in sorted({*task.world.services, *distractors} & set(services)):
        for tool, compiled in sorted(services[service].tools.items()):
            name = f"{service}__{tool}"
            if name not in settings.hidden_tools:
                spec = compiled.spec
                shown.append(
                    ShownTool(
                        name=name,
                        service=service,
                        tool=tool,
                        description=spec.description,
                        schema=spec.input_schema,
                    )
                )
    return (*shown, *_own_tools(task))


def _own_tools(task: Task) -> Iterable[ShownTool]:
    finish: JsonObject = FrozenDict(
        {
            "type": "object",
            "properties": FrozenDict({"answer": task.answer_schema}),
            "required": ("answer",),
        }
    )
    for name, text, schema in (
        (READ_MORE, _READ_MORE_TEXT, _READ_MORE_SCHEMA),
        (FINISH, _FINISH_TEXT, finish),
    ):
        yield ShownTool(name=name, service="", tool=name, description=text, schema=schema)


def signature_of(tool: ShownTool) -> str:
    """Return a tool as one line: `helpdesk__get_ticket(id: string, limit?: integer = 20)`."""
    return _signature(tool.name, Same(tool.schema))


@lru_cache(maxsize=4096)
def _signature(tool: str, known: Same[JsonObject]) -> str:
    properties = known.value.get("properties") or {}
    required = set(known.value.get("required") or ())
    parts = [
        f"{name}{'' if name in required else '?'}: {_type_of(schema)}{_default_of(schema)}"
        for name, schema in properties.items()
    ]
    return f"{tool}({', '.join(parts)})"


def compact_of(tool: ShownTool) -> str:
    """Return a tool in the fewest words: `helpdesk__get_ticket(id, limit?: integer)`.

    A text argument has no type, and the answer of `finish` is left to the user's message, so that
    tasks on the same services share one system message.
    """
    if tool.name == FINISH:
        return f"{FINISH}(answer)"
    return _compact(tool.name, Same(tool.schema))


@lru_cache(maxsize=4096)
def _compact(tool: str, known: Same[JsonObject]) -> str:
    required = set(known.value.get("required") or ())
    parts = []
    for name, schema in (known.value.get("properties") or {}).items():
        kind = _type_of(schema).replace('"', "").replace(" | ", "|")
        optional = "" if name in required else "?"
        parts.append(f"{name}{optional}" + ("" if kind == "string" else f": {kind}"))
    return f"{tool}({', '.join(parts)})"


def answer_text(schema: Mapping[str, Any]) -> str:
    """Return what an answer looks like in one line: `{"status": "open" | "closed"}`."""
    properties = schema.get("properties") or {}
    if schema.get("type") != "object" or not properties:
        return _type_of(schema)
    parts = (f'"{name}": {_type_of(item)}' for name, item in properties.items())
    return "{" + ", ".join(parts) + "}"


def nearest_name(name: str, names: Iterable[str]) -> str:
    """Return the name most like `name`, or an empty text when none is like it."""
    found = difflib.get_close_matches(name[:100], sorted(names), n=1, cutoff=0.6)
    return found[0] if found else ""


def _type_of(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if "enum" in schema:
        return " | ".join(json.dumps(item, ensure_ascii=False) for item in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(_type_of(item) for item in schema[key])
    kind = schema.get("type", "any")
    if isinstance(kind, (list, tuple)):
        return " | ".join(map(str, kind))
    if kind == "array":
        return f"array of {_type_of(schema.get('items'))}"
    if kind == "object" and schema.get("properties"):
        inner = (f"{name}: {_type_of(item)}" for name, item in schema["properties"].items())
        return "{" + ", ".join(inner) + "}"
    return str(kind)


def _default_of(schema: Any) -> str:
    if not isinstance(schema, Mapping) or "default" not in schema:
        return ""
    return f" = {json.dumps(schema['default'], ensure_ascii=False)}"
