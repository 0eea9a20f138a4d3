"""The engine: the one place where a call's changes are validated and applied.

A call either answers and applies all of its changes, reactions included, or answers with an error and applies
nothing. The same changes feed diff, hash and journal. No clock, no randomness: same state and call, same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from components.environment.expressions import ExpressionError
from components.environment.service import Asked, CompiledService, CompiledTool, Refusal
from components.environment.state import WorldState, state_hash
from components.environment.world import World, make_row
from components.records.calls import CallRecord, ErrorCode, RowChange
from components.records.frozen import FrozenDict, JsonObject, freeze

MAX_REACTION_DEPTH = 8
"""A chain of reactions longer than this is a fault of the environment."""
_SERVICE_FAULT = "the service broke its own rules; nothing was changed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call did."""

    state: WorldState
    """State after the call; the very same object as before when nothing changed."""
    envelope: JsonObject
    changes: tuple[RowChange, ...]
    """Own effects first, then reactions, each with its cause."""


def execute(
    world: World, state: WorldState, service: str, tool: str, arguments: Mapping[str, Any]
) -> Outcome:
    """Execute one call on a state value.

    Args:
        world: services and reactions.
        state: state before the call.
        service: name of the service.
        tool: name of the tool within the service.
        arguments: the arguments as JSON values, not yet validated.
    """
    compiled = world.services.get(service)
    found = None if compiled is None else compiled.tools.get(tool)
    if compiled is None or found is None:
        return _error(state, ErrorCode.UNKNOWN_TOOL, f"no tool {service}.{tool}", {})
    problem = _argument_problem(found, arguments)
    if problem is not None:
        return _error(state, ErrorCode.INVALID_ARGUMENTS, *problem)
    known = freeze({**found.defaults, **arguments})
    try:
        answer = found.run(state.services[service], state.now, known)
        changes: list[RowChange] = []
        after = _apply_all(world, compiled, state, answer.asked, changes)
    except Refusal as refusal:
        return _error(state, refusal.code, refusal.message, refusal.details)
    except (ExpressionError, ValidationError, RecursionError) as error:
        detail = {"kind": type(error).__name__, "problem": _first_line(error)}
        return _error(state, ErrorCode.INTERNAL, _SERVICE_FAULT, detail)
    return Outcome(after, FrozenDict({"ok": True, "data": answer.data}), tuple(changes))


def call_recorded(
    world: World, state: WorldState, service: str, tool: str, arguments: Mapping[str, Any]
) -> tuple[WorldState, CallRecord]:
    """Execute one call and return the new state with the whole record of it."""
    outcome = execute(world, state, service, tool, arguments)
    before = state_hash(state)
    record = CallRecord(
        service=service,
        tool=tool,
        arguments=FrozenDict(arguments),
        envelope=outcome.envelope,
        changes=outcome.changes,
        state_before=before,
        state_after=before if outcome.state is state else state_hash(outcome.state),
    )
    return outcome.state, record


def replay(
    world: World, state: WorldState, calls: Iterable[CallRecord]
) -> tuple[WorldState, tuple[CallRecord, ...]]:
    """Execute recorded calls again, in order, and return the final state and the new records."""
    records = []
    for call in calls:
        state, record = call_recorded(world, state, call.service, call.tool, call.arguments)
        records.append(record)
    return state, tuple(records)


def _argument_problem(
    tool: CompiledTool, arguments: Mapping[str, Any]
) -> tuple[str, dict[str, Any]] | None:
    try:
        orjson.dumps(arguments)
        if tool.validator.is_valid(arguments):
            return None
        first = next(iter(tool.validator.iter_errors(arguments)))
    except (orjson.JSONEncodeError, ValueError, TypeError) as error:
        return f"the arguments are not JSON: {_first_line(error)}", {}
    path = "/" + "/".join(str(part) for part in first.instance_path)
    return f"{path if path != '/' else 'arguments'}: {first.message}", {"path": path}


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
    done, depth = 0, 0
    while world.reactions and done < len(changes):
        depth += 1
        if depth > MAX_REACTION_DEPTH:
            raise ExpressionError(f"reactions went on for more than {MAX_REACTION_DEPTH} steps")
        end = len(changes)
        for change in changes[done:end]:
            for reaction in world.reactions.values():
                if reaction.matches(change, state):
                    for name, item in reaction.writes(change, state):
                        state = _apply(world.services[name], state, item, changes)
        done = end
    return state


def _apply(
    service: CompiledService, state: WorldState, asked: Asked, changes: list[RowChange]
) -> WorldState:
    name, entity = service.spec.service, service.blueprint.entities[asked.table]
    table = state.services[name][asked.table]
    old = table.get(asked.row_id)
    if asked.values is None:
        if old is None:
            return state
        after, values = table.remove(asked.row_id), None
    else:
        if asked.values.get(entity.key) != asked.row_id:
            raise ExpressionError(f"{asked.table}/{asked.row_id}: a change may not touch the key")
        if asked.is_new and old is not None:
            raise ExpressionError(f"{asked.table}/{asked.row_id} exists already")
        row = make_row(service, asked.table, asked.row_id, asked.values)
        if old is not None and old.digest == row.digest:
            return state
        after, values = table.put(asked.row_id, row), row.values
    changes.append(
        RowChange.model_construct(
            service=name,
            table=asked.table,
            row_id=asked.row_id,
            before=None if old is None else old.values,
            after=values,
            cause=asked.cause,
        )
    )
    return state.with_table(name, asked.table, after)


def _error(state: WorldState, code: ErrorCode, message: str, details: Mapping[str, Any]) -> Outcome:
    body = FrozenDict({"code": code.value, "message": message, "details": freeze(details)})
    return Outcome(state, FrozenDict({"ok": False, "error": body}), ())


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
