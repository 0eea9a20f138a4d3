"""The law that a tool on one row is told which.

Owns what counts as told: any argument that must be given, but those of who calls or what is secret.
"""

from __future__ import annotations

from components.environment.gates.probe import Prober, Seen, absent_value
from components.environment.gates.promises import callers_of, scalar_kind, words
from components.environment.names import tokens
from components.records.blueprint import Operation, ToolBlueprint
from components.records.frozen import JsonObject

_GATE = "law"
_ON_ONE = frozenset(
    {Operation.GET, Operation.UPDATE, Operation.DELETE, Operation.TRANSITION, Operation.DETACH}
)


def some_argument_decides(
    prober: Prober, name: str, tool: ToolBlueprint, results: list[tuple[JsonObject, Seen]]
) -> None:
    """Of what a tool on one row must be told, something says which row."""
    if tool.operation not in _ON_ONE:
        return
    properties = prober.spec.tools[name].input_schema.get("properties") or {}
    asked = set(prober.spec.tools[name].input_schema.get("required") or ())
    required = [
        item
        for item in sorted(asked - callers_of(prober.spec))
        if scalar_kind(properties.get(item)) and not set(tokens(item)) & words("hidden")
    ]
    answered = [arguments for arguments, seen in results if seen.is_ok]
    if answered and any(isinstance(value, tuple) for value in answered[0].values()):
        return  # a list names its rows
    is_one_of_many = len(prober.rows(tool.entity or "")) > 1
    is_naming = any(
        tokens(item)[-1:] and tokens(item)[-1] in words("row_ends") for item in required
    )
    if not required or not answered or not (is_one_of_many or is_naming):
        return
    for argument in required:
        absent = absent_value(prober, name, answered[0], argument)
        if absent is None or not prober.call(name, {**answered[0], argument: absent}).is_ok:
            return
    prober.fail(
        name, _GATE, "an argument says which row", answered[0],
        f"an error for an unknown {required[0]}", "every call answers",
    )  # fmt: skip
