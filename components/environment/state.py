"""State as a value: rows, tables and worlds that never change, with hashes kept up to date.

Owns the persistent structures and what can be read from them. It refuses to validate: only the
engine builds rows. Invariant: the digest of a table and of a world is the sum of its rows' digests
modulo 2**128, so a write costs what it changes; iteration is by id, never by hash order.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import immutables
import orjson

from components.environment.values import same
from components.records.base import assembled
from components.records.calls import RowChange
from components.records.frozen import JsonObject

_MASK = (1 << 128) - 1
_MAX_EDITS = 32
"""Ids put in or taken out before order and indexes of a table are worked out again."""
MAX_ROW_BYTES = 1 << 20
"""Size of one row as JSON; what grows without end (a text appended to itself) stops here."""


class Row:
    """One entity: the values that its Pydantic model accepted, and their digest. Never changed."""

    __slots__ = ("digest", "values")

    def __init__(self, values: JsonObject, service: str, table: str, row_id: str) -> None:
        """Args: values: validated by the engine; service, table, row_id: part of the digest.

        Raises:
            ValueError: the row is larger than any row may be.
        """
        self.values = values
        body = orjson.dumps((service, table, row_id, values), option=orjson.OPT_SORT_KEYS)
        if len(body) > MAX_ROW_BYTES:
            raise ValueError(f"{table}/{row_id[:80]} would have {len(body)} bytes")
        self.digest = int.from_bytes(hashlib.sha256(body).digest()[:16], "big")


class _Known:
    """What has been worked out about one version of a table, for its successors to start from."""

    __slots__ = ("_indexes", "_order", "_rows")

    def __init__(self, rows: immutables.Map[str, Row]) -> None:
        self._rows = rows
        self._order: tuple[str, ...] | None = None
        self._indexes: dict[str, dict[Any, tuple[str, ...]]] = {}

    @property
    def order(self) -> tuple[str, ...]:
        """All ids in order."""
        if self._order is None:
            self._order = tuple(sorted(self._rows))
        return self._order

    def ids_with(self, field: str, value: Any) -> tuple[str, ...]:
        """Ids of the rows whose `field` may equal `value` (1 and true share a place)."""
        index = self._indexes.get(field)
        if index is None:
            found: dict[Any, list[str]] = {}
            for row_id, row in self._rows.items():
                found.setdefault(row.values[field], []).append(row_id)
            index = self._indexes[field] = {key: tuple(ids) for key, ids in found.items()}
        return index.get(value, ())


class Table:
    """A persistent map from id to row. `put` and `remove` return a new table and share the rest."""

    __slots__ = ("_edits", "_ids", "_known", "digest", "rows")

    def __init__(
        self,
        rows: immutables.Map[str, Row] | None = None,
        digest: int = 0,
        known: _Known | None = None,
        edits: tuple[str, ...] = (),
    ) -> None:
        """Args: rows by id; digest: sum of the rows' digests; known: about an earlier version of
        this table, with the ids put in or taken out since then in `edits`.
        """
        self.rows: immutables.Map[str, Row] = immutables.Map() if rows is None else rows
        self.digest = digest
        self._known = _Known(self.rows) if known is None else known
        self._edits = edits
        self._ids: tuple[str, ...] | None = None

    @classmethod
    def of(cls, rows: Mapping[str, Row]) -> Table:
        """Return the table of many rows at once."""
        return cls(immutables.Map(rows), sum(row.digest for row in rows.values()) & _MASK)

    def put(self, row_id: str, row: Row) -> Table:
        """Return the table with `row` under `row_id`."""
        old = self.rows.get(row_id)
        change = row.digest if old is None else row.digest - old.digest
        return self._edited(self.rows.set(row_id, row), change, row_id)

    def remove(self, row_id: str) -> Table:
        """Return the table without `row_id`, which must be there."""
        return self._edited(self.rows.delete(row_id), -self.rows[row_id].digest, row_id)

    def _edited(self, rows: immutables.Map[str, Row], change: int, row_id: str) -> Table:
        edits, known = (*self._edits, row_id), self._known
        if len(edits) > _MAX_EDITS:
            edits, known = (), _Known(rows)
        return Table(rows, (self.digest + change) & _MASK, known, edits)

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids in order; worked out when somebody asks, so that a write need not copy them."""
        if not self._edits:
            return self._known.order
        if self._ids is None:
            order = list(self._known.order)
            for row_id in self._edits:
                place = bisect_left(order, row_id)
                is_listed = place < len(order) and order[place] == row_id
                if row_id in self.rows and not is_listed:
                    order.insert(place, row_id)
                elif row_id not in self.rows and is_listed:
                    del order[place]
            self._ids = tuple(order)
        return self._ids

    def get(self, row_id: Any) -> Row | None:
        """Return the row, or None; an id of another type is simply not there."""
        return self.rows.get(row_id) if isinstance(row_id, str) else None

    def values_of(self, row_id: Any) -> JsonObject | None:
        """Return the row's values, or None."""
        row = self.rows.get(row_id) if isinstance(row_id, str) else None
        return None if row is None else row.values

    def find(self, field: str, value: Any) -> JsonObject | None:
        """Return the first row, by id, whose `field` equals `value`; None never matches."""
        if value is None:
            return None
        rows, best = self.rows, None
        for row_id in (*self._known.ids_with(field, value), *self._edits):
            row = rows.get(row_id)
            if row is not None and (best is None or row_id < best):
                best = row_id if same(row.values[field], value) else best
        return None if best is None else rows[best].values

    def in_order(self) -> Iterator[JsonObject]:
        """Yield the rows' values by id."""
        rows = self.rows
        for row_id in self.ids:
            yield rows[row_id].values


ServiceState = immutables.Map[str, Table]


@dataclass(frozen=True, slots=True)
class WorldState:
    """The state of a world: its tables and the clock. To copy it is to keep the reference."""

    services: immutables.Map[str, ServiceState]
    now: str
    """`YYYY-MM-DDTHH:MM:SSZ`; moves only between turns."""
    digest: int = field(default=-1, compare=False, repr=False)
    """Sum of the tables' digests; -1 when the state is built: computed then."""

    def __post_init__(self) -> None:
        if self.digest < 0:
            object.__setattr__(self, "digest", recomputed_digest(self.services))

    def table(self, service: str, table: str) -> Table:
        """Return one table, which must exist."""
        return self.services[service][table]

    def with_table(self, service: str, name: str, table: Table) -> WorldState:
        """Return the state with one table replaced."""
        tables = self.services[service]
        digest = (self.digest + table.digest - tables[name].digest) & _MASK
        return WorldState(self.services.set(service, tables.set(name, table)), self.now, digest)


def recomputed_digest(services: Mapping[str, ServiceState]) -> int:
    """Return the digest of a world from its tables, without the one kept up to date above them."""
    return sum(table.digest for tables in services.values() for table in tables.values()) & _MASK


def rows_of(state: WorldState, service: str, table: str) -> dict[str, JsonObject]:
    """Return all rows of a table by id, in order."""
    found = state.table(service, table)
    return {row_id: found.rows[row_id].values for row_id in found.ids}


def row_of(state: WorldState, service: str, table: str, row_id: str) -> JsonObject | None:
    """Return one row, or None when the service, the table or the row is not there."""
    tables = state.services.get(service)
    found = None if tables is None else tables.get(table)
    return None if found is None else found.values_of(row_id)


def state_hash(state: WorldState) -> str:
    """Return the hash (32 hex digits) of all rows; the clock is not part of it."""
    return f"{state.digest:032x}"


def diff_states(before: WorldState, after: WorldState) -> tuple[RowChange, ...]:
    """Return the rows that differ, by service, table and id.

    Tables that two states share cost nothing; a table that was written to is compared row by row
    through the identity of its rows. The engine's own changes are the cheap way; this is for states
    without a history.
    """
    changes: list[RowChange] = []
    for service in sorted(set(before.services) | set(after.services)):
        old_tables = before.services.get(service) or immutables.Map()
        new_tables = after.services.get(service) or immutables.Map()
        for name in sorted(set(old_tables) | set(new_tables)):
            old, new = old_tables.get(name) or Table(), new_tables.get(name) or Table()
            if old is not new and old.digest != new.digest:
                changes.extend(_diff_tables(service, name, old, new))
    return tuple(changes)


def _diff_tables(service: str, name: str, old: Table, new: Table) -> Iterator[RowChange]:
    differing = [
        row_id
        for row_id in set(old.rows) | set(new.rows)
        if (left := old.rows.get(row_id)) is not (right := new.rows.get(row_id))
        and (left is None or right is None or left.digest != right.digest)
    ]
    for row_id in sorted(differing):
        before, after = old.values_of(row_id), new.values_of(row_id)
        yield row_change(service, name, row_id, before, after, "diff")


def row_change(
    service: str,
    table: str,
    row_id: str,
    before: JsonObject | None,
    after: JsonObject | None,
    cause: str,
) -> RowChange:
    """Return a change whose parts are right already (validated rows, names of tables)."""
    return assembled(
        RowChange,
        {
            "service": service,
            "table": table,
            "row_id": row_id,
            "before": before,
            "after": after,
            "cause": cause,
        },
    )


def net_changes(changes: Iterable[RowChange]) -> tuple[RowChange, ...]:
    """Merge the changes of a run into one per row, by service, table and id.

    The cost grows with the changes alone. Rows that ended as they began are left out.
    """
    merged: dict[tuple[str, str, str], RowChange] = {}
    undone: set[tuple[str, str, str]] = set()
    for change in changes:
        key = (change.service, change.table, change.row_id)
        first = merged.get(key)
        if first is None:
            merged[key] = change
            continue
        merged[key] = row_change(*key, first.before, change.after, change.cause)
        if same(first.before, change.after):
            undone.add(key)
        else:
            undone.discard(key)
    return tuple(merged[key] for key in sorted(merged.keys() - undone))
