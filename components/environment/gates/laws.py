"""Law gate: what every service of records obeys, whatever it is about.

Owns the state laws: reads are pure, the same call gives the same bytes, an error changes nothing,
what was created can be read and what was deleted cannot, an update writes what it is given and
touches nothing else, answers show rows as they are, and a state's hash does not know in which order
its rows came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import immutables

from components.environment.gates.bindings import argument_of
from components.environment.gates.naming import some_argument_decides
from components.environment.gates.probe import GATE_NOW, Prober, Seen, dicts_in
from components.environment.gates.promises import may_meet_what_is_there, words
from components.environment.gates.read_laws import ReadLaws, judge_shown
from components.environment.gates.self_tests import writes_rows
from components.environment.gates.shown import (
    Columns,
    given_values,
    is_named_by,
    names_within,
    spread,
    steps_back,
)
from components.environment.gates.variants import is_documented
from components.environment.gates.write_laws import WriteLaws
from components.environment.names import is_id_of, snake
from components.environment.state import Table, WorldState, row_of, state_hash
from components.records.blueprint import Blueprint, FunctionalClass, Operation, ToolBlueprint
from components.records.calls import ErrorCode, RowChange
from components.records.frozen import FrozenDict, JsonObject, canonical_json, freeze, thaw
from components.records.spec import ToolSpec

GATE = "law"
_REPEATED = 6
"""Calls of one tool that are made again: the engine holds no clock and no chance."""
_PAGED = 3
"""Answers of one tool that are read again page by page."""
Variants = Mapping[str, list[JsonObject]]


def run_laws(prober: Prober, blueprint: Blueprint, variants: Variants) -> None:
    """Test all laws; a tool that failed before is judged no more and judges no other."""
    _hash_of_reordered(prober)
    outcomes = {
        name: [(item, prober.call(name, item)) for item in variants.get(name, [])]
        for name in prober.tools
    }
    for name, results in outcomes.items():
        tool = blueprint.tools[name]
        _repeatable(prober, name, results)
        _pages(prober, name, results)
        for arguments, seen in results:
            _pure(prober, name, tool, arguments, seen)
            _shows_rows_as_they_are(prober, blueprint, name, tool, arguments, seen)
    _plain_laws(prober, blueprint, outcomes)
    readers = _readers(prober, blueprint)
    for name, results in outcomes.items():
        tool = blueprint.tools[name]
        if name in prober.failed():
            continue
        for arguments, seen in results:
            if not seen.is_ok:
                continue
            match tool.operation:
                case Operation.CREATE:
                    _created(prober, name, tool, arguments, seen, readers)
                case Operation.DELETE:
                    _deleted(prober, blueprint, name, tool, arguments, seen, readers)
                case Operation.UPDATE:
                    _updated(prober, name, tool, arguments, seen)
                case _:
                    pass
        answered = [item for item in results if item[1].is_ok]
        if (
            not writes_rows(tool)
            and answered
            and not any(_holds(seen.data) for _, seen in answered)
        ):
            prober.fail(
                name, GATE, "a read shows something", answered[0][0],
                "an answer that is not empty", answered[0][1].told(),
            )  # fmt: skip
        is_told = any(item for item, _ in results)  # what takes nothing may have been done already
        if writes_rows(tool) and is_told and not any(seen.changes for _, seen in results):
            first = results[0][0] if results else FrozenDict()
            prober.fail(name, GATE, "a write writes", first, "some call changes a row", "none did")


def _plain_laws(
    prober: Prober,
    blueprint: Blueprint,
    outcomes: Mapping[str, list[tuple[JsonObject, Seen]]],
) -> None:
    """Laws that go by names; where the documentation writes rules, only those on totals."""
    for name, results in outcomes.items():
        tool, spec = blueprint.tools[name], prober.spec.tools[name]
        if tool.entity is None or tool.simulated:
            continue
        key = blueprint.entities[tool.entity].key
        columns = Columns(tool.entity, key, prober.shape(tool.entity)[1])
        is_list = tool.operation in (Operation.LIST, Operation.SEARCH) or tool.query is not None
        if is_documented(spec) or spec.lists_output:
            if is_list:
                ReadLaws(prober, name, columns, results).judge_totals()
            continue
        for arguments, seen in results:
            if seen.is_ok:
                judge_shown(prober, name, columns, arguments, seen)
        some_argument_decides(prober, name, tool, results)
        if is_list:
            ReadLaws(prober, name, columns, results).judge()
        elif writes_rows(tool):
            WriteLaws(prober, blueprint, name, columns).judge(results)


def _holds(data: Any) -> bool:
    """True when an answer holds any value at all, at any depth."""
    if isinstance(data, Mapping):
        return any(_holds(item) for item in data.values())
    if isinstance(data, (list, tuple)):
        return any(_holds(item) for item in data)
    return data is not None


def _hash_of_reordered(prober: Prober) -> None:
    """Rows put in the other way round are the same state."""
    state = prober.initial
    service = prober.spec.service
    tables = state.services[service]
    for name in prober.tables:
        table = Table()
        old = state.table(service, name)
        for row_id in reversed(old.ids):
            table = table.put(row_id, old.rows[row_id])
        tables = tables.set(name, table)
    other = WorldState(immutables.Map({**state.services, service: tables}), state.now)
    if state_hash(other) != state_hash(state):
        prober.fail("", GATE, "order of rows", FrozenDict(), "the same hash", "another hash")


def _repeatable(prober: Prober, name: str, results: list[tuple[JsonObject, Seen]]) -> None:
    for arguments, seen in results[:_REPEATED]:
        again = prober.call_anew(name, arguments)
        same = canonical_json(again.envelope) == canonical_json(seen.envelope)
        if not same or state_hash(again.state) != state_hash(seen.state):
            prober.fail(name, GATE, "same call, same bytes", arguments, seen.told(), again.told())


def _pages(prober: Prober, name: str, results: list[tuple[JsonObject, Seen]]) -> None:
    """Pages of one row, read one after the other, are the rows of the whole answer."""
    properties = prober.spec.tools[name].input_schema.get("properties") or {}
    limits = [item for item in properties if snake(item) in words("limit_words")]
    cursors = [item for item in properties if snake(item) in words("cursor_words")]
    if len(limits) != 1 or len(cursors) != 1:
        return
    whole = [
        (arguments, rows)
        for arguments, seen in results
        if seen.is_ok and not set(limits + cursors) & set(arguments)
        if len(rows := _only_list(seen.data)) > 1
    ]
    for arguments, rows in whole[:_PAGED]:
        page: JsonObject = FrozenDict({**arguments, limits[0]: 1})
        if not prober.is_valid(name, page):
            return
        for row in rows:
            seen = prober.call(name, page)
            if not seen.is_ok or canonical_json(_only_list(seen.data)) != canonical_json([row]):
                prober.fail(
                    name, GATE, "pages follow one another", page,
                    f"the row {thaw(row)!r}"[:200], seen.told(),
                )  # fmt: skip
                return
            marks = [
                value
                for key, value in seen.data.items()
                if isinstance(value, str) and set(snake(key).split("_")) & {"cursor", "token"}
            ]
            if len(marks) != 1:
                if row is not rows[-1]:
                    prober.fail(
                        name, GATE, "a page names the next", page,
                        "a cursor: rows are left", seen.told(),
                    )  # fmt: skip
                return
            page = FrozenDict({**page, cursors[0]: marks[0]})


def _only_list(data: Any) -> tuple[Any, ...]:
    """Return the one list of an answer; empty when it has none or several."""
    lists = (
        [item for item in data.values() if isinstance(item, (list, tuple))]
        if isinstance(data, Mapping)
        else []
    )
    return tuple(lists[0]) if len(lists) == 1 else ()


def _pure(
    prober: Prober, name: str, tool: ToolBlueprint, arguments: JsonObject, seen: Seen
) -> None:
    is_unchanged = not seen.changes and seen.state is prober.initial
    if not seen.is_ok and not is_unchanged:
        prober.fail(name, GATE, "an error changes nothing", arguments, "no change", seen.told())
    hints = prober.spec.tools[name].annotations
    is_read = tool.functional is not FunctionalClass.WRITE or hints.get("readOnlyHint") is True
    if is_read and not is_unchanged:
        prober.fail(name, GATE, "reads are pure", arguments, "no change", seen.told())


def _shows_rows_as_they_are(
    prober: Prober,
    blueprint: Blueprint,
    name: str,
    tool: ToolBlueprint,
    arguments: JsonObject,
    seen: Seen,
) -> None:
    """Objects of an answer that hold a row's key agree with that row; a get shows the row it was
    asked for.
    """
    if not seen.is_ok or tool.entity is None or tool.operation is Operation.COMPUTE:
        return
    key = blueprint.entities[tool.entity].key
    rows = prober.rows(tool.entity, seen.state)
    shown: list[str] = []
    for item in dicts_in(seen.data):
        row = rows.get(item.get(key)) if isinstance(item.get(key), str) else None  # type: ignore[arg-type]
        if row is None or len(set(item) & set(row)) < 2:
            continue
        shown.append(row[key])
        wrong = [field for field in sorted(set(item) & set(row)) if item[field] != row[field]]
        if wrong and set(item) <= set(row):
            prober.fail(
                name, GATE, "rows are shown as they are", arguments,
                f"{wrong[0]} {row[wrong[0]]!r}", f"{wrong[0]} {item[wrong[0]]!r}",
            )  # fmt: skip
    if tool.operation is not Operation.GET or not shown:
        return
    column = "id" if "id" in blueprint.entities[tool.entity].fields else key
    for argument, value in arguments.items():
        if is_id_of(snake(argument), tool.entity) and isinstance(value, (str, int)):
            found = [rows[row_id].get(column) for row_id in shown]
            if value not in found:
                prober.fail(
                    name, GATE, "a get shows what was asked", arguments,
                    f"the row with {column} {value!r}", f"{found[0]!r}",
                )  # fmt: skip


def _readers(prober: Prober, blueprint: Blueprint) -> dict[str, list[tuple[str, str, str]]]:
    """Return, by table, the gets that take one argument: (tool, argument, field that it equals)."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for name in prober.tools:
        tool = blueprint.tools[name]
        if tool.operation is not Operation.GET or tool.entity is None or name in prober.failed():
            continue
        required = list(prober.spec.tools[name].input_schema.get("required") or ())
        own = [item for item in tool.lookups.values() if item.table == tool.entity]
        argument = argument_of(own[0].equals) if len(own) == 1 else None
        if len(tool.lookups) == 1 and required == [argument]:
            column = own[0].field or blueprint.entities[tool.entity].key
            found.setdefault(tool.entity, []).append((name, str(argument), column))
    return found


def _own(seen: Seen) -> list[RowChange]:
    return [change for change in seen.changes if change.cause.startswith("effect:")]


def _created(
    prober: Prober,
    name: str,
    tool: ToolBlueprint,
    arguments: JsonObject,
    seen: Seen,
    readers: Mapping[str, list[tuple[str, str, str]]],
) -> None:
    made = [c for c in _own(seen) if c.before is None and c.after and c.table == tool.entity]
    batch = [item for item in arguments.values() if isinstance(item, tuple)]
    if not made:
        if may_meet_what_is_there(prober.spec.tools[name]):
            return
        if tool.entity is not None and not (batch and not any(batch)):
            prober.fail(name, GATE, "a create creates", arguments, "a new row", seen.told())
        return
    for reader, argument, column in readers.get(tool.entity or "", []):
        row = made[0].after or FrozenDict()
        found = prober.call(reader, {argument: row[column]}, seen.state)
        if not found.is_ok:
            prober.fail(
                name, GATE, "create, then get", arguments,
                f"{reader} answers for {row[column]!r}", found.told(),
            )  # fmt: skip
            continue
        _read_back(prober, name, reader, arguments, found, row[column], column)


def _read_back(
    prober: Prober,
    name: str,
    reader: str,
    arguments: JsonObject,
    found: Seen,
    row_id: Any,
    column: str,
) -> None:
    """What a create was given, its get shows."""
    shown = next((item for item in dicts_in(found.data) if item.get(column) == row_id), None)
    if shown is None:
        return
    given = _plainly_written(prober.spec.tools[name], dict(spread(arguments, shown)))
    for field, value in given.items():
        is_held = freeze(shown.get(field)) == freeze(value or None)
        if field in shown and not is_held and freeze(shown[field]) != freeze(value):
            prober.fail(
                name, GATE, "create, then get", arguments,
                f"{reader} shows {field} {value!r}", f"{field} {shown[field]!r}",
            )  # fmt: skip


def _plainly_written(spec: ToolSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a field of the same name should hold, unless the documentation says
    otherwise.
    """
    said = {
        field: value for effect in spec.effects.values() for field, value in effect.fields.items()
    }
    return {
        name: value
        for name, value in arguments.items()
        if value is not None and said.get(name, f"$args.{name}") == f"$args.{name}"
    }


def _deleted(
    prober: Prober,
    blueprint: Blueprint,
    name: str,
    tool: ToolBlueprint,
    arguments: JsonObject,
    seen: Seen,
    readers: Mapping[str, list[tuple[str, str, str]]],
) -> None:
    if tool.entity is None:
        return
    gone = [c for c in _own(seen) if c.table == tool.entity and c.after is None and c.before]
    named = list(_named_rows(prober, blueprint, tool.entity, arguments))
    for row_id in named:
        if row_of(seen.state, prober.spec.service, tool.entity, row_id) is not None:
            gone_text = f"{tool.entity}/{row_id} is gone"
            prober.fail(name, GATE, "delete, then get", arguments, gone_text, "it is still there")
    for change in gone[:1]:
        for reader, argument, column in readers.get(tool.entity, []):
            value = (change.before or FrozenDict())[column]
            found = prober.call(reader, {argument: value}, seen.state)
            if found.code != ErrorCode.NOT_FOUND.value:
                prober.fail(
                    name, GATE, "delete, then get", arguments,
                    f"{reader} answers not_found for {value!r}", found.told(),
                )  # fmt: skip
    allowed = set(named)
    for change in gone:
        if named and change.row_id not in allowed:
            prober.fail(
                name, GATE, "a delete takes only what it names", arguments,
                f"only {', '.join(sorted(allowed))}", f"{change.row_id} went too",
            )  # fmt: skip


def _named_rows(
    prober: Prober, blueprint: Blueprint, table: str, arguments: JsonObject
) -> Iterator[str]:
    """Yield ids of rows whose key, or counted id, an argument holds, alone or in a list."""
    rows = prober.rows(table)
    columns = {blueprint.entities[table].key, "id"} & set(blueprint.entities[table].fields)
    given: set[Any] = set()
    for value in arguments.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, (str, int)) and not isinstance(item, bool):
                given.add(item)
    for row_id, row in rows.items():
        if any(row.get(column) in given for column in columns):
            yield row_id


def _updated(
    prober: Prober, name: str, tool: ToolBlueprint, arguments: JsonObject, seen: Seen
) -> None:
    spec = prober.spec.tools[name]
    own = _own(seen)
    written = {effect.table for effect in spec.effects.values()}
    touched = [item for item in own if item.table == tool.entity and not steps_back(item)]
    for change in own:
        if change.table != tool.entity and change.table not in written:
            prober.fail(
                name, GATE, "an update touches only what it names", arguments,
                f"only {tool.entity} changes", f"{change.table}/{change.row_id} changed",
            )  # fmt: skip
    sizes = [len(value) for value in arguments.values() if isinstance(value, tuple)]
    if len(touched) > max([1, *sizes]) and not written:
        prober.fail(
            name, GATE, "an update touches only what it names", arguments,
            "one row changes", f"{len(touched)} rows changed",
        )  # fmt: skip
    named = {field for effect in spec.effects.values() for field in effect.fields}
    flat = dict(given_values(prober.whole(name, arguments)))
    fields = prober.shape(tool.entity)[1] if tool.entity is not None else frozenset()
    columns = Columns(tool.entity or "", "", fields)
    inner = {*names_within(arguments), *flat}
    known = {*map(columns.find, inner), *inner, *named}
    for change in touched:
        before, after = change.before or FrozenDict(), change.after or FrozenDict()
        changed = [field for field in sorted(after) if after[field] != before.get(field)]
        known |= {field for field in changed if is_named_by(name, field, flat)}
        surplus = [item for item in changed if item not in known and after[item] != GATE_NOW]
        # A verb may set one state of its own, where nothing that it is given is stored.
        is_state = len(surplus) == 1 and not [item for item in changed if item in known]
        if surplus and not spec.effects and not is_state:
            field = surplus[0]
            prober.fail(
                name, GATE, "an update touches only what it names", arguments,
                f"{field} stays {before.get(field)!r}", f"{field} {after[field]!r}",
            )  # fmt: skip
    if is_documented(spec):
        _writes_what_it_is_given(prober, name, tool, arguments, seen)


def _writes_what_it_is_given(
    prober: Prober, name: str, tool: ToolBlueprint, arguments: JsonObject, seen: Seen
) -> None:
    """A given value that a field of the same name can hold is there afterwards."""
    lookups = [item for item in tool.lookups.values() if item.table == tool.entity]
    keys = {argument_of(lookup.equals) for lookup in lookups}
    rows = prober.rows(tool.entity or "", seen.state) if tool.entity else {}
    target = next(
        (
            row
            for row in rows.values()
            for lookup in lookups
            if not lookup.optional
            and (argument := argument_of(lookup.equals)) is not None
            and row.get(lookup.field or _key_of(rows)) == arguments.get(argument)
        ),
        None,
    )
    if target is None:
        return
    plain = _plainly_written(prober.spec.tools[name], freeze(dict(given_values(arguments))))
    for field, value in plain.items():
        if field in target and field not in keys and freeze(target[field]) != freeze(value):
            prober.fail(
                name, GATE, "an update writes what it is given", arguments,
                f"{field} {value!r}", f"{field} {target[field]!r}",
            )  # fmt: skip


def _key_of(rows: Mapping[str, JsonObject]) -> str:
    names = sorted({name for row in rows.values() for name in row})
    keys = [name for name in names if all(row.get(name) == i for i, row in rows.items())]
    return "id" if "id" in keys or not keys else keys[0]
