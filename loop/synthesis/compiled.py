"""One spec made into a service: read, compiled, seeded, gated. The unit of synthesis."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

import components.environment
from components.environment.reading.records import ToolReading
from components.environment.synthesis import make_service
from components.records.base import Record, to_json
from components.records.blueprint import Blueprint, SeedData
from components.records.frozen import FrozenDict, content_hash
from components.records.spec import ServiceSpec
from loop.compute.jobs import Job, Work


class CompiledSpec(Record):
    """What a spec came to."""

    schema_version: int = Field(default=1, ge=1, le=1)
    spec: ServiceSpec
    """Without what recordings taught to no good."""
    readings: FrozenDict[str, ToolReading]
    """Tool -> what it was taken for."""
    blueprint: Blueprint
    """After the gates: tools that failed one are quarantined."""
    seed: SeedData
    why: FrozenDict[str, str]
    """Tool -> the rule that decided, or why it is quarantined."""
    admitted: bool
    reason: str
    """Why the service is not admitted; empty when it is."""
    gate_tests: int = Field(ge=0)
    """Calls that the gates made."""


class NoShared(Record):
    """Specs share nothing."""


def compile_one(spec: ServiceSpec) -> CompiledSpec:
    """Read, compile, seed and gate one spec."""
    made = make_service(spec)
    admission = made.admission
    told = dict(made.why)
    for name, item in admission.blueprint.quarantined.items():
        told[name] = f"quarantined ({item.reason.value}): {item.detail}"
    return CompiledSpec(
        spec=made.spec,
        readings=made.readings,
        blueprint=admission.blueprint,
        seed=made.seed,
        why=FrozenDict(told),
        admitted=admission.admitted,
        reason=admission.reason,
        gate_tests=made.tests_run,
    )


@cache
def compiler_version() -> str:
    """Return the hash of everything that a spec's compilation depends on besides the spec."""
    folder = Path(components.environment.__path__[0])
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".j2", ".json", ".npz") and "catalog" not in path.parts:
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def compilation_key(spec: ServiceSpec) -> str:
    """Return the name of a spec's compilation: the same spec and compiler, the same result."""
    return content_hash([compiler_version(), to_json(spec)])


@asynccontextmanager
async def _open(_shared: NoShared) -> AsyncIterator[Callable[[ServiceSpec], Work]]:
    async def compile_unit(spec: ServiceSpec) -> dict[str, Any]:
        return to_json(compile_one(spec))

    yield compile_unit


COMPILE = Job(name="compile", shared=NoShared, unit=ServiceSpec, open=_open)
