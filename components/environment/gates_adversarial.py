"""Adversarial gate: tests from the spec alone, by code that never sees the implementation.

Owns two batteries. Schemas: every argument missing, of a wrong type, at and beyond its bounds,
empty, huge, in other scripts, unknown; the answer is always an envelope, and an error changes
nothing. Written rules, effects and
returns: each breach has its code, each effect holds, each answer holds the rows that it says.
    Where the spec writes nothing, only the first battery speaks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.environment.expressions import (
    Compiled,
    ExpressionError,
    Scope,
    Vocabulary,
    compile_expression,
)
from components.environment.gates_probe import (
    NO_SUCH_ROW,
    Prober,
    Seen,
    Variants,
    judge_envelope,
)
from components.environment.state import WorldState, row_of
from components.environment.world import make_row
from components.records.calls import ErrorCode, RowChange
from components.records.frozen import FrozenDict, JsonObject, freeze, thaw
from components.records.spec import RowRef, ToolSpec, WrittenEffect, WrittenReturn

GATE = "adversarial"
_HUGE_TEXT = "lorem ipsum " * 850
_TEXTS = ("", " ", "\u00e9\u4e2d\U0001f600\u202e", "a\nb\t\"'\\", _HUGE_TEXT, "$args.x", "@lit")
_OTHER_KINDS: tuple[Any, ...] = (None, True, 7, 2.5, "x", [], {}, [None], {"a": []})


def run_adversarial(prober: Prober) -> None:
    """Run both batteries on every offered tool."""
    for name in prober.tools:
        tool = prober.spec.tools[name]
        known = _named_rows(prober, tool)
        variants = Variants(prober, tool, known).all()
        _schema_battery(prober, tool, variants)
        if tool.rules or tool.effects or tool.returns or tool.complete:
            try:
                _WrittenBattery(prober, tool).run(variants)
            except ExpressionError as error:
                expected = "expressions over tables and fields that there are"
                prober.fail(
                    name, GATE, "the documentation", FrozenDict(), expected, str(error)[:200]
                )


def _named_rows(prober: Prober, tool: ToolSpec) -> dict[str, list[Any]]:
    """Return, for each argument that a written rule uses to name a row, values that name one."""
    known: dict[str, list[Any]] = {}
    references = [ref for rule in tool.rules.values() for ref in rule.rows.values()]
    references += [effect.row for effect in tool.effects.values() if effect.row is not None]
    references += [back.row for back in tool.returns.values() if back.row is not None]
    for reference in references:
        name = _argument_of(reference)
        if name is None or reference.table not in prober.tables:
            continue
        column = reference.field or prober.shape(reference.table)[0]
        values = known.setdefault(name, [])
        for row in prober.rows(reference.table).values():
            if row.get(column) is not None and row[column] not in values:
                values.append(row[column])
    return known


def _argument_of(reference: RowRef) -> str | None:
    text = reference.equals
    return text[6:] if isinstance(text, str) and text.startswith("$args.") else None


def _schema_battery(prober: Prober, tool: ToolSpec, variants: list[JsonObject]) -> None:
    bases: list[Mapping[str, Any]] = list(variants[:2]) or [FrozenDict()]
    for label, arguments in _attacks(tool, bases):
        seen = prober.call(tool.name, arguments)
        if not judge_envelope(prober, GATE, tool.name, arguments, seen):
            continue
        is_refused = seen.code == ErrorCode.INVALID_ARGUMENTS.value
        if not is_refused and not prober.is_valid(tool.name, arguments):
            rule = f"schema: {label}"
            prober.fail(tool.name, GATE, rule, arguments, "invalid_arguments", seen.told())
        if not seen.is_ok and (seen.changes or seen.state is not prober.initial):
            prober.fail(
                tool.name, GATE, "an error applies nothing", arguments, "no change", seen.told()
            )


def _attacks(
    tool: ToolSpec, bases: list[Mapping[str, Any]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (what is wrong, arguments); whether the schema forbids it is for the validator to say.
    """
    properties = dict(tool.input_schema.get("properties") or {})
    small, full = dict(bases[0]), dict(bases[-1])
    yield "no arguments", {}
    yield "an extra argument", {**small, "surplus_argument": 1}
    for name in sorted(small):
        yield f"{name} left out", {key: item for key, item in small.items() if key != name}
    for name, schema in sorted(properties.items()):
        for value in _OTHER_KINDS:
            yield f"{name} of another kind", {**small, name: value}
        if not isinstance(schema, Mapping):
            continue
        for value in _edges(schema):
            yield f"{name} at an edge", {**small, name: value}
        for value in _list_edges(full.get(name)):
            yield f"{name} as an odd list", {**full, name: value}


def _edges(schema: Mapping[str, Any]) -> Iterator[Any]:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, (list, tuple)) else (kind,)
    if "string" in kinds or kind is None:
        yield from _TEXTS
        yield NO_SUCH_ROW
        for key, step in (("maxLength", 1), ("minLength", -1)):
            if key in schema:
                yield "x" * max(0, int(schema[key]) + step)
                yield "x" * int(schema[key])
    if "integer" in kinds or "number" in kinds:
        yield from (0, -1, 1, 2.0, 10**12, 2**63, -(2**70))
        for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if isinstance(schema.get(key), (int, float)):
                yield from (schema[key] - 1, schema[key], schema[key] + 1)
    if schema.get("enum"):
        yield f"{schema['enum'][0]}x"
    if "object" in kinds:
        yield {"surplus": 1}


def _list_edges(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)) and value:
        yield [*value, *value]
        yield [None]
        yield list(value) * 50


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    text: str
    rows: Mapping[str, tuple[RowRef, Compiled]]
    requires: Compiled
    code: str


class _WrittenBattery:
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
        for rule in self._rules:
            if rule.name not in breached:
                self._breach(rule, variants)

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
            if seen.changes or seen.state is not state:
                prober.fail(
                    tool.name, GATE, "an error applies nothing", arguments, "no change", "changes"
                )
            return names
        if seen.is_ok:
            self._judge_effects(arguments, state, seen)
            self._judge_returns(arguments, seen)
        elif tool.complete and seen.code != ErrorCode.CONFLICT.value:
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
                name = _argument_of(reference)
                for arguments in [item for item in variants if name in item][:1]:
                    changed = FrozenDict({**arguments, str(name): NO_SUCH_ROW})
                    if self._prober.is_valid(self._tool.name, changed):
                        self._judge(changed, self._prober.initial)

    def _breach(self, rule: _Rule, variants: list[JsonObject]) -> None:
        """Change one field of one row that the rule speaks of, so that the rule alone is broken."""
        for arguments in variants[:6]:
            names: dict[str, Any] = {"args": self._full(arguments)}
            scope = self._scope(names, self._prober.initial)
            for reference, equals in rule.rows.values():
                row = self._row(reference, _value(equals, scope), self._prober.initial)
                for state in self._twisted(reference.table, row):
                    broken, missing = self._verdict(arguments, state)
                    if not missing and [item.name for item in broken] == [rule.name]:
                        self._judge(arguments, state)
                        return

    def _twisted(self, table: str, row: JsonObject | None) -> Iterator[WorldState]:
        """Yield states in which one field of the row has a value that other rows or literals have.
        """
        if row is None:
            return
        prober = self._prober
        service = prober.world.services[prober.spec.service]
        key, fields = prober.shape(table)
        literals = sorted(set(_literals(self._tool)))
        for field in sorted(fields - {key}):
            column = [other.get(field) for other in prober.rows(table).values()]
            numbers = [0, 10**6] if isinstance(row.get(field), (int, float)) else []
            for value in itertools.chain(column, literals, numbers, (None, True, False)):
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
        return _rows_gap(shown, wanted, prober.shape(back.table)[0], is_limited=back.limited)


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


def _literals(tool: ToolSpec) -> Iterator[str]:
    """Texts that the documentation's expressions compare with."""

    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, str) and not value.startswith("$"):
            yield value
        elif isinstance(value, Mapping):
            for item in value.values():
                yield from walk(item)
        elif isinstance(value, (list, tuple)):
            for item in value:
                yield from walk(item)

    for rule in tool.rules.values():
        yield from walk(thaw(rule.requires))
