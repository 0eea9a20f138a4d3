"""The built-in services as validated records: specs, blueprints, seeds, reactions, world contract.

Owns where the catalog's files lie and nothing of their content. Invariant: a name is loaded once,
and every caller gets the same frozen record, so that worlds built from it can share what they
compile.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

from pydantic import TypeAdapter

from components.errors import SpecError
from components.records.blueprint import Blueprint, SeedData
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec
from components.records.world import Reaction, WorldContract

_CATALOG = resources.files("components.environment.catalog")
_REACTIONS = TypeAdapter(FrozenDict[str, Reaction])


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedService:
    """One built-in service: what is promised, how it works, and what it starts with."""

    spec: ServiceSpec
    blueprint: Blueprint
    seed: SeedData


@cache
def builtin_services() -> tuple[str, ...]:
    """Return the names of the built-in services, sorted."""
    return tuple(
        sorted(place.name for place in _CATALOG.iterdir() if place.joinpath("spec.json").is_file())
    )


@cache
def load_service(name: str) -> LoadedService:
    """Load one built-in service.

    Raises:
        SpecError: there is no built-in service of this name.
    """
    if name not in builtin_services():
        known = ", ".join(builtin_services())
        raise SpecError(f"no built-in service {name!r}; the built-in services are {known}")
    folder = _CATALOG.joinpath(name)
    return LoadedService(
        spec=ServiceSpec.model_validate_json(folder.joinpath("spec.json").read_bytes()),
        blueprint=Blueprint.model_validate_json(folder.joinpath("blueprint.json").read_bytes()),
        seed=SeedData.model_validate_json(folder.joinpath("seed.json").read_bytes()),
    )


@cache
def load_contract() -> WorldContract:
    """Load what is promised of worlds of built-in services: their invariants and reactions."""
    return WorldContract.model_validate_json(_CATALOG.joinpath("contract.json").read_bytes())


@cache
def load_reactions() -> FrozenDict[str, Reaction]:
    """Load the environment's own reactions: the contract's, in a copy that can be patched."""
    return _REACTIONS.validate_json(_CATALOG.joinpath("reactions.json").read_bytes())
