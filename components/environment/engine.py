"""The engine: the one place where a call's changes are validated and applied.

A call either answers and applies all of its changes, reactions included, or answers with an error
and applies nothing. The same changes feed diff, hash and journal. No clock, no randomness: same
state and call, same bytes. Whatever a blueprint does wrong is an `internal` answer; whatever a
caller sends is an `invalid_arguments` one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from components.environment.effects import Asked, Refusal
from components.environment.expressions import ExpressionError
from components.environment.reactions import event_of
from components.environment.service import CompiledService, CompiledTool
from components.environment.state import WorldState, row_change, state_hash
from components.environment.values import settle, valid_text
from components.environment.world import World, make_row
from components.records.base import assembled
from components.records.calls import CallRecord, ErrorCode, RowChange
from components.records.frozen import FrozenDict, JsonObject

MAX_REACTION_DEPTH = 8
"""A chain of reactions longer than this is a fault of the environment."""
MAX_ARGUMENT_BYTES = 1 << 18
"""Size of one call's arguments as JSON."""
MAX_ANSWER_BYTES = 1 << 22
"""Size of one answer as JSON; whoever asks for more must narrow the query."""
NOT_JSON = "@not_json"
"""Stands in a record for arguments that no JSON can hold; replayed, it gets the same answer."""
_SERVICE_FAULT = "the service broke its own rules; nothing was changed"
_FAULTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What a wrong blueprint can make Python raise; ExpressionError and ValidationError among them."""


@dataclass(slots=True)
class Outcome:
    """What one call did. Not frozen only because a frozen dataclass costs as much as a read."""

    state: WorldState
    """State after the call; the very same object as before when nothing changed."""
    envelope: JsonObject
    changes: tuple[RowChange, ...]
    """Own effects first, then reactions, each with its cause."""
    arguments: JsonObject
    """The arguments as they were understood, without defaults."""
    body: bytes
    """The envelope as JSON with sorted keys."""


def execute(
    world: World, state: WorldState, service: str, tool: str, arguments: Mapping[str, Any]
) -> Outcome:
    """Execute one call on a state value.

    Args:
        world: services and reactions.
        state: state before the call.
        service: name of the service.
        tool: name of the tool within the service.
        arguments: anything; what is no JSON object is answered with `invalid_arguments`.
    """
    known = understood(arguments)
    compiled = world.services.get(service)
    found = None if compiled is None else compiled.tools.get(tool)
    if compiled is None or found is None:
        return _refuse(state, known, Refusal(ErrorCode.UNKNOWN_TOOL, f"no tool {service}.{tool}"))
    changes: list[RowChange] = []
    try:
        if NOT_JSON in known or not found.validator.is_valid(known):
            raise _argument_problem(found, known)
        whole = FrozenDict({**found.defaults, **known}) if found.defaults else known
        answer = found.run(state.services[service], state.now, whole)
        after = state
        if answer.asked:
            after = _apply_all(world, compiled, state, answer.asked.values(), changes)
        envelope = FrozenDict({"ok": True, "data": answer.data})
        body = orjson.dumps(envelope, option=orjson.OPT_SORT_KEYS)
        if len(body) > MAX_ANSWER_BYTES:
            raise Refusal(ErrorCode.UNSUPPORTED, f"the answer has {len(body)} bytes; ask for less")
    except Refusal as refusal:
        return _refuse(state, known, refusal)
    except _FAULTS as error:
        details = {"kind": type(error).__name__, "problem": _first_line(error)}
        return _refuse(state, known, Refusal(ErrorCode.INTERNAL, _SERVICE_FAULT, **details))
    return Outcome(after, envelope, tuple(changes), known, body)


def call_recorded(
    world: World, state: WorldState, service: str, tool: str, arguments: Mapping[str, Any]
) -> tuple[WorldState, CallRecord]:
    """Execute one call and return the new state with the whole record of it."""
    outcome = execute(world, state, service, tool, arguments)
    return outcome.state, record_of(state, service, tool, outcome)


def record_of(state: WorldState, service: str, tool: str, outcome: Outcome) -> CallRecord:
    """Return the record of a call that was executed on `state`."""
    before = state_hash(state)
    return assembled(
        CallRecord,
        {
            "service": valid_text(service),
            "tool": valid_text(tool),
            "arguments": outcome.arguments,
            "envelope": outcome.envelope,
            "changes": outcome.changes,
            "state_before": before,
            "state_after": before if outcome.state is state else state_hash(outcome.state),
        },
    )


def replay(
    world: World, state: WorldState, calls: Iterable[CallRecord]
) -> tuple[WorldState, tuple[CallRecord, ...]]:
    """Execute recorded calls again, in order, and return the final state and the new records."""
    records = []
    for call in calls:
        state, record = call_recorded(world, state, call.service, call.tool, call.arguments)
        records.append(record)
    return state, tuple(records)


def understood(arguments: Any) -> JsonObject:
    """Return arguments as executed and recorded: in the one form, or a stand-in saying why not."""
    try:
        if not isinstance(arguments, (dict, Mapping)):
            raise ValueError("they are no object")
        known: JsonObject = settle(arguments)
        size = len(orjson.dumps(known))
        if size > MAX_ARGUMENT_BYTES:
            raise ValueError(f"they have {size} bytes, at most {MAX_ARGUMENT_BYTES} are taken")
    except ValueError as error:
        problem = error.reason if isinstance(error, UnicodeEncodeError) else str(error)
        return FrozenDict({NOT_JSON: problem})
    return known


def _argument_problem(tool: CompiledTool, arguments: JsonObject) -> Refusal:
    code = ErrorCode.INVALID_ARGUMENTS
    if NOT_JSON in arguments:
        return Refusal(code, f"the arguments cannot be taken: {arguments[NOT_JSON]}")
    first = next(iter(tool.validator.iter_errors(arguments)))
    path = "/" + "/".join(str(part) for part in first.instance_path)
    return Refusal(code, f"{path if path != '/' else 'arguments'}: {first.message}", path=path)


def _apply_all(
    world: World,
    service: CompiledService,
    state: WorldState,
    asked: Iterable[Asked],
    changes: list[RowChange],
) -> WorldState:
    """Apply a tool's own changes, then every reaction to them, breadth first."""
    for item in asked:
        state = _apply(service, state, item, changes)
    if not world.listeners:
        return state
    done, depth = 0, 0
    while done < len(changes):
        wave = changes[done:]
        done, depth = len(changes), depth + 1
        for change in wave:
            place = (change.service, change.table, event_of(change))
            for reaction in world.listeners.get(place, ()):
                if not reaction.matches(change, state):
                    continue
                if depth > MAX_REACTION_DEPTH:
                    raise ExpressionError(f"reactions went on for over {MAX_REACTION_DEPTH} steps")
                for name, item in reaction.writes(change, state):
                    state = _apply(world.services[name], state, item, changes)
    return state


def _apply(
    service: CompiledService, state: WorldState, asked: Asked, changes: list[RowChange]
) -> WorldState:
    name, table_name, row_id = service.spec.service, asked.table, asked.row_id
    table = state.services[name][table_name]
    old = table.get(row_id)
    before = None if old is None else old.values
    if asked.values is None:
        if old is None:
            return state
        after, values = table.remove(row_id), None
    else:
        if asked.values.get(service.keys[table_name]) != row_id:
            raise ExpressionError(f"{table_name}/{row_id}: a change may not touch the key")
        if asked.is_new and old is not None:
            raise ExpressionError(f"{table_name}/{row_id} exists already")
        row = make_row(service, table_name, row_id, asked.values)
        if old is not None and old.digest == row.digest:
            return state
        after, values = table.put(row_id, row), row.values
    changes.append(row_change(name, table_name, row_id, before, values, asked.cause))
    return state.with_table(name, table_name, after)


def _refuse(state: WorldState, arguments: JsonObject, refusal: Refusal) -> Outcome:
    error = {
        "code": refusal.code.value,
        "message": _short(refusal.message),
        "details": settle(refusal.details),
    }
    envelope = FrozenDict({"ok": False, "error": FrozenDict(error)})
    body = orjson.dumps(envelope, option=orjson.OPT_SORT_KEYS)
    return Outcome(state, envelope, (), arguments, body)


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        place = "/".join(str(part) for part in first["loc"])
        return _short(f"{error.title}/{place}: {first['msg']}")
    return _short(str(error).partition("\n")[0] or type(error).__name__)


def _short(text: str) -> str:
    """Keep a message readable, whatever a caller put in it, and valid as JSON text."""
    text = valid_text(text)
    return text if len(text) <= 500 else text[:497] + "..."
