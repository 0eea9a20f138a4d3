"""Laws of reads: rows are shown as they are, filters filter, pages follow, sorting sorts.

Owns what every list keeps to where no documentation says otherwise. A parameter is taken by its
name: one called like a column filters by it, `limit` limits, `sort_by` sorts. The laws see calls
and rows, and of the blueprint only which table a tool is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from components.environment.gates.probe import Prober, Seen, absent_value
from components.environment.gates.promises import bare_schema, scalar_kind, words
from components.environment.gates.shown import (
    Columns,
    filter_column,
    fits_filter,
    fits_name,
    is_in_some_order,
    is_kin,
    row_shown,
    shared,
    shown_lists,
    shown_objects,
)
from components.environment.names import snake, tokens
from components.environment.values import same
from components.records.frozen import FrozenDict, JsonObject, canonical_json

GATE = "law"
_PAGE = 10
"""Rows that a page may hold where nothing says how many."""
_CALLS = 20
_BASES = 3
"""Answered calls that others are made from."""
_CONTROLS = (
    "limit_words", "cursor_words", "offset_words", "page_words", "sort_words", "order_words",
)  # fmt: skip

Results = list[tuple[JsonObject, Seen]]
Rows = tuple[Mapping[str, Any], ...]


def judge_shown(
    prober: Prober, name: str, columns: Columns, arguments: JsonObject, seen: Seen
) -> None:
    """Objects that look like rows of the table are rows of it, as they are after the call."""
    rows = dict(prober.rows(columns.table, seen.state))
    for change in seen.changes:
        if change.after is None and change.before and change.table == columns.table:
            rows.setdefault(change.row_id, change.before)
    for item in shown_objects(seen.data):
        given = {n for n in item if n in arguments and same(item[n], arguments[n])}
        fields = shared(item, columns, but=given)
        if fields and row_shown(item, fields, rows, columns.key) is None:
            expected = f"a row of {columns.table} as it is"
            prober.fail(name, GATE, "rows are shown as they are", arguments, expected, seen.told())
            return


class ReadLaws:
    """The laws of one list or search. Lives while that tool is judged."""

    def __init__(self, prober: Prober, name: str, columns: Columns, results: Results) -> None:
        self._prober, self._name, self._columns = prober, name, columns
        self._rows = prober.rows(columns.table)
        self._properties: Mapping[str, Any] = (
            prober.spec.tools[name].input_schema.get("properties") or {}
        )
        self._answered = [
            (arguments, seen, items)
            for arguments, seen in results[:_CALLS]
            if seen.is_ok and (items := self._list(seen.data)) is not None
        ]
        self._control = {
            kind: next(
                (item for item in sorted(self._properties) if snake(item) in words(kind)), None
            )
            for kind in _CONTROLS
        }
        self._inert = self._inert_arguments()

    def judge(self) -> None:
        """Test all laws on the calls that were answered."""
        for arguments, seen, items in self._answered:
            self._filters(arguments, seen, items)
        self._all_at_once()
        self._absent_shows_nothing()
        self._nonsense()
        self._findable()
        self._bounded()
        plain = [call for call in self._answered if not self._controls_in(call[0])]
        for arguments, seen, items in sorted(plain, key=lambda call: -len(call[2]))[:2]:
            self._total(arguments, seen, items)
            self._in_order(arguments, items)
            if len(items) > 1:
                self._limit(arguments, items)
                self._passed_over(arguments, items)
                self._sorted(arguments)

    def judge_totals(self) -> None:
        """Test only that totals count."""
        for arguments, seen, items in self._answered:
            if not self._controls_in(arguments):
                self._total(arguments, seen, items)

    def _list(self, data: Any) -> Rows | None:
        """Return the one list of rows in an answer, or None."""
        lists = shown_lists(data)
        return lists[0] if len(lists) == 1 else None

    def _fail(self, rule: str, arguments: Mapping[str, Any], expected: str, came: str) -> None:
        self._prober.fail(self._name, GATE, rule, arguments, expected, came)

    def _again(
        self, arguments: JsonObject, more: Mapping[str, Any]
    ) -> tuple[JsonObject, Seen, Rows] | None:
        """Call with more arguments; None where the schema or the tool does not take them."""
        changed: JsonObject = FrozenDict({**arguments, **more})
        if not self._prober.is_valid(self._name, changed):
            return None
        seen = self._prober.call(self._name, changed)
        items = self._list(seen.data) if seen.is_ok else None
        return None if items is None else (changed, seen, items)

    def _controls_in(self, arguments: Mapping[str, Any]) -> set[str]:
        return {name for name in self._control.values() if name is not None and name in arguments}

    def _row(self, item: Mapping[str, Any]) -> JsonObject | None:
        fields = shared(item, self._columns) or sorted(set(item) & self._columns.names)
        return row_shown(item, fields, self._rows, self._columns.key) if fields else None

    def _filters(self, arguments: JsonObject, seen: Seen, items: Rows) -> None:
        """Rows that are shown fit what was asked for, and where that is all, none is left out."""
        whole = self._prober.whole(self._name, arguments)
        found = self._filters_in(whole)
        shown = [row for item in items if (row := self._row(item)) is not None]
        for name, column in found.items():
            wanted = whole[name]
            if not self._is_comparable(column, wanted):
                continue
            for row in shown:
                if not _on_side(name, row[column], wanted):
                    expected = f"only rows whose {column} fits {name}"
                    came = f"a row with {column} {row[column]!r}"
                    return self._fail("a filter filters", arguments, expected, came)
        self._complete(whole, found, shown, len(items), seen)
        return None

    def _is_comparable(self, column: str, wanted: Any) -> bool:
        held = [row[column] for row in self._rows.values() if row[column] is not None]
        return bool(held) and all(is_kin(item, wanted) for item in held)

    def _filters_in(self, arguments: Mapping[str, Any]) -> dict[str, str]:
        """Return the columns that arguments filter by, by argument."""
        found = {}
        for name, value in arguments.items():
            word = snake(name)
            is_control = any(word in words(kind) for kind in _CONTROLS)
            if is_control or word in words("query_words") | words("hidden") | words("formats"):
                continue
            if _side(name) and isinstance(value, str):
                continue  # a day that bounds, of whatever column
            tool = self._prober.spec.tools[self._name]
            column = filter_column(self._columns, name, value, tool)
            if column is not None:
                found[name] = column
        return found

    def _complete(
        self,
        whole: JsonObject,
        found: Mapping[str, str],
        shown: list[JsonObject],
        num_shown: int,
        seen: Seen,
    ) -> None:
        """Every row that equals what was asked for in all respects is shown."""
        limit, most = self._control["limit_words"], _PAGE
        if limit is not None and type(whole.get(limit)) in (int, float):
            most = int(whole[limit])
        unsaid = set(whole) - set(found) - self._controls_in(whole)
        if not unsaid <= self._inert or not self._is_first_page(whole):
            return
        wanted = [row for row in self._rows.values() if self._is_asked_for(row, whole, found)]
        ids = {row[self._columns.key] for row in shown}
        missing = [row for row in wanted if row[self._columns.key] not in ids]
        if missing and len(shown) == num_shown and num_shown < min(len(wanted), most):
            expected = f"{len(wanted)} rows of {self._columns.table}"
            self._fail("no row is left out", whole, expected, seen.told())

    def _is_first_page(self, whole: Mapping[str, Any]) -> bool:
        page = self._control["page_words"]
        if page is not None and whole.get(page) not in (None, self._first_page(page)):
            return False
        passing = (self._control["offset_words"], self._control["cursor_words"])
        return all(whole.get(name) in (None, 0, "") for name in passing if name is not None)

    def _all_at_once(self) -> None:
        """The first page that is large enough shows all."""
        limit = self._control["limit_words"]
        if limit is None or not self._answered:
            return
        arguments = min(self._answered, key=lambda call: len(call[0]))[0]
        for most in (100, 50, 20):
            again = self._again(arguments, {limit: most})
            if again is not None:
                self._filters(*again)
                self._total(*again)
                return

    def _inert_arguments(self) -> frozenset[str]:
        """Return arguments that filter nothing: another value shows the same rows."""
        if not self._answered:
            return frozenset()
        arguments, _, items = min(self._answered, key=lambda call: len(call[0]))
        found: set[str] = set()
        for name in self._properties:
            is_asked = snake(name) in words("query_words") or self._filters_in({name: ""})
            if is_asked or _side(name) or name in self._control.values() or not items:
                continue
            values = [call[0][name] for call in self._answered if name in call[0]]
            others = [value for value in values if value != arguments.get(name)][:2]
            seen = [again for v in others if (again := self._again(arguments, {name: v}))]
            if seen and all(again[2] == items for again in seen):
                found.add(name)
        return frozenset(found)

    def _absent_shows_nothing(self) -> None:
        """Where a value decides what is shown, one that nothing holds shows nothing."""
        for name, schema in sorted(self._properties.items()):
            is_said = name in self._control.values() or snake(name) in words("query_words")
            if is_said or _side(name) or not scalar_kind(schema) or name in self._inert:
                continue
            calls = [call for call in self._answered if name in call[0] and call[2]]
            if not calls:
                continue
            arguments, _, items = min(calls, key=lambda call: len(call[0]))
            absent = absent_value(self._prober, self._name, arguments, name)
            again = None if absent is None else self._again(arguments, {name: absent})
            if again is None or not again[2]:
                continue
            ids = [{canonical_json(item) for item in part} for part in (items, again[2])]
            if ids[0] != ids[1]:
                expected = f"no row: {name} names nothing"
                self._fail("what is not there is not shown", again[0], expected, again[1].told())

    def _is_asked_for(self, row: JsonObject, whole: JsonObject, found: Mapping[str, str]) -> bool:
        return fits_name(self._name, row, self._rows.values()) and all(
            any(same(row[column], item) for item in _each(whole[name]))
            for name, column in found.items()
        )

    def _nonsense(self) -> None:
        """What stands in no row is not found."""
        queries = [name for name in self._properties if snake(name) in words("query_words")]
        rest = {self._columns.key, "id"}
        texts = {n for row in self._rows.values() for n, v in row.items() if isinstance(v, str)}
        if len(queries) != 1 or not texts - rest:
            return
        is_list = bare_schema(self._properties[queries[0]]).get("type") == "array"
        nonsense = ["zqxjkvw"] if is_list else "zqxjkvw"
        for arguments, _, _ in self._answered[:_BASES]:
            again = self._again(arguments, {queries[0]: nonsense})
            if again is not None and again[2]:
                self._fail("nonsense is not found", again[0], "no row", again[1].told())
                return

    def _findable(self) -> None:
        """Every row is found by a word that stands in it."""
        queries = [name for name in self._properties if snake(name) in words("query_words")]
        is_text = len(queries) == 1 and scalar_kind(self._properties[queries[0]]) == "string"
        if not is_text or "by" in tokens(self._name):  # by one field alone
            return None
        required = self._prober.spec.tools[self._name].input_schema.get("required") or ()
        for row in list(self._rows.values())[:_PAGE]:
            word = _word_in(row, self._columns.key)
            arguments: JsonObject = FrozenDict({queries[0]: word})
            if word is None or set(required) - {queries[0]}:
                continue
            whole = self._prober.whole(self._name, arguments)
            found = self._filters_in(whole)
            others = set(whole) - set(found) - self._controls_in(whole) - {queries[0]}
            again = None if others else self._again(arguments, {})
            if again is None or not self._is_asked_for(row, whole, found):
                continue
            limit = self._control["limit_words"]
            most = whole.get(limit) if limit is not None else None
            shown = [self._row(item) for item in again[2]]
            is_all = len(shown) < (most if isinstance(most, (int, float)) else _PAGE)
            if row not in shown and None not in shown and is_all:
                expected = f"the row {row[self._columns.key]!r}, which holds {word!r}"
                return self._fail("a word finds its row", again[0], expected, again[1].told())
        return None

    def _bounded(self) -> None:
        """A later start and an earlier end show no row more, and the last of all none."""
        for name, schema in sorted(self._properties.items()):
            side, kind = _side(name), scalar_kind(schema)
            if not side or not kind or not self._answered or name in self._control.values():
                continue
            values = self._moments() if kind == "string" else self._amounts(name)
            widest = sorted(self._answered, key=lambda call: -len(call[2]))[:_BASES]
            for arguments, _, _ in widest if values else ():
                if self._is_unbounded(name, side, arguments, values):
                    break

    def _is_unbounded(self, name: str, side: str, arguments: JsonObject, values: list[Any]) -> bool:
        """Record a failure where a narrower bound shows a row that a wider one does not."""
        seen = [again for v in values if (again := self._again(arguments, {name: v}))]
        if side == "to":
            seen.reverse()
        for wider, narrower in pairwise(seen):
            if any(item not in wider[2] for item in narrower[2]):
                expected = f"no row that {wider[0][name]!r} leaves out"
                self._fail("a bound bounds", narrower[0], expected, narrower[1].told())
                return True
        return False

    def _moments(self) -> list[str]:
        """Return days that rows hold, the earliest first."""
        held = {
            value[:10]
            for row in self._rows.values()
            for value in row.values()
            if isinstance(value, str) and value[:4].isdigit() and value[4:5] == "-"
        }
        return sorted(held)[:: max(1, len(held) // 5)]

    def _amounts(self, name: str) -> list[Any]:
        """Return rising numbers of the column that a bound speaks of."""
        stem = set(tokens(name)) - words("from_words") - words("to_words")
        columns = [c for c in sorted(self._columns.names) if stem and stem <= set(tokens(c))]
        if not columns or name in self._columns.names:
            return []
        held = {row[columns[0]] for row in self._rows.values()}
        numbers = sorted(value for value in held if type(value) in (int, float))
        return numbers[:: max(1, len(numbers) // 5)]

    def _total(self, arguments: JsonObject, seen: Seen, items: Rows) -> None:
        """A total that is shown counts the rows, on every page."""
        totals = _totals(seen.data)
        if not totals:
            return
        name, total = totals[0]
        limit = self._control["limit_words"]
        whole = self._prober.whole(self._name, arguments)
        most = whole.get(limit) if limit is not None else None
        is_all = len(items) < (most if isinstance(most, (int, float)) else _PAGE)
        if total < len(items) or (total != len(items) and is_all):
            expected = f"{name} {len(items)}"
            self._fail("a total counts", arguments, expected, f"{name} {total}")
        again = self._again(arguments, {limit: 1}) if limit is not None else None
        if again is not None and (counted := dict(_totals(again[1].data)).get(name)) != total:
            expected = f"{name} {total} on every page"
            self._fail("a total counts", again[0], expected, f"{name} {counted}")

    def _in_order(self, arguments: JsonObject, items: Rows) -> None:
        """Rows come in the order of their table where nobody, nor the tool's name, asks for one."""
        sorts = self._control["sort_words"] or self._control["order_words"]
        rows = [row for item in items if (row := self._row(item)) is not None]
        ids = [row[self._columns.key] for row in rows]
        if not words("ordering").isdisjoint(tokens(self._name)) and is_in_some_order(rows):
            return
        if not sorts and ids != sorted(ids):
            came = f"{ids[0]} before {ids[1]}"
            self._fail("rows come in order", arguments, "rows in the order of their table", came)

    def _limit(self, arguments: JsonObject, whole: Rows) -> None:
        limit = self._control["limit_words"]
        if limit is None or scalar_kind(self._properties[limit]) != "integer":
            return
        for most in (1, 2):
            again = self._again(arguments, {limit: most})
            if again is not None and again[2] != whole[:most]:
                expected = f"the first {most} of {len(whole)} rows"
                self._fail("a limit holds", again[0], expected, again[1].told())

    def _passed_over(self, arguments: JsonObject, whole: Rows) -> None:
        """What an offset or a page passes over is what was shown before."""
        limit = self._control["limit_words"]
        size = {limit: 1} if limit is not None else {}
        offset, page = self._control["offset_words"], self._control["page_words"]
        for place in range(min(3, len(whole))):
            if offset is not None:
                again = self._again(arguments, {**size, offset: place})
            elif page is not None and (size or place == 0):
                again = self._again(arguments, {**size, page: place + self._first_page(page)})
            else:
                return
            if again is None:
                return
            wanted = whole[place : place + 1] if size else whole[place:]
            if again[2][: len(wanted)] != wanted or (size and len(again[2]) != 1):
                expected = f"rows from the {place + 1}. on"
                self._fail("pages follow one another", again[0], expected, again[1].told())

    def _first_page(self, page: str) -> int:
        schema = self._properties[page]
        marks = (
            (schema.get("default"), schema.get("minimum")) if isinstance(schema, Mapping) else ()
        )
        return 0 if 0 in [mark for mark in marks if mark is not None] else 1

    def _sorted(self, arguments: JsonObject) -> None:
        by, order = self._control["sort_words"], self._control["order_words"]
        if by is None:
            return
        schema = self._properties[by]
        choices = list(schema.get("enum") or ()) if isinstance(schema, Mapping) else []
        for value in (choices or sorted(self._columns.names))[:8]:
            spoken = [part for part in tokens(str(value)) if part not in _directions()]
            column = self._columns.find("_".join(spoken)) if spoken else None
            if column is None or not isinstance(value, str):
                continue
            for direction in self._orders(order):
                given = {by: value} if direction is None else {by: value, str(order): direction}
                again = self._again(arguments, given)
                if again is None or (direction is None and self._has_default(order)):
                    continue
                is_down = set(tokens(f"{value} {direction or ''}")) & words("down_words")
                self._is_sorted(again, column, is_down=bool(is_down))

    def _orders(self, order: str | None) -> list[Any]:
        if order is None:
            return [None]
        schema = self._properties[order]
        choices = list(schema.get("enum") or ()) if isinstance(schema, Mapping) else []
        plain = [item for item in choices if isinstance(item, str) and snake(item) in _directions()]
        return [None, *(plain or (["asc", "desc"] if scalar_kind(schema) == "string" else []))]

    def _has_default(self, order: str | None) -> bool:
        schema = self._properties.get(order or "")
        return isinstance(schema, Mapping) and schema.get("default") is not None

    def _is_sorted(
        self, again: tuple[JsonObject, Seen, Rows], column: str, *, is_down: bool
    ) -> None:
        arguments, _, items = again
        rows = [row for item in items if (row := self._row(item)) is not None]
        values = [row[column] for row in rows if row[column] is not None]
        kinds = {type(value) for value in values}
        if len(rows) != len(items) or not (kinds <= {int, float} or kinds == {str}):
            return
        if values != sorted(values, reverse=is_down):
            expected = f"rows by {column}, {'falling' if is_down else 'rising'}"
            came = f"{values[0]!r} before {values[1]!r}"
            self._fail("sorting sorts", arguments, expected, came)


def _side(name: str) -> str:
    """Return `from` or `to` for a parameter that bounds from below or above, else an empty text."""
    parts = set(tokens(name))
    below, above = parts & words("from_words"), parts & words("to_words")
    return "" if bool(below) == bool(above) else "from" if below else "to"


def _on_side(name: str, held: Any, wanted: Any) -> bool:
    """True when a value fits a filter, or lies where a bound of this name leaves it."""
    if fits_filter(held, wanted):
        return True
    side = _side(name)
    if side and held is None:
        return True
    try:
        if side == "from":
            return bool(held >= wanted)
        return side == "to" and bool(held <= (f"{wanted}~" if isinstance(wanted, str) else wanted))
    except TypeError:
        return False


def _word_in(row: JsonObject, key: str) -> str | None:
    """Return a word of a row's prose, or None."""
    for name, value in sorted(row.items()):
        if name != key and isinstance(value, str) and " " in value:
            plain = [word for word in value.split() if word.isalpha() and len(word) > 3]
            if plain:
                return plain[-1]
    return None


def _directions() -> frozenset[str]:
    return words("down_words") | words("up_words")


def _each(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _totals(data: Any) -> list[tuple[str, int]]:
    if not isinstance(data, Mapping):
        return []
    return [
        (name, value)
        for name, value in sorted(data.items())
        if snake(name) in words("total_words") and type(value) is int
    ]
