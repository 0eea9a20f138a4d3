"""Written tests made on a service: calls one after the other, judged by what each must bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.author.records import Step, WrittenTest
from components.environment.engine import Outcome, execute
from components.environment.values import same, settle
from components.environment.world import World
from components.records.calls import ErrorCode
from components.records.frozen import canonical_json

_CODES = frozenset(code.value for code in ErrorCode)


def try_test(world: World, service: str, test: WrittenTest) -> str:
    """Return what went wrong in a test, in one line; empty when it passed."""
    state, kept = world.initial, dict[str, Any]()
    for place, step in enumerate(test.steps, start=1):
        arguments = _filled(step.arguments, kept)
        outcome = execute(world, state, service, step.tool, arguments)
        problem = _judged(step, outcome, kept)
        if not problem and outcome.envelope["ok"] is not True and outcome.state is not state:
            problem = "expected that an error changes nothing; it did"
        if problem:
            call = f"{step.tool}({_short(arguments)})"
            return f"test {test.name!r}, step {place}, {call}: {problem}"
        state = outcome.state
    return ""


def answer_shapes(world: World, service: str, tests: tuple[WrittenTest, ...]) -> dict[str, Any]:
    """Return the shapes (keys and types) of the answers that the tests' calls get, by tool."""
    shapes: dict[str, set[bytes]] = {}
    for test in tests:
        state, kept = world.initial, dict[str, Any]()
        for step in test.steps:
            outcome = execute(world, state, service, step.tool, _filled(step.arguments, kept))
            _judged(step, outcome, kept)
            data = outcome.envelope.get("data", outcome.envelope.get("error", {}).get("code"))
            shapes.setdefault(step.tool, set()).add(canonical_json(_shape(data)))
            state = outcome.state
    return {tool: sorted(found) for tool, found in sorted(shapes.items())}


def _judged(step: Step, outcome: Outcome, kept: dict[str, Any]) -> str:
    envelope = outcome.envelope
    came = "ok" if envelope["ok"] is True else str(envelope["error"]["code"])
    if step.expect == "error":
        is_right = came not in ("ok", ErrorCode.INTERNAL)
    else:
        is_right = came == step.expect and came != ErrorCode.INTERNAL
    if not is_right:
        return f"expected {step.expect}; came {_told(envelope)}"
    if came != "ok":
        return ""
    for pointer, wanted in sorted(step.holds.items()):
        try:
            found = _at(envelope["data"], pointer)
        except LookupError:
            return f"expected {pointer}; came {_told(envelope)}"
        if not same(found, settle(_filled(wanted, kept))):
            return f"expected {pointer} to be {_short(wanted)}; came {_short(found)}"
    for name, pointer in sorted(step.keep.items()):
        try:
            kept[name] = _at(envelope["data"], pointer)
        except LookupError:
            return f"expected {pointer} to keep; came {_told(envelope)}"
    return ""


def _filled(value: Any, kept: Mapping[str, Any]) -> Any:
    """Put kept values in the place of their names."""
    if isinstance(value, str) and value[:1] == "$" and value[1:] in kept:
        return kept[value[1:]]
    if isinstance(value, Mapping):
        return {key: _filled(item, kept) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_filled(item, kept) for item in value]
    return value


def _at(value: Any, pointer: str) -> Any:
    """Return what a JSON pointer leads to. Raises LookupError."""
    for part in pointer.strip("/").split("/") if pointer.strip("/") else ():
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, (list, tuple)):
            if not name.isdecimal() or len(name) > 9:
                raise LookupError(name)
            value = value[int(name)]
        elif isinstance(value, Mapping):
            value = value[name]
        else:
            raise LookupError(name)
    return value


def _shape(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return sorted({canonical_json(_shape(item)).decode() for item in value})
    return type(value).__name__


def _told(envelope: Mapping[str, Any]) -> str:
    if envelope["ok"] is True:
        return f"ok with {_short(envelope['data'])}"
    error = envelope["error"]
    problem = error["details"].get("problem", "") if error["code"] == "internal" else ""
    return f"{error['code']}: {problem or error['message']}"[:300]


def _short(value: Any) -> str:
    text = canonical_json(value).decode("utf-8", "replace")
    return text if len(text) <= 200 else text[:197] + "..."
