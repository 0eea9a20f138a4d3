"""How much is audited, how many repairs are tried, and which faults are planted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from attribution.patchers.model.config import PatcherConfig
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
    max_patches: int | None = Field(ge=1)
    """Candidate patches tried in a round, at most; null: as many as there are. A number and not a
    time, so that a round comes out the same on any machine."""
    patcher: PatcherConfig
    """Who is asked where no rule mends a failure mode: nobody, or a model."""
    guard_margin: float = Field(gt=0, lt=1)
    """Fall of the pass rate, from 0 to 1, that the pairs before and after a patch must rule out."""
    guard_alpha: float = Field(gt=0, lt=1)
    """Chance that the guard takes a harmless patch of a round back, over all of them."""


class NoFaults(Config):
    """`faults=none`: the system as it is."""

    kind: Literal["none"]
    """No fault is planted."""


class DemoFaults(Config):
    """`faults=demo`: known defects are planted in round 0, so that a first run has something to
    find."""

    kind: Literal["demo"]
    """Two faults a component; the part that finds and repairs them never sees which."""


class ManyFaults(Config):
    """`faults=many`: faults of all built-in kinds are planted in round 0, each live by itself."""

    kind: Literal["many"]
    """Three in ten in the environment, the tasks and the evaluator each, one in the harness."""
    count: int = Field(ge=1)
    """Faults, where the tasks give room for so many."""


FaultsConfig = Annotated[NoFaults | DemoFaults | ManyFaults, Field(discriminator="kind")]
"""Keys under `faults`."""


class BuiltinFaults(Config):
    """`faults=builtin`: the kinds of fault that come with the program."""

    kind: Literal["builtin"]
    """Instances of each are planted where outcomes show them."""


class WrittenFaults(Config):
    """`faults=my_faults.jsonl`: faults that somebody wrote."""

    kind: Literal["file"]
    """Each is planted as it is written."""
    path: str = Field(min_length=1)
    """JSONL, one fault a line; docs/faults.md has the form."""


BenchFaultsConfig = Annotated[BuiltinFaults | WrittenFaults, Field(discriminator="kind")]
"""Keys under `faults` of `bench attribution`."""
