"""The built-in services as validated records: specs, blueprints, seeds, reactions, world contract.

Owns where the catalog's files lie and nothing of their content: a service is one folder, and a
further service is a further folder. Invariant: a name is loaded once,
and every caller gets the same frozen record, so that worlds built from it can share what they
compile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TypeVar

from pydantic import TypeAdapter

from components.errors import SpecError
from components.records.blueprint import Blueprint, SeedData
from components.records.frozen import FrozenDict, JsonValue
from components.records.policy import PolicyRule
from components.records.spec import ServiceSpec
from components.records.world import Reaction, WorldContract

_CATALOG = resources.files("components.environment.catalog")
_REACTIONS = TypeAdapter(FrozenDict[str, Reaction])
_RULES = TypeAdapter(FrozenDict[str, PolicyRule])
_PHRASES = TypeAdapter(FrozenDict[str, FrozenDict[str, JsonValue]])

Part = TypeVar("Part")


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
    """Load what is promised of worlds of built-in services: invariants, reactions, policy rules."""
    parts = [
        WorldContract.model_validate_json(_CATALOG.joinpath(name, "contract.json").read_bytes())
        for name in builtin_services()
    ]
    return WorldContract(
        invariants=_joined(part.invariants for part in parts),
        reactions=_joined(part.reactions for part in parts),
        rules=_joined(
            _RULES.validate_json(_CATALOG.joinpath(name, "rules.json").read_bytes())
            for name in builtin_services()
        ),
    )


@cache
def load_reactions() -> FrozenDict[str, Reaction]:
    """Load the environment's own reactions: the contract's, in a copy that can be patched."""
    return _joined(
        _REACTIONS.validate_json(_CATALOG.joinpath(name, "reactions.json").read_bytes())
        for name in builtin_services()
    )


@cache
def load_phrases(name: str) -> FrozenDict[str, FrozenDict[str, JsonValue]]:
    """Load the words that requests use for a service's tools, rows and fields, by section."""
    return _PHRASES.validate_json(_CATALOG.joinpath(name, "phrases.json").read_bytes())


@cache
def load_longer_phrases(name: str) -> FrozenDict[str, FrozenDict[str, JsonValue]]:
    """Load the words that longer requests use instead, where there are any, by section."""
    return _PHRASES.validate_json(_CATALOG.joinpath(name, "longer.json").read_bytes())


def _joined(parts: Iterable[FrozenDict[str, Part]]) -> FrozenDict[str, Part]:
    """Join what the services' folders say; two of one name would hide each other.

    Raises:
        SpecError: two services use one name.
    """
    found: dict[str, Part] = {}
    for part in parts:
        for name, value in part.items():
            if name in found:
                raise SpecError(f"two services of the catalog name something {name!r}")
            found[name] = value
    return FrozenDict(sorted(found.items()))
