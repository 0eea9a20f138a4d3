"""What a server lists, made into a spec: names that can be called, schemas that can be compiled.

Owns the reading of messy `tools/list` answers. It refuses to guess what a tool does. One bad tool
never costs its server: every item of the list is kept, kept and mended with a note, or quarantined
for a reason of the fixed list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from components.environment.sources.names import tool_rule, valid_names
from components.environment.sources.parameters import rename_parameters
from components.environment.sources.records import Mend, QuarantinedTool, QuarantineReason
from components.environment.sources.redaction import Redactor
from components.environment.sources.schema_values import SchemaRefused
from components.environment.sources.schemas import mend_schema
from components.environment.sources.text import MAX_LINE, clean_line, clean_text
from components.errors import SpecError
from components.records.frozen import FrozenDict, canonical_json, freeze, thaw
from components.records.spec import ServiceSpec, ToolSpec

MAX_SCHEMA_BYTES = 200_000
MAX_DESCRIPTION = 8_000
"""Characters of a tool's or a service's description."""
_MAX_ANNOTATIONS = 20
_MAX_NAME = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A spec and what had to be mended or left out to make it."""

    spec: ServiceSpec
    num_listed: int
    mended: tuple[Mend, ...] = ()
    quarantined: tuple[QuarantinedTool, ...] = ()
    deprecated: tuple[str, ...] = ()
    tool_names: Mapping[str, str] = field(default_factory=dict)
    """Name in the spec -> name as the server says it, where the two differ."""
    parameter_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Tool in the spec -> parameter in the spec -> as the server says it, where they differ."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out and mended, one line each."""
        return notes_of(self.quarantined, self.mended)


class NoUsableTool(SpecError):
    """Nothing of a list can be used; says what became of each item."""

    def __init__(self, message: str, quarantined: tuple[QuarantinedTool, ...]) -> None:
        """Args: message for the person; quarantined: every item of the list."""
        super().__init__(message)
        self.quarantined = quarantined


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """One item of a list that has a name."""

    index: int
    name: str
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tool:
    """One tool, mended."""

    spec: ToolSpec
    mends: tuple[Mend, ...]
    parameters: Mapping[str, str]


def spec_from_listing(
    service: str,
    tools: Any,
    *,
    title: str = "",
    description: str = "",
    source: str = "file:listing",
    redactor: Redactor | None = None,
) -> Listing:
    """Make a spec of a raw `tools/list` answer.

    Args:
        service: name, already normalised and unique.
        tools: the answer's `tools` as JSON, however messy.
        redactor: removes the values that the server was started with from all that it says.

    Raises:
        NoUsableTool: no tool of the list can be used.
        SpecError: there is no list.
    """
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise SpecError(f"{service}: the server's answer has no list of tools")
    redactor = redactor or Redactor(())
    items, left_out = _named(tools, redactor)
    names = valid_names((item.name for item in items), tool_rule(service))
    found: dict[str, _Tool] = {}
    deprecated: list[str] = []
    for item in items:
        name = names[item.name]
        try:
            found[name] = _tool(name, item.raw)
        except SchemaRefused as refused:
            left_out.append(_quarantined(item.index, item.name, refused.reason, refused.detail))
            continue
        if item.raw.get("deprecated") is True:
            deprecated.append(name)
    quarantined = tuple(sorted(left_out, key=lambda tool: tool.index))
    if not tools:
        what = "the server lists no tools; it may want a setting first (`args` or `env`)"
        raise NoUsableTool(f"{service}: {what}", ())
    if not found:
        raise NoUsableTool(f"{service}: the server lists no tool that can be used", quarantined)
    spec = ServiceSpec(
        service=service,
        title=clean_line(redactor.text(title or service)),
        domain="external",
        description=clean_text(redactor.text(description), MAX_DESCRIPTION),
        source=clean_line(redactor.name(source)),
        tools=FrozenDict({name: tool.spec for name, tool in found.items()}),
    )
    own = {names[item.name]: item.name for item in items}
    return Listing(
        spec=spec,
        num_listed=len(tools),
        mended=tuple(mend for tool in found.values() for mend in tool.mends),
        quarantined=quarantined,
        deprecated=tuple(sorted(deprecated)),
        tool_names={name: own[name] for name in found if own[name] != name},
        parameter_names={name: tool.parameters for name, tool in found.items() if tool.parameters},
    )


def notes_of(quarantined: Sequence[QuarantinedTool], mended: Sequence[Mend]) -> tuple[str, ...]:
    """Return what was left out and mended, one line each, for a person."""
    left_out = (
        f"tool {tool.index + 1}{f' ({tool.name})' if tool.name else ''}: left out, {tool.detail}"
        for tool in quarantined
    )
    return (*left_out, *(f"{mend.tool}: {mend.place}: {mend.what}" for mend in mended))


def _named(tools: Sequence[Any], redactor: Redactor) -> tuple[list[_Item], list[QuarantinedTool]]:
    """Return the items that can be called by name, and the others."""
    items: list[_Item] = []
    left_out: list[QuarantinedTool] = []
    seen: set[str] = set()
    for index, given in enumerate(tools):
        if not isinstance(given, Mapping):
            left_out.append(_quarantined(index, "", QuarantineReason.NOT_A_TOOL, "it is no object"))
            continue
        raw = _unwrapped(given)
        name = raw.get("name")
        if not isinstance(name, str) or not name.strip() or len(name) > _MAX_NAME:
            left_out.append(_quarantined(index, "", QuarantineReason.NO_NAME, "it has no name"))
            continue
        name = redactor.name(name)
        if raw["name"] in seen:
            what = "its name was listed before"
            left_out.append(_quarantined(index, name, QuarantineReason.DUPLICATE_NAME, what))
            continue
        seen.add(raw["name"])
        try:
            items.append(_Item(index=index, name=name, raw=redactor.value(raw)))
        except RecursionError:
            left_out.append(
                _quarantined(
                    index, name, QuarantineReason.TOO_DEEP, "it is nested deeper than can be read"
                )
            )
    return items, left_out


def _unwrapped(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool as model APIs are told of it holds its parts one level down."""
    inner = raw.get("function")
    return inner if raw.get("type") == "function" and isinstance(inner, Mapping) else raw


def _quarantined(index: int, name: str, reason: QuarantineReason, detail: str) -> QuarantinedTool:
    return QuarantinedTool(
        index=index, name=clean_line(name, 80), reason=reason, detail=clean_line(detail)
    )


def _tool(name: str, raw: Mapping[str, Any]) -> _Tool:
    """Mend one tool.

    Raises:
        SchemaRefused: it cannot be offered.
    """
    keys = ("inputSchema", "input_schema", "parameters", "schema")
    given = next((raw[key] for key in keys if raw.get(key) is not None), None)
    mended = mend_schema(given)
    schema, parameters = rename_parameters(mended.schema)
    _check(schema)
    mends = [(place, what) for place, what in mended.mends]
    for new, old in parameters.items():
        mends.append(("#/properties", f"parameter {clean_line(old, 80)!r} is called {new!r} here"))
    output, problem = _output(raw)
    if problem:
        mends.append(("#/outputSchema", problem))
    description = raw.get("description")
    text = description if isinstance(description, str) else ""
    if len(text) > MAX_DESCRIPTION:
        mends.append(("#/description", f"{len(text)} characters cut to {MAX_DESCRIPTION}"))
    return _Tool(
        spec=ToolSpec(
            name=name,
            description=clean_text(text, MAX_DESCRIPTION),
            input_schema=freeze(schema),
            output_schema=None if output is None else freeze(output),
            annotations=freeze(_annotations(raw.get("annotations"))),
        ),
        mends=tuple(Mend(tool=name, place=place, what=what) for place, what in mends),
        parameters=parameters,
    )


def _check(schema: dict[str, Any]) -> None:
    """Refuse a schema that is too long, or that the validator cannot read after all."""
    if len(canonical_json(schema)) > MAX_SCHEMA_BYTES:
        raise SchemaRefused(
            QuarantineReason.TOO_LARGE, f"its schema is longer than {MAX_SCHEMA_BYTES} bytes"
        )
    try:
        jsonschema_rs.validator_for(thaw(schema), offline=True)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        first = str(error).partition("\n")[0]
        raise SchemaRefused(
            QuarantineReason.UNREADABLE, f"its schema is no JSON Schema: {first}"[:MAX_LINE]
        ) from None


def _output(raw: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """Return the schema of answers, or why there is none: it never costs a tool."""
    given = next(
        (raw[key] for key in ("outputSchema", "output_schema") if raw.get(key) is not None), None
    )
    if not isinstance(given, Mapping):
        return None, "" if given is None else "the schema of its answers is none; left out"
    try:
        schema = mend_schema(given).schema
        _check(schema)
    except SchemaRefused as refused:
        return None, f"the schema of its answers left out: {refused.detail}"
    return schema, ""


def _annotations(given: Any) -> dict[str, Any]:
    """MCP's hints: flags, and texts of one line."""
    if not isinstance(given, Mapping):
        return {}
    kept = [(key, item) for key, item in given.items() if isinstance(item, (bool, str))]
    return {
        clean_line(str(key), 80): clean_line(item) if isinstance(item, str) else item
        for key, item in kept[:_MAX_ANNOTATIONS]
    }
