"""Tools whose answers depend on a world outside: simulated, and marked as that."""

from __future__ import annotations

from components.environment.names import plural, singular, tokens
from components.environment.reading.records import ToolReading
from components.records.blueprint import Operation, ToolBlueprint
from components.records.frozen import FrozenDict
from components.records.spec import ToolSpec


def simulated_tool(spec: ToolSpec, reading: ToolReading) -> ToolBlueprint:
    """Return the blueprint of a tool that is only simulated: it reads and changes no state."""
    noun = reading.entity or "result"
    words = tokens(spec.name)
    last = words[-1] if words else noun
    is_many = reading.operation in (Operation.LIST, Operation.SEARCH) or singular(last) != last
    name = plural(noun) if is_many else noun
    drawn = {"@draw": {"noun": noun, "many": is_many, "tool": spec.name}}
    return ToolBlueprint(
        operation=reading.operation,
        functional=reading.functional,
        difficulty=reading.difficulty,
        simulated=True,
        result=FrozenDict({"simulated": True, name: drawn}),
    )
