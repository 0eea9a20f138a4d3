"""Tests of what a tool's documentation writes: rules, effects and returns.

Owns the reading of written rules into expectations. Each breach has its code and applies nothing,
each effect holds and, where the spec is complete, nothing else changes; each answer holds the rows
that it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from components.environment.expressions import (
    Compiled,
    ExpressionError,
    Scope,
    Vocabulary,
    compile_expression,
)
from components.environment.gates.probe import (
    GATE_NOW,
    Prober,
    Seen,
    absent_value,
    judge_envelope,
)
from components.environment.gates.promises import words
from components.environment.names import snake
from components.environment.state import WorldState, row_of
from components.environment.world import make_row
from components.records.calls import ErrorCode, RowChange
from components.records.frozen import FrozenDict, JsonObject, canonical_json, freeze, texts_in, thaw
from components.records.spec import RowRef, ToolSpec, WrittenEffect, WrittenReturn

GATE = "adversarial"
_UNWRITTEN_CODES = frozenset({ErrorCode.CONFLICT.value, ErrorCode.INVALID_ARGUMENTS.value})
"""Keys that are taken and cursors of another list are refused without a rule that says so."""


_BASES = 3
"""Accepted calls that others are made from."""
_TIMES = ("2001-01-01T00:00:00Z", GATE_NOW, "2099-12-31T23:59:59Z")
"""Before, at and after the present time of the tests."""


def argument_named(reference: RowRef) -> str | None:
    """Return the argument that a reference is nothing but, or None."""
    text = reference.equals
    return text[6:] if isinstance(text, str) and text.startswith("$args.") else None


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    text: str
    rows: Mapping[str, tuple[RowRef, Compiled]]
    requires: Compiled
    requires_text: Any
    """The condition as written, to see which fields it speaks of."""
    code: str


class WrittenBattery:
    """Tests of what one tool's documentation writes. Lives while that tool is judged."""

    def __init__(self, prober: Prober, tool: ToolSpec) -> None:
        self._prober = prober
        self._tool = tool

        def vocabulary(names: Iterable[str]) -> Vocabulary:
            return prober.vocabulary("args", *names)

        self._rules = [
            _Rule(
                name,
                rule.text,
                {
                    label: (ref, compile_expression(ref.equals, vocabulary(rule.rows)))
                    for label, ref in sorted(rule.rows.items())
                },
                compile_expression(rule.requires, vocabulary(rule.rows)),
                thaw(rule.requires),
                rule.code.value,
            )
            for name, rule in sorted(tool.rules.items())
        ]

    def run(self, variants: list[JsonObject]) -> None:
        """Judge each variant in the seed's state, then each rule in states made to breach it."""
        breached: set[str] = set()
        for arguments in variants:
            breached |= self._judge(arguments, self._prober.initial)
        self._unknown_rows(variants)
        accepted = self._accepted(variants)
        breached |= self._more_of(accepted, variants)
        for rule in self._rules:
            if rule.name not in breached and not self._breach_by_argument(rule, accepted, variants):
                self._breach(rule, variants)

    def _accepted(self, variants: list[JsonObject]) -> list[JsonObject]:
        """Return a few variants that breach nothing and that the tool accepts."""
        calls = (item for item in variants if self._verdict(item, self._prober.initial) == ([], ""))
        accepted = (item for item in calls if self._prober.call(self._tool.name, item).is_ok)
        return list(islice(accepted, _BASES))

    def _more_of(self, accepted: list[JsonObject], variants: list[JsonObject]) -> set[str]:
        """Judge accepted calls with each optional argument, and made a second time."""
        breached: set[str] = set()
        for arguments in accepted:
            for name in sorted(self._tool.input_schema.get("properties") or {}):
                if name not in arguments:
                    for value in _values_of(name, variants)[:_BASES]:
                        more = FrozenDict({**arguments, name: value})
                        breached |= self._judge(more, self._prober.initial)
            after = self._prober.call(self._tool.name, arguments).state
            if after is not self._prober.initial:
                breached |= self._judge(arguments, after)
        return breached

    def _breach_by_argument(
        self, rule: _Rule, accepted: list[JsonObject], variants: list[JsonObject]
    ) -> bool:
        """Change one argument of an accepted call so that the rule alone is broken."""
        prober, name_of = self._prober, self._tool.name
        spoken = sorted(_fields_of(rule.requires_text, "args") | set(_given(rule.requires_text)))
        for arguments in accepted:
            for name in spoken:
                values = _values_of(name, variants)
                example = FrozenDict({**arguments, name: values[0] if values else None})
                absent = absent_value(prober, name_of, example, name)
                for value in (*_TIMES, absent, *values):
                    changed = FrozenDict({**arguments, name: value})
                    if value is None or not prober.is_valid(name_of, changed):
                        continue
                    broken, missing = self._verdict(changed, prober.initial)
                    if not missing and [item.name for item in broken] == [rule.name]:
                        self._judge(changed, prober.initial)
                        return True
        return False

    def _judge(self, arguments: JsonObject, state: WorldState) -> set[str]:
        """Call once and hold the answer against the documentation; return the rules that it
        breaches.
        """
        prober, tool = self._prober, self._tool
        broken, missing = self._verdict(arguments, state)
        seen = prober.call(tool.name, arguments, state)
        if not judge_envelope(prober, GATE, tool.name, arguments, seen):
            return set()
        names = {rule.name for rule in broken}
        if missing or broken:
            expected = {rule.code for rule in broken} | (
                {ErrorCode.NOT_FOUND.value} if missing else set()
            )
            if seen.code not in expected:
                rule_name = missing or broken[0].name
                text = f"{' or '.join(sorted(expected))}: {broken[0].text if broken else missing}"
                prober.fail(tool.name, GATE, f"rule {rule_name}", arguments, text, seen.told())
            elif seen.changes or seen.state is not state:
                prober.fail(
                    tool.name, GATE, "an error applies nothing", arguments, "no change", "changes"
                )
            return names
        if seen.is_ok:
            self._judge_effects(arguments, state, seen)
            self._judge_returns(arguments, seen)
        elif tool.complete and seen.code not in _UNWRITTEN_CODES:
            prober.fail(
                tool.name, GATE, "no error without a rule", arguments,
                "ok: every written rule holds", seen.told(),
            )  # fmt: skip
        return names

    def _verdict(self, arguments: JsonObject, state: WorldState) -> tuple[list[_Rule], str]:
        """Return the rules that the call breaches, and the first row that is not there."""
        broken: list[_Rule] = []
        missing = ""
        for rule in self._rules:
            names: dict[str, Any] = {"args": self._full(arguments)}
            scope = self._scope(names, state)
            absent = False
            for label, (reference, equals) in rule.rows.items():
                value = _value(equals, scope)
                names[label] = self._row(reference, value, state)
                # An optional argument that is not given names no row.
                if names[label] is None and value is not None:
                    absent, missing = True, missing or rule.name
            if not absent and _value(rule.requires, scope) is False:
                broken.append(rule)
        return broken, missing

    def _full(self, arguments: JsonObject) -> JsonObject:
        """Arguments with the schema's defaults, as the documentation speaks of them."""
        properties = self._tool.input_schema.get("properties") or {}
        defaults = {
            name: part["default"]
            for name, part in properties.items()
            if isinstance(part, Mapping) and "default" in part
        }
        return FrozenDict({**defaults, **arguments})

    def _scope(self, names: dict[str, Any], state: WorldState) -> Scope:
        return Scope(names, state.services[self._prober.spec.service], state.now)

    def _row(self, reference: RowRef, value: Any, state: WorldState) -> JsonObject | None:
        rows = self._prober.rows(reference.table, state)
        column = reference.field or self._prober.shape(reference.table)[0]
        if value is None:
            return None
        return next((row for row in rows.values() if row.get(column) == value), None)

    def _unknown_rows(self, variants: list[JsonObject]) -> None:
        """Every argument that names a row, naming none."""
        for rule in self._rules:
            for reference, _ in rule.rows.values():
                name = argument_named(reference)
                for arguments in [item for item in variants if name in item][:1]:
                    absent = absent_value(self._prober, self._tool.name, arguments, str(name))
                    if absent is not None:
                        changed = FrozenDict({**arguments, str(name): absent})
                        self._judge(changed, self._prober.initial)

    def _breach(self, rule: _Rule, variants: list[JsonObject]) -> None:
        """Change one field of one row that the rule speaks of, so that the rule alone is broken."""
        for arguments in variants[:6]:
            names: dict[str, Any] = {"args": self._full(arguments)}
            scope = self._scope(names, self._prober.initial)
            for label, (reference, equals) in rule.rows.items():
                row = self._row(reference, _value(equals, scope), self._prober.initial)
                for state in self._twisted(
                    reference.table, row, _fields_of(rule.requires_text, label), arguments
                ):
                    broken, missing = self._verdict(arguments, state)
                    if not missing and [item.name for item in broken] == [rule.name]:
                        self._judge(arguments, state)
                        return

    def _twisted(
        self,
        table: str,
        row: JsonObject | None,
        spoken: frozenset[str],
        arguments: JsonObject,
    ) -> Iterator[WorldState]:
        """Yield states in which one field that the rule speaks of has another value that occurs."""
        if row is None:
            return
        prober = self._prober
        service = prober.world.services[prober.spec.service]
        key, fields = prober.shape(table)
        literals = sorted(set(_literals(self._tool)))
        for field in sorted((fields & spoken) - {key}):
            column = [other.get(field) for other in prober.rows(table).values()]
            numbers = [0, 10**6] if isinstance(row.get(field), (int, float)) else []
            others = (*arguments.values(), *column, *literals, *numbers, None, True, False)
            for value in dict.fromkeys(others):
                if value == row.get(field):
                    continue
                try:
                    made = make_row(service, table, row[key], {**row, field: value})
                except ValueError:
                    continue
                rows = prober.initial.table(prober.spec.service, table)
                yield prober.initial.with_table(
                    prober.spec.service, table, rows.put(row[key], made)
                )

    def _judge_effects(self, arguments: JsonObject, state: WorldState, seen: Seen) -> None:
        own = [change for change in seen.changes if change.cause.startswith("effect:")]
        explained: set[tuple[str, str]] = set()
        for name, effect in sorted(self._tool.effects.items()):
            problem = self._effect_problem(effect, arguments, state, seen, own, explained)
            if problem:
                self._prober.fail(
                    self._tool.name, GATE, f"effect {name}", arguments, effect.text, problem
                )
        if not self._tool.complete:
            return
        for change in own:
            if (change.table, change.row_id) not in explained:
                self._prober.fail(
                    self._tool.name, GATE, "no effect that is not written", arguments,
                    "no other row changes", f"{change.table}/{change.row_id} changed",
                )  # fmt: skip

    def _effect_problem(
        self,
        effect: WrittenEffect,
        arguments: JsonObject,
        state: WorldState,
        seen: Seen,
        own: list[RowChange],
        explained: set[tuple[str, str]],
    ) -> str:
        prober = self._prober
        names: dict[str, Any] = {"args": self._full(arguments), "row": None}
        scope = self._scope(names, state)
        vocabulary = prober.vocabulary("args", "row")
        if effect.row is not None:
            equals = compile_expression(effect.row.equals, vocabulary)
            names["row"] = self._row(effect.row, _value(equals, scope), state)
        happens = _value(compile_expression(effect.when, vocabulary), scope)
        if not happens or (effect.action != "create" and names["row"] is None):
            return ""
        wanted = {
            field: _value(compile_expression(value, vocabulary), scope)
            for field, value in effect.fields.items()
        }
        if effect.action == "create":
            made = [c for c in own if c.table == effect.table and c.before is None and c.after]
            explained |= {(change.table, change.row_id) for change in made}
            if not made:
                return f"no row of {effect.table} was created"
            gaps = [_gap(wanted, change.after or FrozenDict()) for change in made]
            return "" if "" in gaps else gaps[0]
        key, _ = prober.shape(effect.table)
        row_id = names["row"][key]
        explained.add((effect.table, row_id))
        after = row_of(seen.state, prober.spec.service, effect.table, row_id)
        if effect.action == "delete":
            return "" if after is None else f"{effect.table}/{row_id} is still there"
        if after is None:
            return f"{effect.table}/{row_id} is gone"
        others = self._other_fields(effect, names["row"], after) if self._tool.complete else ""
        return _gap(wanted, after) or others

    def _other_fields(self, effect: WrittenEffect, before: JsonObject, after: JsonObject) -> str:
        """Fields that changed although no written effect on this table names them."""
        named = {
            field
            for other in self._tool.effects.values()
            if other.table == effect.table
            for field in other.fields
        }
        changed = [name for name in sorted(after) if after[name] != before.get(name)]
        surplus = [name for name in changed if name not in named]
        return f"{effect.table}.{surplus[0]} changed too" if surplus else ""

    def _judge_returns(self, arguments: JsonObject, seen: Seen) -> None:
        for name, back in sorted(self._tool.returns.items()):
            problem = self._return_problem(back, arguments, seen)
            if problem:
                self._prober.fail(
                    self._tool.name, GATE, f"return {name}", arguments, back.text, problem
                )

    def _return_problem(self, back: WrittenReturn, arguments: JsonObject, seen: Seen) -> str:
        prober = self._prober
        data = seen.data if isinstance(seen.data, Mapping) else {}
        if back.key not in data:
            return f"the answer has no {back.key!r}"
        shown, state = data[back.key], seen.state
        names: dict[str, Any] = {"args": self._full(arguments)}
        scope = self._scope(names, state)
        if back.row is not None:
            vocabulary = prober.vocabulary("args")
            value = _value(compile_expression(back.row.equals, vocabulary), scope)
            row = self._row(back.row, value, state)
            if row is None:
                return "" if shown is None else f"{back.key!r} shows a row that is not there"
            return _row_gap(shown, row)
        if not isinstance(shown, (list, tuple)):
            return ""
        vocabulary = prober.vocabulary("args", "item")
        filters = [compile_expression(part, vocabulary) for _, part in sorted(back.where.items())]
        wanted: dict[str, JsonObject] = {}
        for row_id, row in prober.rows(back.table, state).items():
            names["item"] = row
            if all(_value(part, scope) in (True, None) for part in filters):
                wanted[row_id] = row
        gap = _rows_gap(shown, wanted, prober.shape(back.table)[0], is_limited=back.limited)
        return gap or self._page_gap(arguments, shown, wanted)

    def _page_gap(self, arguments: JsonObject, shown: Any, wanted: Mapping[str, JsonObject]) -> str:
        """A first page is full as long as rows are left."""
        full = self._full(arguments)
        limits = [full[name] for name in full if snake(name) in words("limit_words")]
        has_cursor = any(snake(name) in words("cursor_words") for name in arguments)
        if has_cursor or len(limits) != 1 or type(limits[0]) is not int:
            return ""
        most = min(limits[0], len(wanted))
        return f"{len(shown)} rows are shown, not {most}" if len(shown) != most else ""


def _value(expression: Compiled, scope: Scope) -> Any:
    try:
        return expression(scope)
    except ExpressionError:
        return None


def _gap(wanted: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    for field, value in sorted(wanted.items()):
        if freeze(row.get(field)) != freeze(value):
            return f"{field} is {row.get(field)!r}, not {value!r}"
    return ""


def _row_gap(shown: Any, row: JsonObject) -> str:
    if not isinstance(shown, Mapping):
        return f"{shown!r} is no row"
    shared = set(shown) & set(row)
    if not shared:
        return "the answer shares no field with the row"
    wrong = [name for name in sorted(shared) if shown[name] != row[name]]
    return f"{wrong[0]} is shown as {shown[wrong[0]]!r}, not {row[wrong[0]]!r}" if wrong else ""


def _rows_gap(shown: Any, wanted: Mapping[str, JsonObject], key: str, *, is_limited: bool) -> str:
    ids: list[Any] = []
    for item in shown:
        row_id = item.get(key) if isinstance(item, Mapping) else None
        if row_id is None:
            return "" if len(shown) == len(wanted) or is_limited else "another number of rows"
        ids.append(row_id)
        if row_id not in wanted:
            return f"{row_id!r} is shown and does not belong there"
        gap = _row_gap(item, wanted[row_id])
        if gap:
            return f"{row_id!r}: {gap}"
    missing = sorted(set(wanted) - set(ids))
    if missing and not is_limited:
        return f"{missing[0]!r} is not shown"
    return "a row is shown twice" if len(ids) != len(set(ids)) else ""


def _values_of(name: str, variants: list[JsonObject]) -> list[Any]:
    """Return the different values that an argument has in the variants."""
    found = {canonical_json(item[name]): item[name] for item in variants if name in item}
    return list(found.values())


def _given(condition: Any) -> Iterator[str]:
    """Yield the arguments that a condition asks about by `@given`."""
    if isinstance(condition, Mapping):
        for key, item in condition.items():
            if key == "@given":
                yield str(item)
            else:
                yield from _given(item)
    elif isinstance(condition, (list, tuple)):
        for item in condition:
            yield from _given(item)


def _literals(tool: ToolSpec) -> Iterator[str]:
    """Texts that the documentation's expressions compare with."""
    for rule in tool.rules.values():
        yield from (text for text in texts_in(rule.requires) if not text.startswith("$"))


def _fields_of(condition: Any, label: str) -> frozenset[str]:
    """Fields of a named row that a condition speaks of."""
    start = f"${label}."
    texts = [text for text in texts_in(condition) if text.startswith(start)]
    return frozenset(text[len(start) :].partition(".")[0] for text in texts)
