"""What success means: criteria, each one checkable statement, and the rules of equality."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from components.records.base import Record
from components.records.frozen import FrozenDict, JsonObject, JsonValue


class RowFields(Record):
    """Exactly `count` rows match `where`, and each of them has `fields` and holds `facts`."""

    kind: Literal["row_fields"] = "row_fields"
    text: str
    weight: float = Field(default=1.0, gt=0)
    service: str
    table: str
    where: JsonObject
    """Field -> value that binds the row by query, never by a generated id unless it was in the
    seed.

    `{"@row_of": "<criterion>"}` stands for the id of a row that this other criterion binds, here as
    in `fields` and in an answer.
    """
    fields: JsonObject = FrozenDict()
    """Field -> expected value."""
    facts: FrozenDict[str, tuple[str, ...]] = FrozenDict()
    """Free-text field -> facts that the text must hold."""
    count: int = Field(default=1, ge=0)
    new_only: bool = False
    """True: only rows that are not in the initial state count."""


class RowAbsent(Record):
    """The row is gone."""

    kind: Literal["row_absent"] = "row_absent"
    text: str
    weight: float = Field(default=1.0, gt=0)
    service: str
    table: str
    row_id: str


class Untouched(Record):
    """Nothing but `allowed` changed between the initial and the final state."""

    kind: Literal["untouched"] = "untouched"
    text: str
    weight: float = Field(default=1.0, gt=0)
    allowed: FrozenDict[str, tuple[str, ...]]
    """`service/table/id` -> fields that may change (`*`: all, and the row may go)."""
    max_new: FrozenDict[str, int] = FrozenDict()
    """`service/table` -> how many rows may be new; absent means 0."""


class AnswerField(Record):
    """The `finish` call gave this value."""

    kind: Literal["answer_field"] = "answer_field"
    text: str
    weight: float = Field(default=1.0, gt=0)
    field: str
    expected: JsonValue


Criterion = Annotated[RowFields | RowAbsent | Untouched | AnswerField, Field(discriminator="kind")]


class Rubric(Record):
    """The criteria of one task, by name."""

    schema_version: int = Field(default=1, ge=1, le=1)
    task_id: str
    criteria: FrozenDict[str, Criterion]


class Equivalence(Record):
    """When two values are the same."""

    number_tolerance: float = Field(default=1e-9, ge=0)
    """Largest difference of two equal numbers."""
    ignore_case: bool = True
    """Short text is compared without case."""
    trim_space: bool = True
    """Leading, trailing and repeated white space is ignored in text."""
    unordered_fields: tuple[str, ...] = ()
    """`service.table.field` of lists whose order means nothing."""


class EvaluatorSettings(Record):
    """Equality, aggregation and reward: the evaluator apart from its rubrics."""

    schema_version: int = Field(default=1, ge=1, le=1)
    equivalence: Equivalence = Equivalence()
    completion_lambda: float = Field(default=0.5, gt=0)
    """The lambda of the completion-focused reward: `w_j = lambda + (1 - p_j)`."""
    pass_threshold: float = Field(default=1.0, gt=0, le=1)
    """Share of criteria (by weight) that a pass needs; 1.0 means all."""
