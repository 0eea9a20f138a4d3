"""Reactions compiled: an event in one service writes in another, in the same call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from components.environment.effects import Asked, compile_new_row
from components.environment.expressions import (
    Compiled,
    ExpressionError,
    Scope,
    Vocabulary,
    compile_expression,
    tables_named,
)
from components.environment.identity import Same
from components.environment.service import CompiledService
from components.environment.state import Table, WorldState
from components.records.base import to_json
from components.records.blueprint import EntityBlueprint
from components.records.calls import RowChange
from components.records.frozen import FrozenDict, JsonObject
from components.records.world import Reaction, ReactionWrite

Write = tuple[str, Asked]
"""Service, and the change that is asked of it."""


@dataclass(frozen=True, slots=True)
class CompiledReaction:
    """One reaction, ready to run."""

    reaction: Reaction
    matches: Callable[[RowChange, WorldState], bool]
    """Whether a change, of any table and kind, starts it."""
    writes: Callable[[RowChange, WorldState], list[Write]]


class WorldTables(Mapping[str, Table]):
    """The tables of a world by `service.table`, read through without copying."""

    def __init__(self, state: WorldState) -> None:
        """Args: state: the state to read."""
        self._state = state

    def __getitem__(self, name: str) -> Table:
        service, _, table = name.partition(".")
        return self._state.services[service][table]

    def __iter__(self) -> Iterator[str]:
        for service, tables in sorted(self._state.services.items()):
            yield from (f"{service}.{table}" for table in sorted(tables))

    def __len__(self) -> int:
        return sum(len(tables) for tables in self._state.services.values())


def services_named(reaction: Reaction) -> frozenset[str]:
    """Return every service that the reaction listens to, writes to or reads."""
    return _services_named(Same(reaction))


@lru_cache(maxsize=4096)
def _services_named(reaction: Same[Reaction]) -> frozenset[str]:
    told = reaction.value
    read = {table.partition(".")[0] for table in tables_named(to_json(told))}
    return frozenset({told.on.service, *(item.service for item in told.writes.values()), *read})


def compile_reaction(
    name: str,
    reaction: Reaction,
    services: Mapping[str, CompiledService],
    vocabulary: Vocabulary,
) -> CompiledReaction:
    """Compile one reaction whose services are all present.

    Raises:
        ExpressionError: a table, field or expression is wrong.
    """
    on = reaction.on
    if on.table not in services[on.service].models:
        raise ExpressionError(f"no table {on.service}.{on.table}")
    inner = vocabulary.with_names("before", "after")
    when = compile_expression(on.when, inner)
    writers = [
        _compile_write(name, label, write, services, inner)
        for label, write in sorted(reaction.writes.items())
    ]

    def scope_of(change: RowChange, state: WorldState) -> Scope:
        names: dict[str, Any] = {"before": change.before, "after": change.after}
        return Scope(names, WorldTables(state), state.now)

    def matches(change: RowChange, state: WorldState) -> bool:
        if (change.service, change.table, event_of(change)) != (on.service, on.table, on.event):
            return False
        return bool(when(scope_of(change, state)))

    def writes(change: RowChange, state: WorldState) -> list[Write]:
        scope = scope_of(change, state)
        return [write for writer in writers for write in writer(scope)]

    return CompiledReaction(reaction, matches, writes)


def event_of(change: RowChange) -> str:
    """Return `create`, `update` or `delete`."""
    if change.before is None:
        return "create"
    return "delete" if change.after is None else "update"


def _compile_write(
    name: str,
    label: str,
    write: ReactionWrite,
    services: Mapping[str, CompiledService],
    vocabulary: Vocabulary,
) -> Callable[[Scope], list[Write]]:
    entity = services[write.service].blueprint.entities.get(write.table)
    if entity is None:
        raise ExpressionError(f"write {label!r}: no table {write.service}.{write.table}")
    unknown = sorted(set(write.fields) - set(entity.fields))
    if unknown:
        raise ExpressionError(f"write {label!r}: {write.table} has no field {unknown[0]!r}")
    qualified = f"{write.service}.{write.table}"
    cause = f"reaction:{name}"
    is_create = write.action == "create"
    inner = vocabulary if is_create else vocabulary.with_names("item")
    fields = {
        field: compile_expression(value, inner) for field, value in sorted(write.fields.items())
    }
    if is_create:
        return _creator(write, entity, fields, inner, qualified, cause)
    if write.where is None:
        raise ExpressionError(f"write {label!r}: {write.action} needs `where`")
    select: Compiled = compile_expression(
        {"@rows": {"table": qualified, "where": write.where}}, vocabulary
    )

    def change(scope: Scope) -> list[Write]:
        made: list[Write] = []
        for row in select(scope):
            row_id = row[entity.key]
            values: JsonObject | None = None
            if write.action == "update":
                scope.names["item"] = row
                new = {field: value(scope) for field, value in fields.items()}
                values = FrozenDict({**row, **new})
            made.append((write.service, Asked(write.table, row_id, values, cause)))
        return made

    return change


def _creator(
    write: ReactionWrite,
    entity: EntityBlueprint,
    fields: Mapping[str, Compiled],
    vocabulary: Vocabulary,
    qualified: str,
    cause: str,
) -> Callable[[Scope], list[Write]]:
    build = compile_new_row(entity, fields, vocabulary)
    guard = compile_expression(True if write.where is None else write.where, vocabulary)

    def create(scope: Scope) -> list[Write]:
        if not guard(scope):
            return []
        row = build(scope, write.table, scope.tables[qualified].rows)
        return [(write.service, Asked(write.table, row[entity.key], row, cause, is_new=True))]

    return create
