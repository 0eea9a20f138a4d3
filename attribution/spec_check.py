"""One executed call against what its documentation writes: an implementation that never reads a
blueprint's tools.

Owns the reading of written rules, effects and returns. It uses the expression compiler and the
entities' keys, nothing else of the service. Silence is no evidence: what a spec does not write is
only held against a service where the tool's spec says that it is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jsonschema_rs

from components.environment.expressions import (
    Compiled,
    ExpressionError,
    Scope,
    Vocabulary,
    compile_expression,
    same,
)
from components.environment.service import CompiledService, table_vocabulary
from components.environment.state import Table, WorldState
from components.records.calls import CallRecord, ErrorCode, RowChange
from components.records.frozen import FrozenDict, JsonObject, canonical_json, freeze, thaw
from components.records.spec import RowRef, ToolSpec, WrittenEffect, WrittenReturn


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One way in which a call broke its documentation."""

    part: str
    """`lookups`, `checks`, `effects`, `query`, `result` or `schema`: the part of the tool that
    is at fault.
    """
    rule: str
    """Name of the rule, effect or return that it breaks; empty for a general law."""
    statement: str
    expected: Any = None
    found: Any = None


def check_call(
    service: CompiledService, before: WorldState, after: WorldState, call: CallRecord
) -> tuple[Violation, ...]:
    """Return every breach of the written documentation by one call.

    Args:
        service: the service that answered; only its spec and its entities are read.
        before: state before the call.
        after: state after the call, reactions included.
        call: the executed call.
    """
    spec = service.spec.tools.get(call.tool)
    if spec is None or _code(call) == ErrorCode.UNKNOWN_TOOL.value:
        return ()
    return tuple(_Check(service, spec, before, after, call).run())


class _Check:
    """The check of one call; lives as long as it runs."""

    def __init__(
        self,
        service: CompiledService,
        spec: ToolSpec,
        before: WorldState,
        after: WorldState,
        call: CallRecord,
    ) -> None:
        self._spec, self._call, self._after = spec, call, after
        self._service = service.spec.service
        self._keys = {name: entity.key for name, entity in service.blueprint.entities.items()}
        self._tables = table_vocabulary(service.blueprint, qualified=False)
        self._before_tables: Mapping[str, Table] = before.services[self._service]
        self._after_tables: Mapping[str, Table] = after.services[self._service]
        self._now = before.now
        self._args = freeze({**_defaults(spec), **call.arguments})
        self._own = [
            change
            for change in call.changes
            if change.service == self._service and not change.cause.startswith("reaction:")
        ]

    def run(self) -> Iterator[Violation]:
        code = _code(self._call)
        if code == ErrorCode.INTERNAL.value:
            yield Violation(
                part="effects",
                rule="",
                statement="the service broke its own rules instead of answering",
                found=self._call.envelope.get("error"),
            )
            return
        is_valid = _validator(self._spec).is_valid(thaw(self._call.arguments))
        if not is_valid or code == ErrorCode.INVALID_ARGUMENTS.value:
            yield from self._schema(is_valid, code)
            return
        breaches = dict(self._breached_rules())
        if breaches:
            codes = sorted(set(breaches.values()))
            if code not in codes:
                rule = sorted(breaches)[0]
                yield Violation(
                    part="lookups" if codes == [ErrorCode.NOT_FOUND.value] else "checks",
                    rule=rule,
                    statement=f"{self._spec.rules[rule].text!r} does not hold, and the answer is "
                    f"{'a success' if code is None else code}",
                    expected=codes,
                    found=code,
                )
            return
        if code is not None:
            if self._spec.complete:
                yield Violation(
                    part="lookups" if code == ErrorCode.NOT_FOUND.value else "checks",
                    rule="",
                    statement=f"the call is refused with {code} though every written rule holds",
                    found=thaw(self._call.envelope.get("error")),
                )
            return
        yield from self._effects()
        yield from self._returns()

    def _schema(self, is_valid: bool, code: str | None) -> Iterator[Violation]:
        if not is_valid and code != ErrorCode.INVALID_ARGUMENTS.value:
            yield Violation(
                part="schema",
                rule="",
                statement="arguments that break the written schema are not refused",
                expected=ErrorCode.INVALID_ARGUMENTS.value,
                found=code,
            )
        elif is_valid and "cursor" not in self._call.arguments:
            yield Violation(
                part="schema",
                rule="",
                statement="arguments that keep the written schema are refused as invalid",
                found=code,
            )

    def _breached_rules(self) -> Iterator[tuple[str, str]]:
        for name, rule in sorted(self._spec.rules.items()):
            rows: dict[str, Any] = {}
            missing = False
            for label, ref in sorted(rule.rows.items()):
                wanted, row = self._row(ref, self._before_tables)
                rows[label] = row
                missing = missing or (row is None and wanted is not None)
            if missing:
                yield name, ErrorCode.NOT_FOUND.value
                continue
            holds = self._evaluate(rule.requires, self._before_tables, rows)
            if not holds:
                yield name, rule.code.value

    def _effects(self) -> Iterator[Violation]:
        explained: dict[tuple[str, str], set[str]] = {}
        created: dict[str, int] = {}
        for name, effect in sorted(self._spec.effects.items()):
            row = None if effect.row is None else self._row(effect.row, self._before_tables)[1]
            names = {"row": row, "item": row}
            if not self._evaluate(effect.when, self._before_tables, names):
                continue
            wanted = {
                field: self._evaluate(value, self._before_tables, names)
                for field, value in sorted(effect.fields.items())
            }
            if effect.action == "create":
                created[effect.table] = created.get(effect.table, 0) + 1
                yield from self._create(name, effect, wanted, explained)
            elif row is not None:
                row_id = row[self._keys[effect.table]]
                explained.setdefault((effect.table, row_id), set()).update(wanted)
                yield from self._change(name, effect, row, wanted)
        if self._spec.complete:
            yield from self._unexplained(explained, created)

    def _create(
        self,
        name: str,
        effect: WrittenEffect,
        wanted: Mapping[str, Any],
        explained: dict[tuple[str, str], set[str]],
    ) -> Iterator[Violation]:
        made = [
            change
            for change in self._own
            if change.table == effect.table and change.before is None and change.after is not None
        ]
        matching = [change for change in made if _has(change.after, wanted)]
        for change in matching[:1]:
            explained.setdefault((change.table, change.row_id), set()).add("*")
        if not matching:
            yield Violation(
                part="effects",
                rule=name,
                statement=f"{effect.text!r}: no such row was created",
                expected={"table": effect.table, "fields": thaw(wanted)},
                found=[thaw(change.after) for change in made],
            )

    def _change(
        self, name: str, effect: WrittenEffect, row: JsonObject, wanted: Mapping[str, Any]
    ) -> Iterator[Violation]:
        row_id = row[self._keys[effect.table]]
        own = [item for item in self._own if (item.table, item.row_id) == (effect.table, row_id)]
        found = own[-1].after if own else row
        if effect.action == "delete":
            is_right = found is None
        else:
            is_right = found is not None and _has(found, wanted)
        if not is_right:
            yield Violation(
                part="effects",
                rule=name,
                statement=f"{effect.text!r}: {effect.table}/{row_id} is not so afterwards",
                expected=None if effect.action == "delete" else thaw(wanted),
                found=None
                if found is None
                else {field: thaw(found.get(field)) for field in wanted},
            )

    def _unexplained(
        self, explained: Mapping[tuple[str, str], set[str]], created: Mapping[str, int]
    ) -> Iterator[Violation]:
        for table in sorted({change.table for change in self._own if change.before is None}):
            made = sum(change.table == table and change.before is None for change in self._own)
            if made > created.get(table, 0):
                yield Violation(
                    part="effects",
                    rule="",
                    statement=f"{made} rows of {table} were created; "
                    f"written are {created.get(table, 0)}",
                    expected=created.get(table, 0),
                    found=made,
                )
        for change in self._own:
            if change.before is None:
                continue
            fields = explained.get((change.table, change.row_id))
            changed = _changed_fields(change)
            if fields is None or (change.after is not None and not changed <= fields):
                extra = sorted(changed - (fields or set()))
                yield Violation(
                    part="effects",
                    rule="",
                    statement=f"{change.table}/{change.row_id} changed where nothing is written: "
                    f"{', '.join(extra) or 'deleted'}",
                    found={"cause": change.cause, "fields": extra},
                )

    def _returns(self) -> Iterator[Violation]:
        data = self._call.envelope.get("data")
        for name, written in sorted(self._spec.returns.items()):
            shown = data.get(written.key) if isinstance(data, Mapping) else None
            if written.row is not None or not written.where:
                yield from self._one_row(name, written, shown)
            else:
                yield from self._many_rows(name, written, shown, data)

    def _one_row(self, name: str, written: WrittenReturn, shown: Any) -> Iterator[Violation]:
        if written.row is None:
            own = [item for item in self._own if item.table == written.table and item.after]
            expected = [item.after for item in own if item.after is not None]
        else:
            own_rows = self._after_own(written.table)
            wanted, late = self._row(written.row, self._after_tables)
            early = next(
                (
                    row
                    for row in own_rows
                    if row is not None and same(row.get(self._field(written.row)), wanted)
                ),
                None,
            )
            expected = [row for row in (early, late) if row is not None]
        is_right = any(_agrees(shown, row) for row in expected) if expected else shown is None
        if not is_right and (expected or written.row is not None):
            yield Violation(
                part="result",
                rule=name,
                statement=f"{written.text!r}: the answer shows another row under {written.key!r}",
                expected=thaw(expected[-1]) if expected else None,
                found=thaw(shown),
            )

    def _many_rows(
        self, name: str, written: WrittenReturn, shown: Any, data: Any
    ) -> Iterator[Violation]:
        key = self._keys[written.table]
        expected: dict[str, JsonObject] = {}
        words = self._vocabulary(frozenset({"item"}))
        filters = [_compiled(words, part) for _label, part in sorted(written.where.items())]
        scope = Scope({"args": self._args}, self._after_tables, self._now)
        for values in self._after_tables[written.table].in_order():
            scope.names["item"] = values
            verdicts = [part(scope) for part in filters]
            if all(verdict is None or verdict for verdict in verdicts):
                expected[values[key]] = FrozenDict(values)
        rows = list(shown) if isinstance(shown, (list, tuple)) else None
        ids = None if rows is None else [row.get(key) for row in rows if isinstance(row, Mapping)]
        problem = ""
        if rows is None or ids is None or len(ids) != len(rows):
            problem = "the answer shows no list of rows"
        elif extra := sorted(str(item) for item in set(ids) - set(expected)):
            problem = f"{extra[0]} is shown and does not fit"
        elif len(set(ids)) < len(ids):
            problem = "a row is shown twice"
        elif (missing := sorted(set(expected) - set(ids))) and not self._is_page(
            written, data, bool(ids)
        ):
            problem = f"{missing[0]} fits and is not shown"
        elif wrong := [row for row in rows if not _agrees(row, expected[row[key]])]:
            problem = f"{wrong[0][key]} is shown with other values"
        if problem:
            yield Violation(
                part="result" if rows is None or "shown with" in problem else "query",
                rule=name,
                statement=f"{written.text!r}: {problem}",
                expected=sorted(expected),
                found=ids,
            )

    def _is_page(self, written: WrittenReturn, data: Any, has_rows: bool) -> bool:
        """Whether an answer may rightly hold fewer rows than fit."""
        if not written.limited:
            return False
        if self._args.get("cursor") is not None:
            return True
        is_last = isinstance(data, Mapping) and data.get("next_cursor", 0) is None
        return has_rows and not is_last

    def _after_own(self, table: str) -> list[JsonObject | None]:
        return [change.after for change in reversed(self._own) if change.table == table]

    def _field(self, ref: RowRef) -> str:
        return ref.field or self._keys[ref.table]

    def _row(self, ref: RowRef, tables: Mapping[str, Table]) -> tuple[Any, JsonObject | None]:
        """Return the value that is looked for, and the row that has it."""
        wanted = self._evaluate(ref.equals, tables, {})
        field = self._field(ref)
        found = tables[ref.table]
        if field == self._keys[ref.table]:
            return wanted, found.values_of(wanted)
        return wanted, found.find(field, wanted)

    def _evaluate(
        self, expression: Any, tables: Mapping[str, Table], names: Mapping[str, Any]
    ) -> Any:
        compiled = _compiled(self._vocabulary(frozenset(names)), expression)
        try:
            return compiled(Scope({"args": self._args, **names}, tables, self._now))
        except ExpressionError:
            return None

    def _vocabulary(self, names: frozenset[str]) -> _Words:
        tables = tuple(sorted((name, key, fields) for name, (key, fields) in self._tables.items()))
        return _Words(names | {"args"}, tables)


@dataclass(frozen=True, slots=True)
class _Words:
    """A vocabulary that can be a key of a cache."""

    names: frozenset[str]
    tables: tuple[tuple[str, str, frozenset[str]], ...]


@lru_cache(maxsize=4096)
def _compile(words: _Words, _text: bytes, holder: _Held) -> Compiled:
    tables = {name: (key, fields) for name, key, fields in words.tables}
    return compile_expression(holder.expression, Vocabulary(words.names, tables))


class _Held:
    """Carries an expression past the cache: all are equal, the text beside it is the key."""

    __slots__ = ("expression",)

    def __init__(self, expression: Any) -> None:
        self.expression = expression

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


def _compiled(words: _Words, expression: Any) -> Compiled:
    return _compile(words, canonical_json(expression), _Held(expression))


@lru_cache(maxsize=1024)
def _schema_validator(schema: bytes) -> Any:
    return jsonschema_rs.validator_for(schema.decode())


def _validator(spec: ToolSpec) -> Any:
    return _schema_validator(canonical_json(thaw(spec.input_schema)))


def _defaults(spec: ToolSpec) -> dict[str, Any]:
    properties = spec.input_schema.get("properties") or {}
    return {
        name: item["default"]
        for name, item in properties.items()
        if isinstance(item, Mapping) and "default" in item
    }


def _code(call: CallRecord) -> str | None:
    error = call.envelope.get("error")
    return error.get("code") if isinstance(error, Mapping) else None


def _has(row: JsonObject | None, wanted: Mapping[str, Any]) -> bool:
    return row is not None and all(same(row.get(field), value) for field, value in wanted.items())


def _agrees(shown: Any, row: JsonObject) -> bool:
    """Whether an answer shows this row: every field of it that is shown has the row's value."""
    if not isinstance(shown, Mapping):
        return False
    common = set(shown) & set(row)
    return bool(common) and all(same(shown[field], row[field]) for field in common)


def _changed_fields(change: RowChange) -> set[str]:
    old: Mapping[str, Any] = change.before or {}
    new: Mapping[str, Any] = change.after or {}
    return {field for field in set(old) | set(new) if not same(old.get(field), new.get(field))}
