"""Laws of writes: what is given is stored, only what is named changes, links and names stay whole.

Owns what every write keeps to where no documentation says otherwise. Names of parameters say which
column they mean; of the blueprint the laws see only operations, tables and their links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.environment.gates.bindings import bindings_of
from components.environment.gates.probe import GATE_NOW, Prober, Seen, absent_value
from components.environment.gates.promises import may_meet_what_is_there, words
from components.environment.gates.shown import (
    Columns,
    given_values,
    is_kin,
    row_shown,
    shared,
    shown_objects,
    spread,
    steps_back,
)
from components.environment.names import is_id_of, snake, tokens
from components.environment.values import same
from components.records.blueprint import Blueprint, FieldType, Operation, ToolBlueprint
from components.records.calls import RowChange
from components.records.frozen import FrozenDict, JsonObject, freeze

GATE = "law"
_ON_ONE_ROW = frozenset({Operation.UPDATE, Operation.TRANSITION, Operation.LINK})
_PARENT_OF_WHOLE = frozenset({Operation.APPEND})
_MOVES = frozenset({Operation.TRANSITION, Operation.DETACH, Operation.DELETE})

_KINDS: Mapping[FieldType, tuple[type, ...]] = {
    FieldType.STRING: (str,),
    FieldType.TIMESTAMP: (str,),
    FieldType.INTEGER: (int,),
    FieldType.NUMBER: (int, float),
    FieldType.BOOLEAN: (bool,),
    FieldType.ARRAY: (tuple,),
    FieldType.OBJECT: (Mapping,),
}

Results = list[tuple[JsonObject, Seen]]


class WriteLaws:
    """The laws of one undocumented write. Lives while that tool is judged."""

    def __init__(self, prober: Prober, blueprint: Blueprint, name: str, columns: Columns) -> None:
        self._prober, self._blueprint, self._name = prober, blueprint, name
        self._tool: ToolBlueprint = blueprint.tools[name]
        self._columns = columns

    def judge(self, results: Results) -> None:
        """Test all laws on the calls that were answered."""
        for arguments, seen in results:
            if not seen.is_ok:
                continue
            own = [change for change in seen.changes if change.cause.startswith("effect:")]
            self._something_happens(arguments, seen, own)
            self._new_rows_hold(arguments, own)
            self._changed_rows_hold(arguments, seen)
            self._shows_its_own(arguments, seen, own)
            self._only_named_rows(arguments, own)
            self._children_go(seen, own)
            self._names_stay_unique(seen, own)
        self._links_name_rows(results)
        self._twice(results)

    def _fail(self, rule: str, arguments: Mapping[str, Any], expected: str, came: str) -> None:
        self._prober.fail(self._name, GATE, rule, arguments, expected, came)

    def _something_happens(self, arguments: JsonObject, seen: Seen, own: list[RowChange]) -> None:
        """A move, a removal or a new row that is answered as done was done."""
        lists = [item for _, item in given_values(arguments) if isinstance(item, tuple)]
        is_move = self._tool.operation in _MOVES and bool(arguments)
        is_new = self._tool.operation in (Operation.CREATE, Operation.APPEND)
        is_new = is_new and not may_meet_what_is_there(self._prober.spec.tools[self._name])
        is_move = is_move and words("twice").isdisjoint(tokens(self._name))
        if not own and not lists and (is_move or is_new):
            self._fail("what is done is done", arguments, "a change, or an error", seen.told())

    def _new_rows_hold(self, arguments: JsonObject, own: list[RowChange]) -> None:
        """A new row holds what was given for its columns; a list gives as many rows."""
        made = [c for c in own if c.before is None and c.table == self._columns.table]
        if not made or self._tool.operation not in (Operation.CREATE, Operation.APPEND):
            return
        entity = self._blueprint.entities[self._columns.table]
        if len(made) > 1:
            self._a_row_each(arguments, made)
            return
        row: JsonObject = made[0].after or FrozenDict()
        for column, value in self._stored(arguments, row):
            held, body = row[column], entity.fields[column]
            is_lost = held is None and value not in ((), {}, "")
            is_other = (is_lost or is_kin(held, value)) and freeze(held) != freeze(value)
            is_given = not body.generated and not body.link
            if is_other and is_given and self._column_takes(column, value):
                self._fail(
                    "a new row holds what is given", arguments,
                    f"{column} {value!r}", f"{column} {held!r}",
                )  # fmt: skip
                return

    def _changed_rows_hold(self, arguments: JsonObject, seen: Seen) -> None:
        """The row that a change names holds afterwards what was given for its columns."""
        if self._tool.operation not in _ON_ONE_ROW | {Operation.APPEND}:
            return
        row = self._named_row(arguments, seen)
        if row is None or any(change.before is None for change in seen.changes):
            return  # what is added has a row of its own
        entity = self._blueprint.entities[self._columns.table]
        for column, value in self._stored(arguments, row):
            held = row[column]
            is_in = isinstance(held, (str, tuple, Mapping)) and _holds_part(held, value)
            is_same = freeze(held) == freeze(value) or is_in
            is_given = not entity.fields[column].generated
            if not is_same and is_given and self._column_takes(column, value):
                self._fail(
                    "a change keeps what is given", arguments,
                    f"{column} {value!r}", f"{column} {held!r}",
                )  # fmt: skip
                return

    def _named_row(self, arguments: JsonObject, seen: Seen) -> JsonObject | None:
        """Return the row, after the call, that the arguments name, or None."""
        rows = self._prober.rows(self._columns.table)
        found = dict(rows) if len(rows) == 1 else {}
        for binding in bindings_of(self._blueprint, self._tool):
            if binding.is_one and binding.table == self._columns.table:
                found = {
                    row_id: row
                    for row_id, row in rows.items()
                    if all(
                        same(row.get(pair.column), value)
                        for pair in binding.pairs
                        if (value := _at(arguments, pair.path)) is not None
                    )
                }
        after = self._prober.rows(self._columns.table, seen.state)
        return after.get(next(iter(found))) if found else None

    def _shows_its_own(self, arguments: JsonObject, seen: Seen, own: list[RowChange]) -> None:
        """A write that shows rows of its table shows one that it wrote."""
        touched = [c.after or c.before for c in own if c.table == self._columns.table]
        rows = self._prober.rows(self._columns.table, seen.state)
        shown = [
            row
            for item in shown_objects(seen.data)
            if (fields := shared(item, self._columns, but=arguments))
            and (row := row_shown(item, fields, rows, self._columns.key)) is not None
        ]
        if touched and shown and not any(row == other for row in shown for other in touched):
            expected = "the row that was written"
            self._fail("a write shows what it wrote", arguments, expected, seen.told())

    def _stored(self, arguments: JsonObject, row: JsonObject) -> Iterator[tuple[str, Any]]:
        """Yield the columns that arguments of the same name plainly give a value."""
        bound = {
            pair.path[0]
            for binding in bindings_of(self._blueprint, self._tool)
            for pair in binding.pairs
        }
        for name, value in spread(arguments, set(row) - self._made()):
            word, parts = snake(name), tokens(name)
            is_id = bool(parts) and parts[-1] in words("key_ends")
            is_named = is_id and self._tool.operation is Operation.APPEND
            if name in bound or is_named or word in words("hidden") | words("formats"):
                continue
            column = word[4:] if word.startswith("new_") and word[4:] in row else name
            if column in row and value is not None and value not in ((), {}):
                yield column, value
            elif isinstance(value, Mapping):
                yield from ((n, v) for n, v in value.items() if n in row and v is not None)

    def _made(self) -> set[str]:
        """Return the columns that the service fills itself."""
        fields = self._blueprint.entities[self._columns.table].fields
        return {name for name, body in fields.items() if body.generated}

    def _column_takes(self, column: str, value: Any) -> bool:
        """True where a value is of a column's type."""
        kind = self._blueprint.entities[self._columns.table].fields[column].type
        is_flag = isinstance(value, bool)
        return (
            kind in _KINDS
            and isinstance(value, _KINDS[kind])
            and is_flag == (kind is FieldType.BOOLEAN)
        )

    def _a_row_each(self, arguments: JsonObject, made: list[RowChange]) -> None:
        sizes = {len(item) for _, item in given_values(arguments) if isinstance(item, tuple)}
        if sizes and len(made) not in sizes:
            expected = f"{max(sizes)} rows"
            self._fail("each of a list is stored", arguments, expected, f"{len(made)} rows")

    def _only_named_rows(self, arguments: JsonObject, own: list[RowChange]) -> None:
        """Rows that change or go are those that the arguments name."""
        table = self._columns.table
        hit = [c for c in own if c.before is not None and c.table == table and not steps_back(c)]
        lists = any(isinstance(item, tuple) for _, item in given_values(arguments))
        if self._tool.operation in _ON_ONE_ROW and len(hit) > 1 and arguments and not lists:
            expected, came = "one row changes", f"{len(hit)} rows changed"
            self._fail("only what is named changes", arguments, expected, came)
        ids = [(n, v) for n, v in given_values(arguments) if self._names_a_row(n, v)]
        elements = [e for v in arguments.values() if isinstance(v, tuple) for e in v]
        inner = [v for e in elements if isinstance(e, Mapping) for v in e.values()]
        for change in hit:
            before: JsonObject = change.before or FrozenDict()
            for name, value in ids:
                column = self._columns.find(name)
                if column is None or not is_kin(before.get(column), value):
                    continue
                values = (*(value if isinstance(value, tuple) else (value,)), *inner)
                if not any(same(before[column], item) for item in values):
                    expected = f"only rows with {column} {value!r}"
                    came = f"a row with {column} {before[column]!r}"
                    self._fail("only what is named changes", arguments, expected, came)
                    return
        if self._tool.operation in _ON_ONE_ROW:
            self._only_named_fields(arguments, hit)

    def _names_a_row(self, name: str, value: Any) -> bool:
        is_plain = isinstance(value, (str, int, tuple)) and not isinstance(value, bool)
        return is_plain and is_id_of(snake(name).removesuffix("s"), self._columns.table)

    def _only_named_fields(self, arguments: JsonObject, hit: list[RowChange]) -> None:
        """Fields that a change sets were given, or are times and states that the verb sets."""
        if self._tool.operation is not Operation.TRANSITION:
            return
        whole = self._prober.whole(self._name, arguments)
        given = {self._columns.find(name) for name, _ in given_values(whole)}
        for change in hit:
            before, after = change.before or FrozenDict(), change.after or FrozenDict()
            changed = {name for name in after if not same(after[name], before.get(name))}
            others = {name for name in changed - given if after[name] != GATE_NOW}
            if len(others) > 1:
                expected = "one state changes"
                came = f"{', '.join(sorted(others))} changed"
                self._fail("only what is named changes", arguments, expected, came)
                return

    def _children_go(self, seen: Seen, own: list[RowChange]) -> None:
        """Rows that are added to others (by an append) go with them."""
        gone = {c.row_id: c.before for c in own if c.after is None and c.before is not None}
        gone = {i: row for i, row in gone.items() if row and self._columns.key in row}
        if not gone:
            return
        for child, column, place in self._children():
            left = {
                row[column]: row_id
                for row_id, row in self._prober.rows(child, seen.state).items()
                if row.get(column) is not None
            }
            orphans = [row for row in gone.values() if row and row.get(place) in left]
            if orphans:
                row_id = left[orphans[0][place]]
                expected = f"the {child} rows of what is deleted go with it"
                self._fail("children go too", FrozenDict(), expected, f"{child}/{row_id} is left")

    def _children(self) -> Iterator[tuple[str, str, str]]:
        """Yield (child table, its column, the column of this table that it holds)."""
        for _, tool in sorted(self._blueprint.tools.items()):
            if tool.operation is not Operation.APPEND or tool.entity in (None, self._columns.table):
                continue
            for name, body in sorted(self._blueprint.entities[tool.entity or ""].fields.items()):
                service, _, place = (body.link or "").partition(".")
                table, _, column = place.partition(".")
                looked = {lookup.table for lookup in tool.lookups.values()}
                if service == self._blueprint.service and table == self._columns.table in looked:
                    yield tool.entity or "", name, column or self._columns.key

    def _names_stay_unique(self, seen: Seen, own: list[RowChange]) -> None:
        """What names one row for a get names one row still."""
        made = [c for c in own if c.before is None and c.table == self._columns.table]
        if not made:
            return
        old = self._prober.rows(self._columns.table)
        new = self._prober.rows(self._columns.table, seen.state)
        for names in self._naming():
            held = [tuple(row.get(name) for name in names) for row in old.values()]
            if len(set(map(repr, held))) < len(held):
                continue
            after = [repr(tuple(row.get(name) for name in names)) for row in new.values()]
            if len(set(after)) < len(after):
                expected = f"one row by {', '.join(names)}"
                self._fail("names stay unique", made[0].after or {}, expected, "two rows")
                return

    def _naming(self) -> list[tuple[str, ...]]:
        """Return the columns by which gets of this table name a row."""
        found = []
        for _, tool in sorted(self._blueprint.tools.items()):
            if tool.operation is not Operation.GET or tool.entity != self._columns.table:
                continue
            for binding in bindings_of(self._blueprint, tool):
                if binding.is_one and binding.table == self._columns.table:
                    found.append(tuple(pair.column for pair in binding.pairs))
        return list(dict.fromkeys(found))

    def _links_name_rows(self, results: Results) -> None:
        """A value for a column that links to a table names a row of it."""
        entity = self._blueprint.entities[self._columns.table]
        worked = [arguments for arguments, seen in results if seen.is_ok and seen.changes]
        for name in sorted({name for arguments in worked for name in arguments}):
            column = self._columns.find(name)
            is_stored = column is not None and column in entity.fields and name not in ("id",)
            if not is_stored or not entity.fields[column or ""].link:
                continue
            arguments = next(item for item in worked if name in item)
            if not isinstance(arguments[name], (str, int)):
                continue
            absent = absent_value(self._prober, self._name, arguments, name)
            if absent is None:
                continue
            changed = FrozenDict({**arguments, name: absent})
            seen = self._prober.call(self._name, changed)
            if seen.is_ok and any(
                (c.after or FrozenDict()).get(str(column)) == absent for c in seen.changes
            ):
                expected = f"an error: {name} names nothing"
                self._fail("a link names a row", changed, expected, seen.told())

    def _twice(self, results: Results) -> None:
        """A move that has been made is refused, a removal of what is gone too."""
        if self._tool.operation not in _MOVES:
            return
        for arguments, seen in [item for item in results if item[1].is_ok and item[1].changes][:2]:
            lists = any(isinstance(item, tuple) for _, item in given_values(arguments))
            if lists or not arguments or set(tokens(self._name)) & words("twice"):
                continue
            again = self._prober.call(self._name, arguments, seen.state)
            if again.is_ok and not again.changes:
                expected = "an error: it has been done already"
                self._fail("what is done is done", arguments, expected, again.told())


def _at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = arguments
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _holds_part(held: Any, value: Any) -> bool:
    """True where a longer text or list, or an object with more parts, holds what was given."""
    if isinstance(held, str):
        return isinstance(value, str) and value in held
    if isinstance(held, Mapping):
        is_object = isinstance(value, Mapping)
        return is_object and all(same(held.get(key), item) for key, item in value.items())
    values = value if isinstance(value, tuple) else (value,)
    return all(any(same(item, other) for other in held) for item in values)
