"""Tasks.

A frozen row of instruction, world and gold, where every gold argument says where it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from components.records.base import Record
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict, JsonObject, JsonValue
from components.records.world import WorldSpec

_FEWEST = 2
"""Rows that one is picked of, at least."""


class FromInstruction(Record):
    """The value is written in the instruction at [start, end)."""

    kind: Literal["instruction"] = "instruction"
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    cast: Literal["string", "integer", "number", "boolean"] = "string"


class Pick(Record):
    """One row of a list: the one with the most, or the least, of something."""

    by: str
    """Field of the rows that are compared: a number, or a time or date as text. Rows without it
    stand aside; two with the same extreme are none.
    """
    most: bool
    """True: the highest or latest; False: the lowest or earliest."""

    def index_in(self, rows: Any) -> int | None:
        """Return the number of the row that is picked of a list; None where no single one is."""
        if not isinstance(rows, (list, tuple)):
            return None
        told = [
            (row[self.by], number)
            for number, row in enumerate(rows)
            if isinstance(row, Mapping) and _is_comparable(row.get(self.by))
        ]
        if len(told) < _FEWEST or len({isinstance(value, str) for value, _ in told}) > 1:
            return None
        end = max(told)[0] if self.most else min(told)[0]
        at_end = [number for value, number in told if value == end]
        return at_end[0] if len(at_end) == 1 else None


def _is_comparable(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


class FromObservation(Record):
    """The value is at `path` of the `data` that an earlier gold step returned.

    With `pick`, a list of rows is at `path`, and the value is the `field` of the row picked.
    """

    kind: Literal["observation"] = "observation"
    step: str
    path: tuple[str | int, ...]
    pick: Pick | None = None
    field: str = ""


class FromDefault(Record):
    """A schema's default, or a constant that every caller would use."""

    kind: Literal["default"] = "default"
    value: JsonValue


class FromExpression(Record):
    """A value computed from others by an operation of a closed list.

    `concat` joins texts; `format` fills `{name}` places of `template`.
    """

    kind: Literal["expression"] = "expression"
    operation: Literal["concat", "format"]
    template: str = ""
    inputs: FrozenDict[str, Provenance]


Provenance = Annotated[
    FromInstruction | FromObservation | FromDefault | FromExpression, Field(discriminator="kind")
]


class GoldStep(Record):
    """One call of the gold solution."""

    service: str
    tool: str
    arguments: FrozenDict[str, Provenance]
    """JSON Pointer into the arguments (`/ticket_id`, `/entities/0/name`) -> where the value comes
    from.
    """
    revisit_of: str | None = None
    """Earlier step that this one reads again, when the value read must differ."""


class Demand(Record):
    """A span of the instruction, tied to the gold step (or `answer`) that meets it."""

    start: int = Field(ge=0)
    end: int = Field(gt=0)
    step: str


class Referent(Record):
    """Words that stand for one row, and the query by which the policy can find it."""

    start: int = Field(ge=0)
    end: int = Field(gt=0)
    step: str
    """Gold step whose answer holds the row."""
    rows_path: tuple[str | int, ...]
    """Path in that answer's `data` of the list that must have exactly one element (or of the row
    itself).
    """
    pick: Pick | None = None
    """With it, the list has several, and exactly one of them is picked."""


class Task(Record):
    """One task, as admitted."""

    schema_version: int = Field(default=1, ge=1, le=1)
    task_id: str
    seed: int
    """Seed that the author drew this task from."""
    kind: Literal["single_turn"] = "single_turn"
    split: Literal["train", "heldout"] = "train"
    instruction: str
    demands: FrozenDict[str, Demand]
    referents: FrozenDict[str, Referent] = FrozenDict()
    world: WorldSpec
    gold: FrozenDict[str, GoldStep]
    """Steps by name (`s01`, `s02`, ...); they run in the order of their names."""
    answer: FrozenDict[str, Provenance] = FrozenDict()
    """Fields of the `finish` call's answer; empty when only state counts."""
    answer_schema: JsonObject
    """JSON Schema of the `finish` call's `answer` object."""
    policy_rules: tuple[str, ...] = ()
    """Rules that the policy is told and must keep."""


class Probe(Record):
    """One mutant, or one variant, and what became of it."""

    kind: str
    """gold, null, omit_write, change_value, stale_value, wrong_record, collateral, wrong_answer,
    ...
    """
    target: str
    """What was changed: a step, a step and pointer, an answer field."""
    should_pass: bool
    did_pass: bool


class Certificate(Record):
    """The gates that a task passed, and the recorded run of its gold. Nobody owns it."""

    schema_version: int = Field(default=1, ge=1, le=1)
    task_id: str
    task_hash: str
    environment_hashes: FrozenDict[str, str]
    """Artifact of the environment -> content hash, for those that the world uses."""
    evaluator_hashes: FrozenDict[str, str]
    gates_version: int
    gold_run: FrozenDict[str, CallRecord]
    """Step -> the executed call: arguments, untruncated answer, changes, hashes."""
    gold_answer: JsonObject
    seed_rows: FrozenDict[str, str]
    """`service/table/id` -> content hash of the row at the start."""
    initial_state: str
    final_state: str
    probes: FrozenDict[str, Probe]
    unconstrained: tuple[str, ...] = ()
    """Gold arguments that no criterion constrains, with the reason."""


class RejectedDraft(Record):
    """A draft that did not become a task."""

    draft_id: str
    reason: str
    """From the closed list in `components.task.reasons`."""
    detail: str
