"""A proposed change to one component.

JSON Patch (RFC 6902) on one artifact, bound to the hash of its base.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from components.records.base import Record
from components.records.frozen import JsonValue


class Component(StrEnum):
    """The four components that own artifacts."""

    ENVIRONMENT = "environment"
    TASK = "task"
    HARNESS = "harness"
    EVALUATOR = "evaluator"


class PatchOperation(Record):
    """One operation of RFC 6902."""

    op: Literal["test", "add", "replace", "remove"]
    path: str
    """JSON Pointer into the artifact."""
    value: JsonValue = None


class Patch(Record):
    """A change to one artifact of one component. A planted fault has the same form."""

    schema_version: int = Field(default=1, ge=1, le=1)
    patch_id: str
    component: Component
    artifact: str
    """Artifact name, such as `blueprint/helpdesk` or `task/t_3f9a`."""
    base_hash: str
    """Content hash of the artifact that this applies to."""
    operations: tuple[PatchOperation, ...]
    """Begins with `test` operations."""
    reason: str
    """What it mends (or breaks), in one sentence."""
    place: str = ""
    """Where the defect is, as a verdict names it."""
