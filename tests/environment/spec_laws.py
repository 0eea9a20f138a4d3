"""Judges one executed call by its spec alone: rules, effects, returns. Knows no blueprint."""

from __future__ import annotations

from typing import Any

from components.environment.engine import Outcome
from components.environment.expressions import Scope, Vocabulary, compile_expression
from components.environment.service import table_vocabulary
from components.environment.state import Table, WorldState
from components.environment.world import World
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict
from components.records.spec import RowRef, ToolSpec, WrittenEffect, WrittenReturn


class Judge:
    """The laws of one tool, over one call: the states before and after, and the arguments."""

    def __init__(
        self, world: World, service: str, tool: str, before: WorldState, arguments: dict[str, Any]
    ) -> None:
        """Args: the call as it was made; schema defaults are added as a caller would read them."""
        self.compiled = world.services[service]
        self.spec: ToolSpec = self.compiled.spec.tools[tool]
        self.before = before
        properties = self.spec.input_schema.get("properties", {})
        defaults = {key: item["default"] for key, item in properties.items() if "default" in item}
        self.names: dict[str, Any] = {"args": FrozenDict({**defaults, **arguments})}
        self.tables = table_vocabulary(self.compiled.blueprint, qualified=False)

    def value(self, expression: Any, state: WorldState, **names: Any) -> Any:
        """Evaluate an expression of the spec on the service's tables."""
        bound = {**self.names, **names}
        tables: Any = state.services[self.compiled.spec.service]
        scope = Scope(bound, tables, state.now)
        return compile_expression(expression, Vocabulary(bound, self.tables))(scope)

    def row(self, ref: RowRef, state: WorldState) -> Any:
        """Return the row that a reference names, or None."""
        where = {"table": ref.table, "field": ref.field, "equals": ref.equals}
        return self.value({"@row": where}, state)

    def breaches(self) -> dict[str, ErrorCode]:
        """Return rule -> code for the rules that the call breaks; missing rows come first."""
        missing, broken = {}, {}
        for name, rule in sorted(self.spec.rules.items()):
            rows = {label: self.row(ref, self.before) for label, ref in rule.rows.items()}
            if any(row is None for row in rows.values()):
                missing[name] = ErrorCode.NOT_FOUND
            elif not self.value(rule.requires, self.before, **rows):
                broken[name] = rule.code
        return missing or broken

    def problems(self, outcome: Outcome) -> list[str]:
        """Return what the answer and the changes contradict in the spec."""
        breaches = self.breaches()
        if breaches:
            code = None if outcome.envelope["ok"] else outcome.envelope["error"]["code"]
            if code not in {item.value for item in breaches.values()} or outcome.changes:
                return [f"rules {sorted(breaches)} are broken, the answer is {outcome.envelope}"]
            return []
        if not outcome.envelope["ok"]:
            return [f"no rule is broken, the answer is {outcome.envelope}"]
        return [*self._effects(outcome), *self._returns(outcome)]

    def _effects(self, outcome: Outcome) -> list[str]:
        own = [change for change in outcome.changes if change.cause.startswith("effect:")]
        problems = []
        for name, effect in sorted(self.spec.effects.items()):
            if not self.value(effect.when, self.before):
                continue
            key, before, after = self._expected(effect)
            fits = [
                change
                for change in own
                if change.table == effect.table
                and (key is None) == (change.before is None)
                and key in (None, change.row_id)
                and (effect.action == "delete") == (change.after is None)
            ]
            if not fits and effect.action == "update" and before == {**before, **after}:
                continue
            if len(fits) != 1:
                problems.append(f"effect {name}: {len(fits)} changes fit")
                continue
            own.remove(fits[0])
            wanted = {**before, **after}
            after_call = dict(fits[0].after or {})
            found = {field: after_call.get(field) for field in wanted}
            if effect.action != "delete" and found != wanted:
                problems.append(f"effect {name}: {found} instead of {wanted}")
        return [
            *problems,
            *(f"unwritten change of {change.table} {change.row_id}" for change in own),
        ]

    def _expected(self, effect: WrittenEffect) -> tuple[str | None, dict[str, Any], dict[str, Any]]:
        row = None if effect.row is None else self.row(effect.row, self.before)
        key = None if row is None else str(row[self.tables[effect.table][0]])
        fields = {
            field: self.value(value, self.before, row=row) for field, value in effect.fields.items()
        }
        return key, dict(row or {}), fields

    def _returns(self, outcome: Outcome) -> list[str]:
        data, problems = outcome.envelope["data"], []
        for name, written in sorted(self.spec.returns.items()):
            shown = data.get(written.key)
            if written.row is not None:
                if shown != self.row(written.row, outcome.state):
                    problems.append(f"return {name}: {shown}")
            elif not self._selects(written, outcome.state, shown):
                problems.append(f"return {name}: the rows differ")
        return problems

    def _selects(self, written: WrittenReturn, state: WorldState, shown: Any) -> bool:
        key = self.tables[written.table][0]
        table: Table = state.table(self.compiled.spec.service, written.table)
        expected = {}
        for values in map(FrozenDict, table.in_order()):
            if all(self.value(item, state, item=values) for item in written.where.values()):
                expected[values[key]] = values
        ids = [row[key] for row in shown]
        whole = set(ids) == set(expected) or (written.limited and len(ids) < len(expected))
        parts = all(
            row.items() <= expected[row[key]].items() for row in shown if row[key] in expected
        )
        return whole and parts and set(ids) <= set(expected) and len(set(ids)) == len(ids)
