"""Expressions of blueprints and reactions as people write them: `ticket.status != "closed"`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop.report.changes import value_text

_BETWEEN = {
    "@eq": "=",
    "@ne": "!=",
    "@lt": "<",
    "@le": "<=",
    "@gt": ">",
    "@ge": ">=",
    "@in": "in",
    "@contains": "contains",
    "@and": "and",
    "@or": "or",
    "@add": "+",
    "@sub": "-",
    "@mul": "*",
}


def expression_text(expression: Any) -> str:
    """Return an expression in one line; what has no shorter form is written as a call."""
    match expression:
        case str() if expression.startswith("$"):
            return expression[1:].removeprefix("item.")
        case str():
            return value_text(expression)
        case Mapping() if len(expression) == 1 and next(iter(expression)).startswith("@"):
            ((name, operand),) = expression.items()
            return _operation_text(name, operand)
        case Mapping():
            inner = (f"{key}: {expression_text(item)}" for key, item in sorted(expression.items()))
            return "{" + ", ".join(inner) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(expression_text, expression)) + "]"
        case _:
            return value_text(expression)


def _operation_text(name: str, operand: Any) -> str:
    if name == "@lit":
        return value_text(operand)
    if name == "@not":
        return f"not {expression_text(operand)}"
    if name == "@is_null":
        return f"{expression_text(operand)} is null"
    if name == "@given":
        return f"{operand} is given"
    if name in _BETWEEN and isinstance(operand, (list, tuple)):
        if len(operand) == 1:
            return expression_text(operand[0])
        return "(" + f" {_BETWEEN[name]} ".join(map(expression_text, operand)) + ")"
    if isinstance(operand, (list, tuple)):
        return f"{name[1:]}({', '.join(map(expression_text, operand))})"
    if isinstance(operand, Mapping):
        inner = (f"{key}={expression_text(item)}" for key, item in sorted(operand.items()))
        return f"{name[1:]}({', '.join(inner)})"
    return f"{name[1:]}({expression_text(operand)})"
