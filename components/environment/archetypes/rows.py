"""The rows of one table: distinct, spread and summing up.

Owns what no row can know alone: titles and keys that occur once, statuses spread over their
lifecycle, every enum and flag with at least two values, some nulls, sums that are right. Links are
the caller's: it gives the keys that exist.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from components.environment.archetypes.cast import USUAL, Cast
from components.environment.archetypes.draw import OWN, RowDraw, TableContext, role_of
from components.environment.archetypes.fit import fitted
from components.environment.archetypes.meanings import Kind, Meaning, parse_meaning
from components.environment.archetypes.relations import is_number, relate
from components.environment.archetypes.spread import NULLS, spread_columns
from components.environment.archetypes.table_shape import TableShape
from components.environment.archetypes.times import parse_now
from components.records.blueprint import FieldType
from components.records.frozen import FrozenDict

_TRIES = 30
_DATE_LENGTH = len("2026-03-02")


def row_values(
    shape: TableShape, num_rows: int, *, seed: str, cast: Cast, now: str
) -> list[dict[str, Any]]:
    """Return the rows of a table as plain JSON; ids are the caller's.

    Args:
        num_rows: how many; fewer come where what names a row is of a list of so few words.
        seed: of every choice in this table (`service:noun`).
        cast: the names of the world.
        now: the world's time, `YYYY-MM-DDTHH:MM:SSZ`.
    """
    rng = random.Random(seed)
    meanings = {name: parse_meaning(item.meaning) for name, item in shape.fields.items()}
    title = meanings.get(shape.title_field or "")
    context = TableContext(
        cast=cast,
        now=parse_now(now),
        noun=shape.noun,
        texts=shape.texts,
        size=num_rows,
        walk_base=rng.random(),
        is_about_people=title is not None and title.name == "person.full_name",
    )
    own = rng.sample(range(max(USUAL, num_rows)), num_rows)
    columns = spread_columns(shape, meanings, num_rows, rng)
    maker = _RowMaker(shape, meanings, context, columns)
    rows = []
    for index in range(num_rows):
        draw = RowDraw(context, random.Random(rng.getrandbits(64)), index, own[index])
        row = maker.make(draw, rng)
        if not maker.is_used_up:
            rows.append(row)
    return rows


class _RowMaker:
    """Makes rows one after another and remembers what must not occur twice."""

    def __init__(
        self,
        shape: TableShape,
        meanings: Mapping[str, Meaning],
        context: TableContext,
        columns: Mapping[str, Sequence[Any]],
    ) -> None:
        self._shape, self._meanings, self._columns = shape, meanings, columns
        self._taken: dict[str, set[Any]] = {}
        self.is_used_up = False
        title = shape.title_field or ""
        names = sorted(shape.fields)
        self._names = [title, *(name for name in names if name != title)] if title else names
        self._roles = _roles(shape, meanings)
        self._has_lifecycle = any(meaning.terminal for meaning in meanings.values())
        about = context.is_about_people
        self._unique = {
            name
            for name in names
            if name == title or name in shape.unique or self._is_unique(name, about)
        } - set(shape.links)

    def _is_unique(self, name: str, is_about_people: bool) -> bool:
        meaning = self._meanings[name]
        elsewhere = is_about_people and meaning.part.startswith(("company", "place"))
        return meaning.unique and self._roles[name] == OWN and not elsewhere

    def make(self, draw: RowDraw, rng: random.Random) -> dict[str, Any]:
        """Return one row."""
        row: dict[str, Any] = {}
        self.is_used_up = False
        for name in self._names:
            if name in self._columns:
                row[name] = self._of_column(name, draw.index, rng)
            elif name in self._unique:
                row[name] = self._distinct(name, draw, rng)
            elif self._may_be_null(name) and rng.random() < 1 / NULLS:
                row[name] = None
            else:
                row[name] = self._fit(name, draw.value(*self._asked(name)), rng)
            if name == self._shape.title_field and isinstance(row[name], str):
                draw.title = row[name]
        relate(row, self._shape)
        self._end(row)
        return {name: row[name] for name in self._shape.fields}

    def _of_column(self, name: str, index: int, rng: random.Random) -> Any:
        value = self._columns[name][index]
        is_given = name in self._shape.links or value is None
        return value if is_given else self._fit(name, value, rng)

    def _may_be_null(self, name: str) -> bool:
        """False also for the end of a lifecycle: the status alone says whether it has come."""
        is_end = _is_end(self._meanings[name]) and self._has_lifecycle
        return self._shape.fields[name].nullable and not is_end

    def _asked(self, name: str) -> tuple[str, str]:
        return self._shape.fields[name].meaning, self._roles[name]

    def _fit(self, name: str, value: Any, rng: random.Random) -> Any:
        value = _of_type(value, self._shape.fields[name].type)
        schema = self._shape.schemas.get(name)
        if schema is None:
            return value
        return fitted(value, schema, rng, self._shape.documents.get(name, FrozenDict()))

    def _distinct(self, name: str, draw: RowDraw, rng: random.Random) -> Any:
        taken = self._taken.setdefault(name, set())
        value: Any = None
        for attempt in range(_TRIES):
            if attempt and self._moves(name):
                draw.move_on()
            value = self._fit(name, draw.value(*self._asked(name)), rng)
            if not isinstance(value, (str, int, float)) or value not in taken:
                break
        else:
            if self._is_listed(name, value) and len(taken) > 1:  # none is called `EUR 8`
                self.is_used_up = name in self._shape.unique
                return value
            value = self._fit(name, _numbered(value, len(taken) + 1), rng)
        if isinstance(value, (str, int, float)):
            taken.add(value)
        return value

    def _is_listed(self, name: str, value: Any) -> bool:
        """True for one of the few words that a field is ever drawn from."""
        options = self._meanings[name].options
        return isinstance(value, str) and value in options

    def _moves(self, name: str) -> bool:
        meaning = self._meanings[name]
        return meaning.kind is Kind.CAST or bool(meaning.aligned)

    def _end(self, row: dict[str, Any]) -> None:
        """A row whose lifecycle has not ended has not been closed, and the other way round."""
        for name, meaning in self._meanings.items():
            if not meaning.terminal or row.get(name) is None:
                continue
            is_over = row[name] in meaning.terminal
            for other, item in self._meanings.items():
                if _is_end(item) and not is_over and self._shape.fields[other].nullable:
                    row[other] = None


def _is_end(meaning: Meaning) -> bool:
    return meaning.kind is Kind.TIME and meaning.part in ("closed", "finished")


def _roles(shape: TableShape, meanings: Mapping[str, Meaning]) -> dict[str, str]:
    own = frozenset({OWN})
    title = shape.title_field
    if title and meanings[title].kind is Kind.CAST:
        own |= {role_of(title, shape.noun, frozenset())}
    return {name: role_of(name, shape.noun, own) for name in shape.fields}


def _of_type(value: Any, kind: FieldType) -> Any:
    """Return a value in its field's type, where a spec stores a number as text or the like."""
    if kind is FieldType.INTEGER and isinstance(value, float):
        return round(value)
    if kind is FieldType.STRING and not isinstance(value, str):
        return str(value)
    if kind is FieldType.TIMESTAMP and isinstance(value, str) and len(value) == _DATE_LENGTH:
        return f"{value}T09:00:00Z"
    if kind is FieldType.ARRAY and not isinstance(value, list):
        return [value]
    return value


def _numbered(value: Any, number: int) -> Any:
    if isinstance(value, str):
        stem, dot, extension = value.rpartition(".")
        if dot and stem and len(extension) <= 4 and "/" not in extension:
            return f"{stem}-{number}.{extension}"
        return f"{value} {number}"
    return value + number if is_number(value) else value
