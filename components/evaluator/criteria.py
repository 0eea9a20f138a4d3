"""What each kind of criterion means on a final state and an answer.

Reads states and never calls a tool. Invariant: what cannot be decided is a `VerifierError`, never
"not met".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from components.environment.state import Table, WorldState, diff_states
from components.errors import VerifierError
from components.evaluator.equivalence import AnyOf, values_match
from components.evaluator.facts import holds_fact
from components.records.calls import RowChange
from components.records.frozen import FrozenDict, JsonObject
from components.records.rubric import (
    AnswerField,
    Criterion,
    Equivalence,
    RowAbsent,
    RowFields,
    Untouched,
)

ROW_OF = "@row_of"
"""`{"@row_of": "<criterion>"}` in an expected value: the id of a row that this criterion binds."""


class Scoring:
    """One final state under one rubric. The difference of the states is taken once."""

    def __init__(
        self,
        criteria: FrozenDict[str, Criterion],
        rules: Equivalence,
        initial: WorldState,
        final: WorldState,
        answer: JsonObject | None,
    ) -> None:
        self._criteria, self._rules = criteria, rules
        self._initial, self._final, self._answer = initial, final, answer
        self._diff: tuple[RowChange, ...] | None = None
        self._bound: dict[str, dict[str, Mapping[str, Any]]] = {}
        self._open: set[str] = set()

    def problem(self, name: str) -> str:
        """Return why the criterion is not met; empty when it is.

        Raises:
            VerifierError: it cannot be decided.
        """
        criterion = self._criteria[name]
        if isinstance(criterion, RowFields):
            return self._row_fields(name, criterion)
        if isinstance(criterion, RowAbsent):
            there = self._table(self._final, criterion.service, criterion.table)
            return f"{criterion.row_id} is still there" if there.get(criterion.row_id) else ""
        if isinstance(criterion, Untouched):
            return self._untouched(criterion)
        return self._answer_field(criterion)

    def _row_fields(self, name: str, criterion: RowFields) -> str:
        rows = self._bind(name).values()
        if len(rows) != criterion.count:
            return f"{len(rows)} rows match, {criterion.count} should"
        start = f"{criterion.service}.{criterion.table}."
        for field, value in criterion.fields.items():
            expected = self._resolve(value)
            for row in rows:
                if not values_match(expected, row[field], self._rules, start + field):
                    return f"{field}: expected {value!r}, found {row[field]!r}"
        for field, facts in criterion.facts.items():
            for row in rows:
                for fact in facts:
                    if not holds_fact(row[field], fact, self._rules):
                        return f"{field} does not hold {fact!r}: {row[field]!r}"
        return ""

    def _bind(self, name: str) -> dict[str, Mapping[str, Any]]:
        """Return the rows of the final state that a criterion's `where` selects, by id."""
        if name in self._bound:
            return self._bound[name]
        criterion = self._criteria.get(name)
        if not isinstance(criterion, RowFields):
            raise VerifierError(f"{name!r} is no criterion that binds rows")
        if name in self._open:
            raise VerifierError(f"{name!r} refers to itself")
        self._open.add(name)
        try:
            self._bound[name] = self._selected(criterion)
        finally:
            self._open.discard(name)
        return self._bound[name]

    def _selected(self, criterion: RowFields) -> dict[str, Mapping[str, Any]]:
        table = self._table(self._final, criterion.service, criterion.table)
        self._check_fields(criterion, table)
        where = {field: self._resolve(value) for field, value in criterion.where.items()}
        start = f"{criterion.service}.{criterion.table}."
        return {
            row_id: row
            for row_id, row in self._candidates(criterion, table)
            if all(
                values_match(value, row[field], self._rules, start + field)
                for field, value in where.items()
            )
        }

    def _candidates(
        self, criterion: RowFields, table: Table
    ) -> Iterable[tuple[str, Mapping[str, Any]]]:
        if criterion.new_only:
            return [
                (change.row_id, change.after)
                for change in self._changes
                if change.before is None
                and change.after is not None
                and (change.service, change.table) == (criterion.service, criterion.table)
            ]
        # A row's id binds that row alone: ids are exact, whatever the rules say of text.
        for field, value in criterion.where.items():
            row = table.get(value)
            if row is not None and _is_key(field, table):
                return [(str(value), row.values)]
        return [(row_id, table.rows[row_id].values) for row_id in table.ids]

    def _check_fields(self, criterion: RowFields, table: Table) -> None:
        rows = table.rows or self._table(self._initial, criterion.service, criterion.table).rows
        for row in rows.values():
            known = row.values
            for field in (*criterion.where, *criterion.fields, *criterion.facts):
                if field not in known:
                    raise VerifierError(
                        f"{criterion.service}.{criterion.table} has no field {field!r}"
                    )
            return

    def _untouched(self, criterion: Untouched) -> str:
        for place in (*criterion.allowed, *criterion.max_new):
            service, table = place.split("/")[:2]
            self._table(self._final, service, table)
        new: Counter[str] = Counter()
        for change in self._changes:
            table = f"{change.service}/{change.table}"
            place = f"{table}/{change.row_id}"
            if change.before is None:
                new[table] += 1
                if new[table] > criterion.max_new.get(table, 0):
                    return f"{place} is new; {criterion.max_new.get(table, 0)} may be"
                continue
            allowed = criterion.allowed.get(place, ())
            if "*" in allowed:
                continue
            if change.after is None:
                return f"{place} is gone"
            for field in sorted(change.after):
                if field not in allowed and change.before[field] != change.after[field]:
                    return (
                        f"{place}: {field} changed from {change.before[field]!r} "
                        f"to {change.after[field]!r}"
                    )
        return ""

    def _answer_field(self, criterion: AnswerField) -> str:
        if self._answer is None:
            return "there is no answer"
        if criterion.field not in self._answer:
            return f"the answer has no {criterion.field!r}"
        # A field that nobody asked for could hold the other half of a hedge.
        asked = {item.field for item in self._criteria.values() if isinstance(item, AnswerField)}
        extra = sorted(set(self._answer) - asked)
        if extra:
            return f"the answer also gives {extra[0]!r}, which was not asked for"
        actual = self._answer[criterion.field]
        expected = self._resolve(criterion.expected)
        if values_match(expected, actual, self._rules, f"answer.{criterion.field}"):
            return ""
        return f"{criterion.field}: expected {criterion.expected!r}, found {actual!r}"

    @property
    def _changes(self) -> tuple[RowChange, ...]:
        if self._diff is None:
            self._diff = diff_states(self._initial, self._final)
        return self._diff

    def _resolve(self, expected: Any) -> Any:
        """Return the expected value with each `@row_of` replaced by the ids that it stands for."""
        if isinstance(expected, (list, tuple)):
            return tuple(self._resolve(item) for item in expected)
        if not isinstance(expected, Mapping):
            return expected
        if set(expected) != {ROW_OF}:
            return {key: self._resolve(item) for key, item in expected.items()}
        return AnyOf(frozenset(self._bind(expected[ROW_OF])))

    @staticmethod
    def _table(state: WorldState, service: str, table: str) -> Table:
        tables = state.services.get(service)
        found = None if tables is None else tables.get(table)
        if found is None:
            raise VerifierError(f"there is no table {service}.{table}")
        return found


def _is_key(field: str, table: Table) -> bool:
    return all(row.values[field] == row_id for row_id, row in table.rows.items())
