"""What is known of how a compiled service and the real server that it stands for agree.

Verdicts are data, by tool, so that other stages can mark tools with them.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict, JsonObject


class Example(Record):
    """One disagreement, small enough to read."""

    sequence: int
    """Number of the sequence, from 1."""
    call: int
    """Number of the call in it, from 1."""
    tool: str
    arguments: JsonObject
    problem: str
    """What differs, in one line."""
    real: str
    """What the real server answered, cut off."""
    compiled: str
    """What the compiled service answered, cut off."""


class Count(Record):
    """How often the two sides agree in one respect."""

    agreed: int = Field(ge=0)
    of: int = Field(ge=0)
    """0: it never applied."""
    example: Example | None = None
    """Smallest disagreement; None where there is none."""


class Verdict(StrEnum):
    """What the comparison says of one tool."""

    FAITHFUL = "faithful"
    """The sides agree wherever they were compared, and both have succeeded."""
    UNFAITHFUL = "unfaithful"
    """They disagree in at least one respect."""
    UNVERIFIED = "unverified"
    """Not offered, never called, or never with success: nothing is known."""


class ToolFidelity(Record):
    """One tool of a server beside its compiled one."""

    verdict: Verdict
    why: str
    """Which counts failed, or why nothing is known; empty where it is faithful."""
    errors: Count
    """Calls: both succeed or both fail, and for the same kind of reason where the real one says."""
    shape: Count
    """Calls that succeed on both sides: what the real answer holds, the compiled one holds."""
    writes: Count
    """Written values and reads after them: seen on both sides or on neither. Counted for the tool
    that wrote and for the one that read."""
    differs_only_in_prose: bool = False
    """True where all that differs is the shape, and only since the real one answers in prose."""


class ServiceFidelity(Record):
    """One server beside its compiled service."""

    service: str
    tools: FrozenDict[str, ToolFidelity]
    num_sequences: int = Field(ge=0)
    num_calls: int = Field(ge=0)
    """Calls that were compared."""
    remarks: tuple[str, ...] = ()
    """Where a sequence was not compared to its end, and why."""


class FidelityReport(Record):
    """All servers of one measurement."""

    schema_version: int = Field(default=1, ge=1, le=1)
    seed: int
    """Of the sequences that were generated."""
    services: FrozenDict[str, ServiceFidelity]
    """By the server's name in the file; made of the specification alone."""
    taught: FrozenDict[str, ServiceFidelity] = FrozenDict()
    """The same for services that recordings have taught; empty where nothing was to be learned."""
    failed: FrozenDict[str, str] = FrozenDict()
    """Servers that could not be listed, and why."""
