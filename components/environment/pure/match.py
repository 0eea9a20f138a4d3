"""Which pure function a tool is, if any: by its name and by what it takes.

Owns the match. It is strict: every required parameter must have its part in the function, and a
name alone is never enough (to reverse a geocode is not to reverse a text).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from components.environment.names import snake
from components.environment.params import Param

_NUMERIC = ("number", "integer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A function and where its arguments come from."""

    function: str
    inputs: Mapping[str, str]
    """Argument of the function -> parameter of the tool."""
    fixed: Mapping[str, str]
    """Argument of the function -> its value."""
    needs_clock: bool


@cache
def _patterns() -> tuple[dict[str, Any], ...]:
    text = Path(__file__).with_name("tools.json").read_text(encoding="utf-8")
    return tuple(json.loads(text))


def match_tool(name: str, params: Mapping[str, Param], prefix: str = "") -> Match | None:
    """Return the function that a tool is, or None.

    Args:
        name: of the tool.
        params: its parameters by name.
        prefix: words that all tools of its server begin with, as snake_case.
    """
    word = snake(name).removeprefix(f"{prefix}_") if prefix else snake(name)
    for pattern in _patterns():
        if any(_is_named(word, wanted) for wanted in pattern["name"]):
            found = _fit(pattern, params)
            if found is not None:
                return found
    return None


def _is_named(word: str, wanted: str) -> bool:
    wanted = snake(wanted)
    if "_" in wanted:
        return wanted in (word, word.removeprefix("get_")) or word.endswith(f"_{wanted}")
    parts = word.split("_")
    extra = {"numbers", "number", "two", "of", "get", "the", "text", "data", "string", "message",
             "expression", "numeric", "math", "list", "hash", "input"}  # fmt: skip
    return wanted in parts and all(part == wanted or part in extra for part in parts)


def _fit(pattern: Mapping[str, Any], params: Mapping[str, Param]) -> Match | None:
    left = dict(params)
    inputs: dict[str, str] = {}
    for argument, names in {**pattern.get("texts", {}), **pattern.get("more", {})}.items():
        is_needed = argument in pattern.get("texts", {})
        found = next((n for n, param in left.items() if param.word in names), None)
        if found is None and is_needed:
            return None
        if found is not None:
            if is_needed and left[found].type != "string":
                return None
            inputs[argument] = found
            del left[found]
    numeric = [n for n, param in left.items() if param.type in _NUMERIC]
    for argument in pattern.get("numbers", ()):
        if not numeric:
            return None
        inputs[argument] = numeric.pop(0)
        del left[inputs[argument]]
    for argument in pattern.get("lists", ()):
        lists = [n for n, param in left.items() if _is_list_of_numbers(param)]
        if not lists:
            return None
        inputs[argument] = lists[0]
        del left[lists[0]]
    if any(param.is_required for param in left.values()):
        return None
    return Match(
        function=pattern["function"],
        inputs=inputs,
        fixed=pattern.get("fixed", {}),
        needs_clock=bool(pattern.get("clock")),
    )


def _is_list_of_numbers(param: Param) -> bool:
    return param.type == "array" and param.items.get("type") in _NUMERIC
