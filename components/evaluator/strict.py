"""Compare two final states canonically, without any rubric: the evaluator's independent reference.

Rows of the seed are compared by id, created rows by content: generated ids and times mean nothing,
and a link to a created row is compared by the content of that row. The rules of equality are the
norm (`Equivalence()`), never those of the system whose evaluator may be at fault.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from components.environment.state import WorldState
from components.environment.world import World
from components.evaluator.created import NORM, CreatedRows, Place, created_rows, entity_of
from components.evaluator.equivalence import values_match
from components.records.frozen import canonical_json


class DifferenceKind(StrEnum):
    """How a row differs from what was expected."""

    MISSING = "missing"
    """Expected, and not there."""
    EXTRA = "extra"
    """There, and not expected."""
    CHANGED = "changed"
    """There, with other values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDifference:
    """One row that differs between the expected final state and the actual one."""

    kind: DifferenceKind
    service: str
    table: str
    row_id: str
    """Id in the actual state; in the expected one when the row is missing."""
    fields: tuple[str, ...] = ()
    """CHANGED: fields with other values, and free text that only one of the two runs wrote."""
    free_text_fields: tuple[str, ...] = ()
    """CHANGED: free text that both runs wrote, in other words; right solutions may differ here."""

    @property
    def is_free_text_only(self) -> bool:
        """Whether nothing but words differs."""
        return self.kind is DifferenceKind.CHANGED and not self.fields


def strict_difference(
    world: World, expected_final: WorldState, actual_final: WorldState
) -> tuple[RowDifference, ...]:
    """Return the rows that differ, by service, table and id; empty when the states are the same.

    Args:
        world: for its blueprints and its initial state, which tells seed rows from created ones.
        expected_final: final state of gold.
        actual_final: final state of the trajectory.
    """
    if expected_final is actual_final:
        return ()
    comparison = _Comparison(world, expected_final, actual_final)
    found = [*comparison.seed_rows(), *comparison.new_rows()]
    return tuple(sorted(found, key=lambda item: (item.service, item.table, item.row_id, item.kind)))


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two states."""

    state: WorldState
    created: CreatedRows

    def value(self, value: Any) -> Any:
        return self.created.canonical(value)


class _Comparison:
    def __init__(self, world: World, expected: WorldState, actual: WorldState) -> None:
        self._world = world
        self._expected = _Side(expected, created_rows(world, expected))
        self._actual = _Side(actual, created_rows(world, actual))

    def seed_rows(self) -> Iterator[RowDifference]:
        for service, tables in self._world.initial.services.items():
            for name, seed in tables.items():
                expected = self._expected.state.table(service, name)
                actual = self._actual.state.table(service, name)
                if expected is actual or expected.digest == actual.digest:
                    continue
                for row_id in seed.ids:
                    left, right = expected.get(row_id), actual.get(row_id)
                    if left is right or (left and right and left.digest == right.digest):
                        continue
                    place = Place(service, name, row_id)
                    if left is None or right is None:
                        gone = DifferenceKind.EXTRA if left is None else DifferenceKind.MISSING
                        yield _difference(gone, place)
                    elif difference := self._changed(
                        place, left.values, right.values, seed.rows[row_id].values
                    ):
                        yield difference

    def new_rows(self) -> Iterator[RowDifference]:
        """Pair created rows by content, equal words first; yield what is left."""
        left, right = _by_table(self._expected.created), _by_table(self._actual.created)
        for table in sorted({*left, *right}):
            missing: list[Place] = []
            extra: list[Place] = []
            expected, actual = left.get(table, {}), right.get(table, {})
            for label in sorted({*expected, *actual}):
                ours, theirs = expected.get(label, []), actual.get(label, [])
                yield from self._paired(ours, theirs, missing, extra)
            if len(missing) == len(extra) == 1:
                difference = self._differing(missing[0], extra[0])
                assert difference is not None
                yield difference
                continue
            yield from (_difference(DifferenceKind.MISSING, place) for place in missing)
            yield from (_difference(DifferenceKind.EXTRA, place) for place in extra)

    def _paired(
        self, ours: list[Place], theirs: list[Place], missing: list[Place], extra: list[Place]
    ) -> Iterator[RowDifference]:
        """Pair rows that are equal but for words; the others go to `missing` and `extra`."""
        theirs = list(theirs)
        unequal = []
        for place in ours:
            same = next((item for item in theirs if not self._differing(place, item)), None)
            if same is None:
                unequal.append(place)
            else:
                theirs.remove(same)
        for place, other in zip(unequal, theirs, strict=False):
            difference = self._differing(place, other)
            assert difference is not None
            yield difference
        missing += unequal[len(theirs) :]
        extra += theirs[len(unequal) :]

    def _differing(self, expected: Place, actual: Place) -> RowDifference | None:
        return self._changed(
            actual, self._expected.created.row(expected), self._actual.created.row(actual)
        )

    def _changed(
        self,
        place: Place,
        expected: Mapping[str, Any],
        actual: Mapping[str, Any],
        seed: Mapping[str, Any] | None = None,
    ) -> RowDifference | None:
        entity = entity_of(self._world, place.service, place.table)
        start = f"{place.service}.{place.table}."
        differing = [
            field
            for field, blueprint in sorted(entity.fields.items())
            if not blueprint.generated
            and not (field == entity.key and entity.generated_key)
            and not values_match(
                self._expected.value(expected[field]),
                self._actual.value(actual[field]),
                NORM,
                start + field,
            )
        ]
        if not differing:
            return None
        # Words may differ where both runs wrote some; what only one of them wrote is a write.
        words = tuple(
            field
            for field in differing
            if entity.fields[field].free_text
            and (seed is None or seed[field] not in (expected[field], actual[field]))
        )
        fields = tuple(field for field in differing if field not in words)
        return _difference(DifferenceKind.CHANGED, place, fields, words)


def _by_table(created: CreatedRows) -> dict[tuple[str, str], dict[str, list[Place]]]:
    tables: dict[tuple[str, str], dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
    for place in created.places:
        tables[place.service, place.table][created.label(place)].append(place)
    for labels in tables.values():
        for places in labels.values():
            places.sort(key=lambda place: canonical_json(created.canonical(created.row(place))))
    return tables


def _difference(
    kind: DifferenceKind,
    place: Place,
    fields: tuple[str, ...] = (),
    free_text_fields: tuple[str, ...] = (),
) -> RowDifference:
    return RowDifference(
        kind=kind,
        service=place.service,
        table=place.table,
        row_id=place.row_id,
        fields=fields,
        free_text_fields=free_text_fields,
    )
