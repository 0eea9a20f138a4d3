"""Tasks.

A frozen row of instruction, world and gold, where every gold argument says where it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from components.records.base import Record
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict, JsonObject, JsonValue
from components.records.policy import Relation
from components.records.user import UserScript
from components.records.world import WorldSpec

_FEWEST = 2
"""Rows that one is picked of, at least."""


class FromInstruction(Record):
    """The value is written in the instruction at [start, end)."""

    kind: Literal["instruction"] = "instruction"
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    cast: Literal["string", "integer", "number", "boolean", "date", "moment"] = "string"
    """`date`: the words say a time by its date, as in `9:00 on 24 March 2026`; `moment`: relative
    to the world's clock, as in `9:00 tomorrow`.
    """


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


class FromRows(Record):
    """A number over the rows of the list at `path` of the `data` that an earlier step returned."""

    kind: Literal["rows"] = "rows"
    step: str
    path: tuple[str | int, ...]
    operation: Literal["count", "sum"]
    where: FrozenDict[str, JsonValue] = FrozenDict()
    """Field -> value: only rows that have all of them are taken."""
    field: str = ""
    """What is summed."""


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


class FromRule(Record):
    """What came of a request under a rule, judged by a value that an earlier step returned."""

    kind: Literal["rule"] = "rule"
    source: FromObservation
    """The value that the rule compares."""
    relation: Relation
    value: JsonValue
    """The limit, worked out: a number, a choice, a time, or the names of the person who asks."""
    allowed: str = "done"
    otherwise: str = "refused"


Provenance = Annotated[
    FromInstruction | FromObservation | FromRows | FromDefault | FromExpression | FromRule,
    Field(discriminator="kind"),
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


class Restraint(Record):
    """A call that the request forbids, in words at [start, end), and that a tool could make."""

    kind: Literal["restraint"] = "restraint"
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    service: str
    tool: str
    arguments: FrozenDict[str, Provenance]
    """JSON Pointer -> where the value comes from. What the words leave open is a constant: one of
    the values that must not be given.
    """


class Condition(Record):
    """A branch of the request, over a value that gold reads; its words are at [start, end)."""

    kind: Literal["condition"] = "condition"
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    source: FromObservation
    """The value that is looked at."""
    relation: Literal["is", "above", "below"]
    value: FromInstruction
    """What it is compared with."""
    holds: bool
    """Whether it is so in the task's world."""
    step: str = ""
    """Gold step that is done because of it; empty when the branch taken asks for nothing."""
    otherwise: str = ""
    """Restraint that is the branch not taken; empty when that branch asks for nothing."""


class Every(Record):
    """Gold steps that are one write for every row of a part of a list, in words at [start, end)."""

    kind: Literal["every"] = "every"
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    step: str
    """Gold step whose answer holds the list."""
    rows_path: tuple[str | int, ...]
    key: str
    """Field by which the writes name the rows."""
    where: FrozenDict[str, JsonValue] = FrozenDict()
    """Field -> value that the rows have."""
    by: str = ""
    """Field by which the rows are ordered; empty: all of them count."""
    most: bool = False
    """With `by`: the highest or latest ones; else the lowest or earliest."""
    steps: tuple[str, ...]
    """The writes, one a row."""

    def chosen(self, rows: Any) -> tuple[str, ...] | None:
        """Return the keys of the rows meant, sorted; None where it is not clear which they are."""
        if not isinstance(rows, (list, tuple)):
            return None
        fitting = [row for row in rows if isinstance(row, Mapping) and has_all(row, self.where)]
        if self.by:
            told = [row for row in fitting if _is_comparable(row.get(self.by))]
            if len({isinstance(row[self.by], str) for row in told}) > 1:
                return None
            ordered = sorted(told, key=lambda row: row[self.by], reverse=self.most)
            fitting, rest = ordered[: len(self.steps)], ordered[len(self.steps) :]
            if fitting and rest and fitting[-1][self.by] == rest[0][self.by]:
                return None
        keys = [row.get(self.key) for row in fitting]
        return tuple(sorted(key for key in keys if isinstance(key, str)))


def has_all(row: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Return whether a row has each of these values."""
    return all(row.get(field) == value for field, value in where.items())


class Ruled(Record):
    """A part of the request that a policy rule is about, in words at [start, end)."""

    kind: Literal["ruled"] = "ruled"
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    rule: str
    """Name of the rule in the world contract."""
    text: str
    """The rule's sentence, which the policy has to be told."""
    place: str
    """Name of the gold step that does what is asked, or what the rule wants instead or before it.
    Gold has no such step where the rule allows neither."""
    then: str = ""
    """Name of the gold step that does what is asked where the rule wants another call before it;
    empty: the rule wants none."""
    asked: GoldStep
    """The call that is asked for."""
    source: FromObservation
    """The value that the rule compares, as gold reads it."""
    allows: bool
    """Whether the rule allows the call in the task's world."""
    asker: tuple[str, ...] = ()
    """What the person who asks is called by: employee number, address, name; empty where no rule of
    the world asks who it is."""


Clause = Annotated[Restraint | Condition | Every | Ruled, Field(discriminator="kind")]
"""What a request says beyond its steps one by one."""


class Edit(Record):
    """One step from an explicit request to one as people write it."""

    kind: Literal["indirect", "lookup", "join"]
    """`indirect`: a row is read by what it is; `lookup`: what names it is looked up first; `join`:
    a sentence joins the one before.
    """
    step: str
    """Step that reads otherwise, that was added, or whose sentence joins."""
    name: str = ""
    """What the request does not say any more."""


class Task(Record):
    """One task, as admitted."""

    schema_version: int = Field(default=1, ge=1, le=1)
    task_id: str
    seed: int
    """Seed that the author drew this task from."""
    kind: Literal["single_turn", "multi_turn"] = "single_turn"
    split: Literal["train", "heldout"] = "train"
    instruction: str
    """All that is ever said of the request; of a multi-turn task, the user's messages in a row."""
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
    clauses: FrozenDict[str, Clause] = FrozenDict()
    """What the request says beyond its steps; by name (`c01`, ...)."""
    user: UserScript | None = None
    """Who says the request bit by bit; None: the instruction is said whole, and nobody answers."""
    explicit: str = ""
    """What the instruction was before it was calibrated; empty: it was not."""
    edits: tuple[Edit, ...] = ()
    """How it was calibrated, edit by edit."""
    pair: str = ""
    """Common to two tasks of the same words whose worlds differ in one fact, by which a rule allows
    in one what it forbids in the other; empty: the task is no half of such a pair."""
    author: Literal["grammar", "model"] = "grammar"
    """Who wrote request and solution. Of a model's, several calls of one service in a row are one
    step of the walk, and a read may begin with what the request names."""

    @model_serializer(mode="wrap")
    def _plainly(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What a task does not have (clauses, user, edits, pair, another author than the grammar)
        is not written, and not hashed."""
        body = _without(handler(self), "clauses", bool(self.clauses))
        body = _without(body, "user", self.user is not None)
        body = _without(_without(body, "explicit", bool(self.edits)), "edits", bool(self.edits))
        body = _without(body, "author", self.author != "grammar")
        return _without(body, "pair", bool(self.pair))


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
    forbidden: FrozenDict[str, JsonObject] = FrozenDict()
    """Restraint, or part that a rule does not allow -> arguments of the call that must not be made,
    as it was tried."""
    twin: str = ""
    """The other task of the pair; empty: it is no half of a pair."""
    asker: tuple[str, ...] = ()
    """What the person who asks is called by, as the task's rules were certified."""

    @model_serializer(mode="wrap")
    def _plainly(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        body = _without(handler(self), "forbidden", bool(self.forbidden))
        body = _without(body, "asker", bool(self.asker))
        return _without(body, "twin", bool(self.twin))


def _without(body: dict[str, Any], name: str, is_there: bool) -> dict[str, Any]:
    return body if is_there else {key: value for key, value in body.items() if key != name}


class RejectedDraft(Record):
    """A draft that did not become a task."""

    draft_id: str
    reason: str
    """From the closed list in `components.task.reasons`."""
    detail: str
    stage: str = ""
    """Of a model that authors tasks: where the draft was given up; empty for the grammar's."""
