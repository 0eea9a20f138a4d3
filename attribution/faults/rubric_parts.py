"""What the kinds of fault of the evaluator look at: one rubric, its task, and the certified run.

Owns how a change of a rubric is written down; it never decides whether a change shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attribution.change import Change
from attribution.evidence import pointer_of
from attribution.faults.kinds import Clean, FaultKind, change_of
from attribution.faults.task_parts import Parts, Row, parts_of
from components.records.base import to_json
from components.records.frozen import thaw
from components.records.patch import Component
from components.records.rubric import AnswerField, Criterion, RowFields, Rubric, Untouched


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One plain value that a criterion wants."""

    name: str
    """The criterion."""
    at: tuple[str, ...]
    """Keys of the value inside the criterion."""
    field: str
    """`service.table.field`, or `answer.field`."""
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One certified task with its rubric."""

    parts: Parts
    rubric: Rubric

    def change(
        self, operations: Iterable[tuple[str, str, object]], place: tuple[str, ...], reason: str
    ) -> Change:
        """Return a change of this rubric."""
        return change_of(f"rubric/{self.rubric.task_id}", operations, place, reason)

    def set(self, name: str, at: tuple[str, ...], value: Any, reason: str) -> Change:
        """Return the change that puts a value at keys inside a criterion."""
        place = ("criteria", name, *at)
        return self.change([("replace", pointer_of(*place), value)], place, f"{name} {reason}")

    def body(self, name: str) -> dict[str, Any]:
        """Return a criterion as plain JSON, the caller's own."""
        return to_json(self.rubric.criteria[name])

    def rows(self) -> list[tuple[str, RowFields]]:
        """Return the criteria of rows of the seed, by name."""
        return [(name, item) for name, item in self.row_criteria() if not item.new_only]

    def new_rows(self) -> list[tuple[str, RowFields]]:
        """Return the criteria of created rows, by name."""
        return [(name, item) for name, item in self.row_criteria() if item.new_only]

    def answers(self) -> list[tuple[str, AnswerField]]:
        """Return the criteria of the answer, by name."""
        found = sorted(self.rubric.criteria.items())
        return [(name, item) for name, item in found if isinstance(item, AnswerField)]

    def untouched(self) -> list[tuple[str, Untouched]]:
        """Return the criteria that nothing else changed: one, or none."""
        found = sorted(self.rubric.criteria.items())
        return [(name, item) for name, item in found if isinstance(item, Untouched)]

    def row_criteria(self) -> list[tuple[str, RowFields]]:
        """Return the criteria of rows, by name: created rows first."""
        found: list[tuple[str, Criterion]] = sorted(self.rubric.criteria.items())
        rows = [(name, item) for name, item in found if isinstance(item, RowFields)]
        return sorted(rows, key=lambda pair: not pair[1].new_only)

    def wanted(self) -> list[Wanted]:
        """Return the plain values that criteria want, those of the answer first."""
        found = [
            Wanted(name=name, at=("expected",), field=f"answer.{item.field}", value=item.expected)
            for name, item in self.answers()
        ]
        for name, row in self.row_criteria():
            part, values = ("where", row.where) if row.new_only else ("fields", row.fields)
            found += [
                Wanted(
                    name=name,
                    at=(part, field),
                    field=f"{row.service}.{row.table}.{field}",
                    value=value,
                )
                for field, value in sorted(values.items())
            ]
        return [item for item in found if not isinstance(item.value, (Mapping, tuple))]

    def seed_row(self, item: RowFields) -> Row | None:
        """Return the row of the seed that a criterion is about."""
        key = self.parts.entity(item.service, item.table).key
        tables = self.parts.system.environment.seeds[item.service].tables
        row_id = item.where.get(key)
        if not isinstance(row_id, str) or row_id not in tables.get(item.table, ()):
            return None
        values = thaw(tables[item.table][row_id])
        return Row(service=item.service, table=item.table, row_id=row_id, values=values)

    def is_given(self, item: RowFields, field: str) -> bool:
        """Return whether a value that a criterion wants is an argument of gold."""
        value = (item.where if item.new_only else item.fields).get(field)
        return any(value in call.arguments.values() for call in self.parts.calls.values())

    def final(self, service: str, table: str, field: str) -> list[Any]:
        """Return what the certified run left in a field, once for each row that it changed."""
        rows: dict[str, Any] = {}
        for call in self.parts.calls.values():
            for change in call.changes:
                if (change.service, change.table) == (service, table) and change.after:
                    rows[change.row_id] = change.after.get(field)
        return [value for _row, value in sorted(rows.items())]


def judged(clean: Clean) -> Iterator[Judged]:
    """Yield the certified tasks that have a rubric, in a drawn order."""
    rubrics = clean.system.evaluator.rubrics
    for parts in parts_of(clean):
        if parts.task.task_id in rubrics:
            yield Judged(parts=parts, rubric=rubrics[parts.task.task_id])


def wanted(clean: Clean) -> Iterator[tuple[Judged, Wanted]]:
    """Yield what criteria want, a drawn value of each rubric first."""
    later = []
    for item in judged(clean):
        values = item.wanted()
        clean.rng.shuffle(values)
        yield from ((item, value) for value in values[:1])
        later += [(item, value) for value in values[1:]]
    yield from later


def kind(name: str, statement: str, places: Any) -> FaultKind:
    """Return a kind of fault of the evaluator."""
    return FaultKind(name=name, component=Component.EVALUATOR, statement=statement, places=places)
