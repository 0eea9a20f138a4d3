"""A walk's parts: steps that were executed, how far a walk is, and what makes a value found out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

from components.environment.state import WorldState
from components.records.calls import RowChange
from components.records.frozen import FrozenDict, JsonObject, freeze
from components.records.task import Edit, Pick
from components.task.anchors import Anchor
from components.task.clauses import Clauses
from components.task.filling import Arguments, as_object, latest
from components.task.graph import Place, ToolGraph, ToolShape
from components.task.ground import Ground
from components.task.known import Known, known_in
from components.task.phrases import phrases
from components.task.provenance import leaves, shows


class Phase(IntEnum):
    """How far a walk is."""

    START = 0
    READ = 1
    """The row was read."""
    CHANGED = 2
    """The reaction has changed it."""
    READ_AGAIN = 3
    USED = 4
    """A write has used what was read again."""


@dataclass(frozen=True, kw_only=True)
class WalkStep:
    """One executed call of a walk."""

    name: str
    shape: ToolShape
    arguments: Arguments
    data: Any
    changes: tuple[RowChange, ...]
    known: tuple[Known, ...]

    @cached_property
    def text(self) -> str:
        """All that the answer shows, in small letters: what is not in it is not shown."""
        return "\n".join(str(leaf).lower() for _path, leaf in leaves(self.data))

    def tells(self, graph: ToolGraph, fact: Known) -> bool:
        """Return whether its answer shows the value of another step's answer as something else, so
        that who uses the value could take it from here. What it was given is no second source.

        Args:
            graph: says what its values mean.
            fact: the value, where it is taken from.
        """
        if str(fact.value).strip().lower() not in self.text:
            return False
        if any(leaf == fact.value for _path, leaf in leaves(as_object(self.arguments))):
            return False
        rows = known_in(graph, self.shape, self.name, self.data, every_row=True)
        same = {item.path for item in rows if item.means == fact.means}
        return any(
            shows([leaf], fact.value) and (leaf != fact.value or path not in same)
            for path, leaf in leaves(self.data)
        )

    def names_by_itself(self, fact: Known) -> bool:
        """Return whether the words for a row that this step read are not those of another row.

        A reservation that is looked up by the number of its shipment is called by that shipment.
        """
        noun = phrases().table_noun(fact.row.service, fact.row.table)
        return all(
            item.source is not None
            or item.parameter.means is None
            or any(noun in text for text in phrases().row_by(item.parameter.means, ""))
            for item in self.arguments
            if item.parameter.names_row
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A finished walk."""

    anchor: Anchor
    steps: tuple[WalkStep, ...]
    first: Known
    """The value as it was read first."""
    again: Known
    """The value as it was read again."""
    answer: Mapping[str, Known]
    """Fields of the answer that an observation shows as they are."""
    state: WorldState
    """Where it leads, among all services."""
    clauses: Clauses = field(default_factory=Clauses)
    edits: tuple[Edit, ...] = ()
    """How it was calibrated."""
    explicit: str = ""
    """What its request was before."""
    purpose: str = ""
    """What all of its writes serve; empty: nothing in particular."""

    @property
    def services(self) -> tuple[str, ...]:
        """The K services that it visits, sorted."""
        return tuple(sorted({step.shape.service for step in self.steps}))

    def is_joined(self, name: str) -> bool:
        """Return whether the sentence of a write joins the one before."""
        return any(edit.kind == "join" and edit.step == name for edit in self.edits)

    @property
    def turn(self) -> WalkStep:
        """The write whose reaction changes what is read again."""
        return next(step for step in self.steps if step.shape == self.anchor.trigger)

    def purpose_at(self, name: str) -> str:
        """Return the purpose whose words may be used for a step or a clause: what refers to the
        write that the walk turns on comes after it.
        """
        is_before = any(step.name == name for step in self.steps) and name < self.turn.name
        return "" if is_before else self.purpose

    def step(self, name: str) -> WalkStep:
        """Return one step by its name."""
        return next(step for step in self.steps if step.name == name)


@dataclass(frozen=True, kw_only=True)
class Node:
    """A walk that is under way."""

    steps: tuple[WalkStep, ...]
    state: WorldState
    phase: Phase
    first: Known | None = None
    again: Known | None = None
    focus: tuple[Known, ...] = ()
    """Values of which one has to be used: the one read again, or what was found by it."""
    due: tuple[Known, ...] = ()
    """Values of a read beside the turn, of which one has to be used as well."""
    hops: Mapping[str, int] = field(default_factory=dict)
    """Step -> links that lead to what it shows from what the request names."""

    @cached_property
    def services(self) -> frozenset[str]:
        """Services that the walk has been in."""
        return frozenset(step.shape.service for step in self.steps)

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """Values that only observations gave: what the request states was not found out."""
        return found_out(self.steps)

    @cached_property
    def have(self) -> frozenset[tuple[Place, Any]]:
        """What is known, as what each value means and the value."""
        return frozenset((fact.means, fact.value) for fact in self.known)

    @cached_property
    def written(self) -> set[tuple[str, str, str, str]]:
        """Fields, by row, that the walk has changed itself."""
        return written_by(*self.steps)

    def undoes(self, step: WalkStep) -> bool:
        """Return whether a step writes again what an earlier step of the walk wrote."""
        return not self.written.isdisjoint(written_by(step))


def executed_step(
    ground: Ground,
    state: WorldState,
    shape: ToolShape,
    arguments: Arguments,
    name: str,
    pick: Pick | None = None,
) -> tuple[WalkStep, WorldState] | None:
    """Return a call as a step of a walk, and the state that it leads to; None where it is refused.

    Args:
        ground: where it is executed.
        state: what it is executed on.
        shape: the tool.
        arguments: as filled.
        name: of the step.
        pick: how one row of a longer list is picked.
    """
    outcome, shown = ground.executed(state, shape, as_object(arguments), name, pick)
    if not outcome.envelope["ok"]:
        return None
    step = WalkStep(
        name=name,
        shape=shape,
        arguments=arguments,
        data=outcome.envelope["data"],
        changes=outcome.changes,
        known=shown,
    )
    return step, outcome.state


def found_out(steps: Sequence[WalkStep]) -> tuple[Known, ...]:
    """Return the newest values that the answers of steps show and that the request need not say."""
    stated = {
        str(item.value).lower() for step in steps for item in step.arguments if item.source is None
    }
    return tuple(
        fact
        for fact in latest([fact for step in steps for fact in step.known])
        if str(fact.value).lower() not in stated
    )


def can_be_had(
    value: Any, first: Any, answers: Sequence[JsonObject | Any], names: Sequence[str] = ()
) -> bool:
    """Return whether a value can be had without the reading that gives it.

    Args:
        value: the value read again.
        first: the value as it was.
        answers: data of the answers that were known before.
        names: other names of the row that the value names: with one of them it is looked up.
    """
    if any(shows(answer, name) for answer in answers for name in names):
        return True
    if isinstance(value, (int, float)) and isinstance(first, (int, float)):
        # A counter that moves by one can be counted.
        return abs(value - first) <= 1 or any(shows(answer, value) for answer in answers)
    if any(shows(answer, value) for answer in answers):
        return True
    parts = [
        part for part in str(value).replace(":", " ").replace("-", " ").split() if len(part) > 1
    ]
    whole = freeze(list(answers))
    return len(parts) > 1 and all(shows(whole, part) for part in parts)


def written_by(*steps: WalkStep, cause: str = "effect:") -> set[tuple[str, str, str, str]]:
    """Return the fields, by row, that steps changed themselves; times do not count.

    Args:
        steps: as executed.
        cause: how the causes of changes begin; `reaction:` for what the steps' reactions changed.
    """
    found = set()
    for step in steps:
        for change in step.changes:
            if change.before is None or not change.cause.startswith(cause):
                continue
            after = change.after if change.after is not None else FrozenDict[str, Any]()
            found |= {
                (change.service, change.table, change.row_id, field)
                for field, value in change.before.items()
                if after.get(field) != value and not field.endswith("_at")
            }
    return found
