"""What a request says beyond its steps, as the author holds it, and which drafts get what.

Owns the shares. A clause is a restraint (a call that must not be made), a condition, a write for
every row of a part of a list, a number over such rows in the answer, or a time that is said
relative to the clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from components.task.filling import Arguments
from components.task.graph import ToolShape
from components.task.known import Known
from components.task.provenance import Path
from components.task.shown import ShownRows

LEAST_LENGTH = 5
"""Shorter walks make plain requests: what a small model begins with."""
_MOST = 2
"""Kinds of clause in one request; a relative date is no burden and comes on top."""


class ClauseKind(StrEnum):
    """Kinds of clause that an author adds."""

    RESTRAINT = "restraint"
    CONDITION = "condition"
    EVERY = "every"
    COUNT = "count"
    DATE = "date"


SHARES: Mapping[ClauseKind, float] = {
    ClauseKind.RESTRAINT: 0.2,
    ClauseKind.CONDITION: 0.3,
    ClauseKind.EVERY: 0.25,
    ClauseKind.COUNT: 0.25,
    ClauseKind.DATE: 0.5,
}
"""How often a draft looks for a clause of each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """A call that must not be made."""

    name: str
    shape: ToolShape
    arguments: Arguments
    fact: Known
    """The value that names the row which it would change."""

    @property
    def pointer(self) -> str:
        """Return the argument that takes the row's name."""
        return next(item.parameter.pointer for item in self.arguments if item.source == self.fact)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditional:
    """A value that decides whether something is done."""

    name: str
    fact: Known
    relation: Literal["is", "above", "below"]
    value: str | int
    holds: bool
    step: str = ""
    """The write of the walk that is done because of it; empty: nothing is."""
    otherwise: Forbidden | None = None
    """What is done in the other case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows of a list that a read of the walk returned: all of them, or a part."""

    step: str
    shown: ShownRows
    key: str
    """Name, in the answer, of the field that names the rows."""
    where: tuple[str, str] | None = None
    """Name of a field in the answer, and its value."""
    by: str = ""
    most: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One write for every row of a part."""

    name: str
    part: Part
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A number over the rows of a part, which the answer has to give."""

    name: str
    """Field of the answer."""
    part: Part
    operation: Literal["count", "sum"]
    field: str
    """What is summed."""
    value: int | float

    @property
    def path(self) -> Path:
        """Return the list's place in the answer of its step."""
        return self.part.shown.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Clauses:
    """All clauses of one walk."""

    restraints: tuple[Forbidden, ...] = ()
    conditions: tuple[Conditional, ...] = ()
    group: Group | None = None
    counted: Counted | None = None
    has_date: bool = False
    """A time of some write is said relative to the clock: the argument has the words."""

    def __bool__(self) -> bool:
        others = self.group or self.counted or self.has_date
        return bool(self.restraints or self.conditions or others)

    @property
    def kinds(self) -> frozenset[ClauseKind]:
        """Return the kinds of clause that there are."""
        found = {
            ClauseKind.RESTRAINT: self.restraints,
            ClauseKind.CONDITION: self.conditions,
            ClauseKind.EVERY: self.group,
            ClauseKind.COUNT: self.counted,
            ClauseKind.DATE: self.has_date,
        }
        return frozenset(kind for kind, item in found.items() if item)

    def of_step(self, name: str) -> Conditional | None:
        """Return the condition under which a step is done."""
        return next((item for item in self.conditions if item.step == name), None)

    def with_calls(
        self,
        arguments: Callable[[Arguments], Arguments],
        fact: Callable[[Known], Known] = lambda fact: fact,
    ) -> Clauses:
        """Return the clauses with the arguments of their calls, and what they look at, changed."""

        def changed(item: Forbidden) -> Forbidden:
            return replace(item, arguments=arguments(item.arguments), fact=fact(item.fact))

        return replace(
            self,
            restraints=tuple(map(changed, self.restraints)),
            conditions=tuple(
                replace(
                    item,
                    fact=fact(item.fact),
                    otherwise=None if item.otherwise is None else changed(item.otherwise),
                )
                for item in self.conditions
            ),
        )

    def forbidden(self) -> tuple[Forbidden, ...]:
        """Return every call that must not be made, the branches not taken among them."""
        others = [item.otherwise for item in self.conditions if item.otherwise is not None]
        return (*self.restraints, *others)


def drawn_kinds(rng: random.Random, length: int) -> frozenset[ClauseKind]:
    """Draw the kinds that a draft of this length looks for."""
    drawn = [kind for kind, share in SHARES.items() if rng.random() < share]
    if length < LEAST_LENGTH:
        return frozenset()
    others = [kind for kind in drawn if kind is not ClauseKind.DATE]
    kept = rng.sample(others, min(_MOST, len(others)))
    return frozenset({*kept, *set(drawn) - set(others)})


@dataclass(slots=True)
class Names:
    """Hands out `c01`, `c02`, ... ."""

    _last: int = field(default=0)

    def next(self) -> str:
        """Return the next name."""
        self._last += 1
        return f"c{self._last:02d}"
