"""What the ledger writes down: a system's version, a finished stage, a round's manifest, a changed
key."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict, JsonValue


class SystemVersion(Record):
    """Which artifacts a system is made of; the artifacts themselves lie in the store."""

    schema_version: int = Field(default=1, ge=1, le=1)
    components: FrozenDict[str, FrozenDict[str, str]]
    """Component -> artifact name -> content hash."""
    reference: FrozenDict[str, str]
    """Artifact name -> content hash, of what nobody owns."""
    versions: FrozenDict[str, str]
    """Component -> one version for all its artifacts, as trajectories name it."""


class StageRecord(Record):
    """One finished stage."""

    name: str
    system_in: str | None
    """Hash of the `SystemVersion` before the stage; None before the first system is made."""
    system_out: str | None
    """Hash of the `SystemVersion` after the stage."""
    versions_in: FrozenDict[str, str]
    """Component -> version before the stage."""
    versions_out: FrozenDict[str, str]
    """Component -> version after the stage."""
    result: str
    """Hash of the stage's result in the store."""


class Change(Record):
    """One configuration key that differs."""

    key: str
    old: JsonValue
    new: JsonValue


class Manifest(Record):
    """What a round has done so far."""

    schema_version: int = Field(default=1, ge=1, le=1)
    round: int = Field(ge=0)
    parent: str | None
    """Hash of the manifest of the round before; None for round 0."""
    seed: int
    config: str
    """Hash of the configuration that the round started with; of what can change results in it."""
    config_changes: tuple[Change, ...] = ()
    """Keys that differ from the round before."""
    system: str | None
    """Hash of the `SystemVersion` that the round starts from; None in round 0."""
    versions: FrozenDict[str, str] = FrozenDict()
    """Component -> version that the round starts from."""
    stages: tuple[StageRecord, ...] = ()
    """Finished stages, in the order in which they ran."""
    status: Literal["running", "finished"] = "running"


def system_after(manifest: Manifest) -> str | None:
    """Return the hash of the `SystemVersion` after the last finished stage; None: none yet."""
    return manifest.stages[-1].system_out if manifest.stages else manifest.system


def versions_after(manifest: Manifest) -> FrozenDict[str, str]:
    """Return the version of each component after the last finished stage."""
    return manifest.stages[-1].versions_out if manifest.stages else manifest.versions
