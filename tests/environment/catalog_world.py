"""The built-in services as one world, and names for its rows, for the tests of the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import immutables

from components.environment.catalog_loader import (
    builtin_services,
    load_contract,
    load_reactions,
    load_service,
)
from components.environment.engine import Outcome, execute
from components.environment.expressions import Scope, Vocabulary, compile_expression
from components.environment.reactions import WorldTables
from components.environment.state import WorldState, rows_of
from components.environment.world import (
    World,
    active_reactions,
    build_service_world,
    world_vocabulary,
)

NOW = "2026-03-02T09:00:00Z"


@cache
def catalog_world() -> World:
    """Return the world of all built-in services with all their reactions."""
    alone = {}
    for name in builtin_services():
        loaded = load_service(name)
        alone[name] = build_service_world(loaded.spec, loaded.blueprint, loaded.seed, NOW)
    services = {name: world.services[name] for name, world in alone.items()}
    tables = {name: world.initial.services[name] for name, world in alone.items()}
    reactions = active_reactions(services, load_reactions())
    return World(services, reactions, WorldState(immutables.Map(tables), NOW))


def call(state: WorldState, tool: str, arguments: dict[str, Any]) -> Outcome:
    """Execute `service.tool` on a state of the catalog's world."""
    service, _, name = tool.partition(".")
    return execute(catalog_world(), state, service, name, arguments)


def done(state: WorldState, tool: str, arguments: dict[str, Any]) -> Outcome:
    """Execute a call that must succeed."""
    outcome = call(state, tool, arguments)
    assert outcome.envelope["ok"], (tool, outcome.envelope)
    return outcome


def row_id(service: str, table: str, field: str, value: str) -> str:
    """Return the id of the one seed row whose field has this value."""
    rows = rows_of(catalog_world().initial, service, table)
    found = [key for key, row in rows.items() if row[field] == value]
    assert len(found) == 1, (service, table, value, found)
    return found[0]


def person(name: str) -> str:
    """Return an employee's id."""
    return row_id("directory", "employee", "name", name)


def address(name: str) -> str:
    """Return an employee's e-mail address."""
    return name.lower().replace(" ", ".") + "@harborline.example"


def team(name: str) -> str:
    """Return a team's id."""
    return row_id("directory", "team", "name", name)


def queue(name: str) -> str:
    """Return the id of a team's queue."""
    return row_id("helpdesk", "queue", "name", f"{name} queue")


def ticket(subject: str) -> str:
    """Return a ticket's id."""
    return row_id("helpdesk", "ticket", "subject", subject)


def thread(subject: str) -> str:
    """Return a thread's id."""
    return row_id("mail", "thread", "subject", subject)


def message(subject: str) -> str:
    """Return a message's id."""
    return row_id("mail", "message", "subject", subject)


@cache
def _invariants() -> dict[str, Any]:
    vocabulary: Vocabulary = world_vocabulary(catalog_world().services).with_names("item")
    return {
        name: compile_expression(invariant.holds, vocabulary)
        for name, invariant in load_contract().invariants.items()
    }


def broken_invariants(state: WorldState) -> Iterator[str]:
    """Yield `name: row` for each row that breaks an invariant of the contract."""
    for name, invariant in sorted(load_contract().invariants.items()):
        for key, row in rows_of(state, invariant.service, invariant.table).items():
            if not _invariants()[name](Scope({"item": row}, WorldTables(state), state.now)):
                yield f"{name}: {key}"
