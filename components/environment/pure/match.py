"""Which pure function a tool is, if any: by its name and by what it takes.

Owns the match. It is strict: every required parameter must have its part in the function, and a
name alone is never enough (to reverse a geocode is not to reverse a text).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from components.environment.names import snake, tokens
from components.environment.params import Param

_NUMERIC = ("number", "integer")
_WORD = re.compile(r"[a-z0-9']+")
_MOST_TEXT = 300
_BESIDE = frozenset(
    {"numbers", "number", "two", "of", "get", "the", "text", "data", "string", "message",
     "expression", "numeric", "math", "list", "hash", "input", "calculate", "compute", "find",
     "value", "values", "a", "an", "simple", "tool", "is", "matrix", "vector", "to"}
)  # fmt: skip
_LEADS = frozenset(
    {"get", "calculate", "compute", "find", "tool", "math", "text", "string", "the", "a", "of",
     "utils", "util", "run", "check", "do"}
)  # fmt: skip
_IDLE = frozenset({"ctx", "random_string", "dummy", "no_params"})
"""Parameters that say nothing."""
_TEXT_NAMES = (
    "text", "input", "string", "content", "data", "value", "message", "str", "input_text",
    "input_string", "s", "source", "payload",
)  # fmt: skip


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
    patterns = json.loads(text)
    return tuple({**one, "name": frozenset(map(snake, one["name"]))} for one in patterns)


def match_tool(
    name: str, params: Mapping[str, Param], prefix: str = "", description: str = ""
) -> Match | None:
    """Return the function that a tool is, or None.

    Args:
        name: of the tool.
        params: its parameters by name.
        prefix: words that all tools of its server begin with, as snake_case.
        description: of the tool; some names mean a function only where it says so.
    """
    word = snake(name)
    names = _meant_by(word)
    if prefix:
        names |= _meant_by(word.removeprefix(f"{prefix}_"))
    spoken = {*tokens(name), *_WORD.findall(description.lower()[:_MOST_TEXT])}
    for pattern in _patterns():
        phrases = pattern.get("phrases", ("",))
        if spoken.isdisjoint(pattern.get("says", spoken)):
            continue
        if not any(phrase in description.lower() for phrase in phrases):
            continue
        if not names.isdisjoint(pattern["name"]):
            found = _fit(pattern, params)
            if found is not None:
                return found
    return None


def _meant_by(word: str) -> frozenset[str]:
    """Return the names of functions, as snake_case, that a tool's name can stand for: how it ends,
    itself without words that lead, and one word beside which nothing of weight stands.
    """
    parts = word.split("_")
    ends = {"_".join(parts[place:]) for place in range(len(parts) - 1)}
    plain = "_".join(part for part in parts if part not in _LEADS)
    alone = {part for part in parts if all(other == part or other in _BESIDE for other in parts)}
    return frozenset(ends | ({plain} if "_" in plain else set()) | alone)


def _fit(pattern: Mapping[str, Any], params: Mapping[str, Param]) -> Match | None:
    left = {name: param for name, param in params.items() if param.word not in _IDLE}
    inputs: dict[str, str] = {}
    texts, more, needs = (pattern.get(kind, {}) for kind in ("texts", "more", "needs"))
    for argument, names in {**texts, **needs, **more}.items():
        wanted = _TEXT_NAMES if names == "$text" else names
        found = next((n for word in wanted for n in left if left[n].word == word), None)
        if found is None and argument not in more:
            return None
        if found is not None:
            if argument in texts and left[found].type != "string":
                return None
            inputs[argument] = found
            del left[found]
    kinds: tuple[tuple[str, Callable[[Param], bool]], ...] = (
        ("numbers", lambda param: param.type in _NUMERIC),
        ("lists", lambda param: _is_list_of(param, _NUMERIC)),
        ("matrices", lambda param: _is_list_of(param, ("array",))),
    )
    for kind, is_kind in kinds:
        for argument in pattern.get(kind, ()):
            name = next((n for n, param in left.items() if is_kind(param)), None)
            if name is None:
                return None
            inputs[argument] = name
            del left[name]
    if left:  # what is not understood may change the value
        return None
    return Match(
        function=pattern["function"],
        inputs=inputs,
        fixed=pattern.get("fixed", {}),
        needs_clock=bool(pattern.get("clock")),
    )


def _is_list_of(param: Param, kinds: tuple[str, ...]) -> bool:
    return param.type == "array" and param.items.get("type") in kinds
