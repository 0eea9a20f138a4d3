"""Worlds: compiled services, active reactions and an initial state.

Building shares everything that can be shared: services, reactions and seed tables are compiled once
for each artifact, and ten thousand worlds of one kind hold the same initial state.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import immutables
from pydantic import BaseModel

from components.environment.expressions import ExpressionError, Vocabulary
from components.environment.reactions import CompiledReaction, compile_reaction, services_named
from components.environment.sandbox.code_service import compile_code_service
from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls
from components.environment.sandbox.workers import Workers, shared_workers
from components.environment.service import CompiledService, compile_service, table_vocabulary
from components.environment.state import Row, ServiceState, Table, WorldState
from components.environment.values import settle
from components.errors import SynthesisError
from components.records.blueprint import Blueprint, SeedData
from components.records.code import CodeService
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec
from components.records.system import System
from components.records.world import Reaction, WorldSpec

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class World:
    """What one episode runs in. Holds no changing state: see `components.megamcp.session`."""

    services: Mapping[str, CompiledService]
    reactions: Mapping[str, CompiledReaction]
    initial: WorldState
    listeners: Mapping[tuple[str, str, str], tuple[CompiledReaction, ...]] = field(
        init=False, repr=False, compare=False
    )
    """Reactions, by name, of each service, table and event."""

    def __post_init__(self) -> None:
        found: dict[tuple[str, str, str], tuple[CompiledReaction, ...]] = {}
        for _name, compiled in sorted(self.reactions.items()):
            on = compiled.reaction.on
            place = (on.service, on.table, on.event)
            found[place] = (*found.get(place, ()), compiled)
        object.__setattr__(self, "listeners", found)


def build_world(system: System, spec: WorldSpec) -> World:
    """Build the world of one task: services and distractors, overrides, the reactions among them.

    Raises:
        SynthesisError: a service is missing or does not compile, or a row does not fit its entity.
        ComputeError: a service is code, and its walls do not stand here.
    """
    names = sorted({*spec.services, *spec.distractors})
    services, tables = {}, {}
    for name in names:
        environment = system.environment
        if not all(
            name in part
            for part in (environment.blueprints, environment.seeds, system.reference.specs)
        ):
            raise SynthesisError(f"world: no service {name!r}")
        services[name] = service = _compiled(
            system.reference.specs[name], environment.blueprints[name], environment.code.get(name)
        )
        tables[name] = _seeded(service, environment.seeds[name])
    state = WorldState(immutables.Map(tables), spec.now)
    for place, values in sorted(spec.overrides.items()):
        state = _override(services, state, place, values)
    return World(services, active_reactions(services, system.environment.reactions), state)


def build_service_world(
    spec: ServiceSpec,
    blueprint: Blueprint,
    seed: SeedData,
    now: str,
    code: CodeService | None = None,
) -> World:
    """Build a world of one service alone, without reactions.

    Args:
        spec: the tools.
        blueprint: the service, or the shape of its code.
        seed: its rows.
        now: the world's clock.
        code: what answers instead of the blueprint's effects; None: the blueprint does.

    Raises:
        SynthesisError: the blueprint does not fit the spec, or a row its entity.
        ComputeError: the walls of the code do not stand here.
    """
    service = _compiled(spec, blueprint, code)
    state = WorldState(immutables.Map({spec.service: _seeded(service, seed)}), now)
    return World({spec.service: service}, {}, state)


def build_code_world(
    spec: ServiceSpec, code: CodeService, seed: SeedData, now: str, workers: Workers
) -> World:
    """Build a world of one code service alone, which runs in these workers.

    Raises:
        SynthesisError: the shape does not fit the spec, or a row its entity.
    """
    service = compile_code_service(spec, code, workers)
    state = WorldState(immutables.Map({spec.service: _build_tables(service, seed)}), now)
    return World({spec.service: service}, {}, state)


def active_reactions(
    services: Mapping[str, CompiledService], reactions: Mapping[str, Reaction]
) -> dict[str, CompiledReaction]:
    """Compile the reactions whose services are all present; the others are not active here."""
    active = {}
    for name, reaction in sorted(reactions.items()):
        if services_named(reaction) <= set(services):
            try:
                active[name] = _compiled_reaction(name, reaction, services)
            except (ExpressionError, RecursionError) as error:
                raise SynthesisError(f"reaction {name!r}: {error}") from error
    return active


def _compiled_reaction(
    name: str, reaction: Reaction, services: Mapping[str, CompiledService]
) -> CompiledReaction:
    """Compile a reaction once for all worlds that hold the services that it names."""
    named = {key: services[key] for key in sorted(services_named(reaction))}
    return _reactions.get(
        (name, reaction, *named.values()),
        lambda: compile_reaction(name, reaction, named, world_vocabulary(named)),
    )


def world_vocabulary(services: Mapping[str, CompiledService]) -> Vocabulary:
    """Return the vocabulary of expressions that may read any service."""
    tables: dict[str, tuple[str, frozenset[str]]] = {}
    for service in services.values():
        tables.update(table_vocabulary(service.blueprint, qualified=True))
    return Vocabulary((), tables)


def make_row(service: CompiledService, table: str, row_id: str, values: Mapping[str, Any]) -> Row:
    """Validate values against the entity's model and return the row.

    Args:
        values: in the one form of `components.environment.values`.

    Raises:
        ValueError: the values do not fit (pydantic's ValidationError), or the row is too large.
    """
    model: type[BaseModel] = service.models[table]
    # The core validator directly: `model_validate` costs half as much again.
    entity = model.__pydantic_validator__.validate_python(values)
    return Row(FrozenDict(entity.__dict__), service.spec.service, table, row_id)


def _given_row(
    service: CompiledService, table: str, row_id: str, values: Mapping[str, Any], where: str
) -> Row:
    """Make a row that comes from an artifact: a seed or an override."""
    key = service.blueprint.entities[table].key
    try:
        settled = settle(values)
        if settled.get(key) != row_id:
            raise SynthesisError(f"{where}: {table}/{row_id} has another {key}")
        return make_row(service, table, row_id, settled)
    except ValueError as error:
        raise SynthesisError(f"{where}: {table}/{row_id}: {error}") from error


def _override(
    services: Mapping[str, CompiledService],
    state: WorldState,
    place: str,
    values: Mapping[str, Any] | None,
) -> WorldState:
    service, _, rest = place.partition("/")
    table, _, row_id = rest.partition("/")
    if service not in services or table not in services[service].models:
        raise SynthesisError(f"override {place!r}: no such service or table in this world")
    rows = state.table(service, table)
    if values is None:
        return state.with_table(service, table, rows.remove(row_id)) if rows.get(row_id) else state
    row = _given_row(services[service], table, row_id, values, f"override {place!r}")
    return state.with_table(service, table, rows.put(row_id, row))


class _IdentityCache:
    """Results by the identity of frozen inputs, which it holds: no identity is ever reused."""

    def __init__(self, size: int) -> None:
        self._entries: OrderedDict[tuple[int, ...], tuple[tuple[object, ...], Any]] = OrderedDict()
        self._size = size

    def get(self, inputs: tuple[object, ...], make: Callable[[], T]) -> T:
        key = tuple(map(id, inputs))
        if key in self._entries:
            self._entries.move_to_end(key)
            found: T = self._entries[key][1]
            return found
        value = make()
        self._entries[key] = (inputs, value)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)
        return value


_services = _IdentityCache(1024)
_seeds = _IdentityCache(1024)
_reactions = _IdentityCache(8192)


def _compiled(spec: ServiceSpec, blueprint: Blueprint, code: CodeService | None) -> CompiledService:
    if code is None:
        return _services.get((spec, blueprint), lambda: compile_service(spec, blueprint))
    return _services.get((spec, blueprint, code), lambda: _compiled_code(spec, blueprint, code))


def _compiled_code(spec: ServiceSpec, blueprint: Blueprint, code: CodeService) -> CompiledService:
    """Compile code with the shape that it has now: a tool may be in quarantine since."""
    limits = SandboxLimits(deadline_seconds=code.deadline_seconds)
    workers = shared_workers(Walls(code.walls), limits)
    return compile_code_service(spec, code.model_copy(update={"shape": blueprint}), workers)


def _seeded(service: CompiledService, seed: SeedData) -> ServiceState:
    return _seeds.get((service, seed), lambda: _build_tables(service, seed))


def _build_tables(service: CompiledService, seed: SeedData) -> ServiceState:
    unknown = sorted(set(seed.tables) - set(service.models))
    if unknown:
        raise SynthesisError(f"seed of {seed.service}: no table {unknown[0]!r}")
    tables = {}
    for name in sorted(service.models):
        seeded = sorted(seed.tables.get(name, FrozenDict()).items())
        where = f"seed of {seed.service}"
        tables[name] = Table.of(
            {row_id: _given_row(service, name, row_id, values, where) for row_id, values in seeded}
        )
    return immutables.Map(tables)
