"""Tools whose answers depend on a world outside: simulated, and marked as that."""

from __future__ import annotations

import random
from typing import Any

from components.environment.archetypes.context import in_context
from components.environment.archetypes.records import Found
from components.environment.compiler.rows import wrapped_result
from components.environment.names import plural, singular, tokens
from components.environment.reading.records import ToolReading
from components.environment.seeds.sample_values import SchemaSampler
from components.records.blueprint import FunctionalClass, Operation, ToolBlueprint
from components.records.frozen import FrozenDict, freeze
from components.records.spec import ToolSpec

_LOOKS_UP = frozenset({"search", "find", "query", "web", "news", "crawl", "scrape", "browse"})
"""Words of tools whose answers are found on pages."""
_PAGE = "search_result"
_RECORD = "general"


def simulated_tool(spec: ToolSpec, reading: ToolReading, spoken: frozenset[str]) -> ToolBlueprint:
    """Return the blueprint of a tool that is only simulated: it changes no state.

    A write is acknowledged; anything else answers records of the kind that its words name, as far
    as that kind is known.

    Args:
        spec: the tool.
        reading: what it was taken for.
        spoken: words that the service uses.
    """
    answer: dict[str, Any] = {"simulated": True}
    if reading.functional is FunctionalClass.WRITE:
        answer |= {"success": True, "message": f"{spec.name}: accepted"}
    else:
        answer |= _records(spec, reading, spoken)
    answer = _in_shape(spec, answer)
    is_write = reading.functional is FunctionalClass.WRITE
    return ToolBlueprint(
        operation=Operation.EXTERNAL if is_write else reading.operation,
        functional=reading.functional,
        difficulty=reading.difficulty,
        simulated=True,
        result=FrozenDict(answer),
    )


def _in_shape(spec: ToolSpec, answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer as the output schema has it, where there is one."""
    output = spec.output_schema
    if output is None:
        return answer
    wrapped = wrapped_result(spec)
    shown = {name: value for name, value in answer.items() if name != "simulated"}
    if wrapped is not None and wrapped.type == "string":
        return {"simulated": True, "result": answer.get("message", {"@json": shown})}
    drawn = SchemaSampler(output, random.Random(spec.name)).value(output)
    return {"simulated": True, **{name: {"@lit": freeze(drawn[name])} for name in sorted(drawn)}}


def _records(spec: ToolSpec, reading: ToolReading, spoken: frozenset[str]) -> dict[str, Any]:
    words = tokens(spec.name)
    noun = reading.subject or "result"
    usual = in_context(noun, spoken)
    kind = usual.name
    if usual.found is Found.FALLBACK or reading.subject is None:
        kind = _PAGE if _LOOKS_UP & set(words) else _RECORD
    last = words[-1] if words else noun
    is_many = reading.operation in (Operation.LIST, Operation.SEARCH) or singular(last) != last
    is_many = is_many or kind == _PAGE
    drawn = {"@draw": {"noun": kind, "many": is_many, "tool": spec.name}}
    return {plural(noun) if is_many else noun: drawn}
