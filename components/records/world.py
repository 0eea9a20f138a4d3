"""Worlds.

Which services, what starts in them, how they react to each other, and what is promised of them.
"""

from __future__ import annotations

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict, JsonObject
from components.records.policy import PolicyRule
from components.records.spec import Expr


class Trigger(Record):
    """The event that starts a reaction: a row of one table was created, updated or deleted."""

    service: str
    table: str
    event: str = Field(pattern="^(create|update|delete)$")
    when: Expr = True
    """Over `$before`, `$after` (rows, null where absent) and `$now`."""


class ReactionWrite(Record):
    """One write of a reaction, in the same call."""

    service: str
    table: str
    action: str = Field(pattern="^(create|update|delete)$")
    where: Expr = None
    """update and delete: selects rows over `$item`, `$before`, `$after`."""
    fields: FrozenDict[str, Expr] = FrozenDict()
    """New values over `$item`, `$before`, `$after`, `$now`; `{"row": ...}` may read any service."""


class Reaction(Record):
    """A rule of a world: an event in one service writes in another."""

    text: str
    """The rule as a sentence."""
    on: Trigger
    writes: FrozenDict[str, ReactionWrite]


class Invariant(Record):
    """A promise about rows: a sentence and its checkable form."""

    text: str
    service: str
    table: str
    holds: Expr
    """Over `$item` and rows of any service; true for every row."""


class WorldContract(Record):
    """What is promised of a world. Nobody owns it: no patch and no fault may touch it."""

    schema_version: int = Field(default=1, ge=1, le=1)
    invariants: FrozenDict[str, Invariant] = FrozenDict()
    reactions: FrozenDict[str, Reaction] = FrozenDict()
    """The reactions as promised; the environment's own are compared with these."""
    rules: FrozenDict[str, PolicyRule] = FrozenDict()
    """What a policy must not do in worlds with these services. Only tasks that tell their rules are
    played under them."""


class WorldSpec(Record):
    """The world of one task."""

    services: tuple[str, ...]
    """The K services that the task needs, sorted."""
    distractors: tuple[str, ...] = ()
    """Further services that are there and not needed, sorted."""
    now: str
    """The world's clock, `YYYY-MM-DDTHH:MM:SSZ`."""
    overrides: FrozenDict[str, JsonObject | None] = FrozenDict()
    """Rows that the task changes at the start, by `service/table/id`; None removes the row."""
