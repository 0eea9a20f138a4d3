"""The code form of a service: Python files for the sandbox, and the shape that they were admitted
with.

Data like any artifact: loaded without executing anything, known by its content hash. The files run
only inside the walls of `components.environment.sandbox`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from components.records.base import Record
from components.records.blueprint import Blueprint
from components.records.frozen import FrozenDict

ENTRY = "service.py"
"""The file that is executed; it may import the others by name."""


class CodeService(Record):
    """A service whose tools are Python functions."""

    schema_version: int = Field(default=1, ge=1, le=1)
    service: str
    sources: FrozenDict[str, str]
    """Text of each file by name, `service.py` among them."""
    walls: Literal["bubblewrap", "unsafe"] = "bubblewrap"
    """What stands around the files wherever they run."""
    deadline_seconds: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """Wall-clock time that one call has."""
    shape: Blueprint
    """Entities, by which the engine judges every row; per tool its class, operation, difficulty and
    the lookups that gates draw arguments from. It has no effects: those are the code's. Simulated
    tools alone are answered from here.
    """
