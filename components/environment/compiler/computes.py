"""Tools that compute: a function of the library, called with what the caller gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from components.environment.archetypes.find import archetype_of
from components.environment.compiler.inputs import Tool
from components.environment.compiler.rows import Content, answer_of
from components.environment.compiler.table import Table
from components.environment.pure.match import Match, match_tool
from components.records.blueprint import (
    Check,
    FunctionalClass,
    Operation,
    ToolBlueprint,
)
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict

_MAY_COMPUTE = frozenset({Operation.COMPUTE, Operation.GET})


def as_computation(tool: Tool) -> Tool | None:
    """Return a tool that was taken for something else as the computation that it is, or None.

    Args:
        tool: one whose answer is worked out from what it is given, or depends on a world outside.
    """
    if _match(tool) is None:
        return None
    update = {"operation": Operation.COMPUTE, "deterministic": True, "entity": None}
    return replace(tool, reading=tool.reading.model_copy(update=update))


def _match(tool: Tool) -> Match | None:
    params = {item.param.name: item.param for item in tool.inputs}
    return match_tool(tool.name, params, description=tool.spec.description)


def compile_pure(tool: Tool) -> tuple[ToolBlueprint, str] | None:
    """Return the blueprint of a tool that is a function of the library, or None.

    A get may be one too: the time is what the world's clock says.
    """
    found = _match(tool)
    if found is None or tool.reading.operation not in _MAY_COMPUTE:
        return None
    if tool.reading.operation is Operation.GET and not found.needs_clock:
        return None
    by_name = {item.param.name: item for item in tool.inputs}
    arguments: dict[str, Any] = {
        name: by_name[param].ref for name, param in sorted(found.inputs.items())
    }
    arguments |= {name: {"@lit": value} for name, value in found.fixed.items()}
    if found.needs_clock:
        arguments["now"] = "$now"
    call = [found.function, arguments]
    content = Content(
        table=Table(noun="result", usual=archetype_of("result"), names=("id",)),
        plain={"result": {"@call": call}},
    )
    blueprint = ToolBlueprint(
        operation=tool.reading.operation,
        functional=FunctionalClass.PROCESS,
        difficulty=tool.reading.difficulty,
        checks=FrozenDict(
            {
                "has_a_value": Check(
                    holds={"@can_call": call},
                    code=ErrorCode.INVALID_ARGUMENTS,
                    message=f"{found.function} has no value for these arguments",
                )
            }
        ),
        result=answer_of(tool, content, {}),
    )
    return (
        blueprint,
        f"the function {found.function!r} of {', '.join(sorted(found.inputs)) or 'the clock'}",
    )
