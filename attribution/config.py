"""How much is audited, how many repairs are tried, and which faults are planted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from components.records.config import Config


class AttributionConfig(Config):
    """Keys under `attribution`."""

    audit_share: float = Field(ge=0, le=1)
    """Share of the successes that are audited for false passes, from 0 to 1."""
    patches_per_mode: int = Field(ge=1)
    """Candidate patches tried for each failure mode."""
    accept: Literal["auto", "review"]
    """What becomes of a patch that passes every gate. auto: it is kept; review: it waits for the
    verb accept or reject, and the round goes on without it."""


class NoFaults(Config):
    """`faults=none`: the system as it is."""

    kind: Literal["none"]
    """No fault is planted."""


class DemoFaults(Config):
    """`faults=demo`: known defects are planted in round 0, so that a first run has something to
    find."""

    kind: Literal["demo"]
    """Two faults a component; the part that finds and repairs them never sees which."""


FaultsConfig = Annotated[NoFaults | DemoFaults, Field(discriminator="kind")]
"""Keys under `faults`."""
