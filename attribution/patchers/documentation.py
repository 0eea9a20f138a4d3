"""The blueprint part that a tool's documentation describes: written effects, rules and returns as
data.

Owns the translation from a spec's words to a blueprint's. It reads the blueprint as it is for the
names of its lookups only, and never for what a tool does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.records.blueprint import Blueprint, ToolBlueprint
from components.records.frozen import thaw
from components.records.spec import RowRef, ToolSpec, WrittenEffect, WrittenReturn, WrittenRule


class Lookups:
    """Names of a tool's lookups by what they look for; grows by what the documentation needs
    besides.
    """

    def __init__(self, blueprint: Blueprint, tool: ToolBlueprint) -> None:
        """Args: blueprint and tool as they are."""
        self._keys = {table: entity.key for table, entity in blueprint.entities.items()}
        self._names: dict[Any, str] = {}
        self.added: dict[str, Any] = {}
        """Lookups that are missing, as JSON by name."""
        self._taken = set(tool.lookups)
        for name, lookup in sorted(tool.lookups.items()):
            self._names.setdefault(self._key(lookup.table, lookup.field, lookup.equals), name)

    def name(self, label: str, ref: RowRef) -> str:
        """Return the lookup that finds a row, adding one where none does."""
        key = self._key(ref.table, ref.field, ref.equals)
        if key not in self._names:
            name = label if label not in self._taken else f"{label}_written"
            self._taken.add(name)
            self._names[key] = name
            body: dict[str, Any] = {"table": ref.table, "equals": thaw(ref.equals)}
            if ref.field is not None:
                body["field"] = ref.field
            self.added[name] = body
        return self._names[key]

    def _key(self, table: str, field: str | None, equals: Any) -> Any:
        return table, field or self._keys.get(table), repr(thaw(equals))


def renamed(expression: Any, names: Mapping[str, str]) -> Any:
    """Return an expression with the roots of its references renamed."""
    if isinstance(expression, str) and expression[:1] == "$":
        root, dot, rest = expression[1:].partition(".")
        return f"${names.get(root, root)}{dot}{rest}"
    if isinstance(expression, Mapping):
        if set(expression) == {"@lit"}:
            return thaw(expression)
        return {key: renamed(item, names) for key, item in expression.items()}
    if isinstance(expression, (list, tuple)):
        return [renamed(item, names) for item in expression]
    return expression


def effect_body(effect: WrittenEffect, lookups: Lookups) -> dict[str, Any]:
    """Return a written effect as a blueprint's."""
    names, body = {}, {"action": effect.action, "table": effect.table}
    if effect.row is not None:
        target = lookups.name(effect.table, effect.row)
        names["row"] = target
        if effect.action != "create":
            body["target"] = target
    made: dict[str, Any] = {**body, "fields": renamed(thaw(effect.fields), names)}
    if effect.when is not True:
        made["when"] = renamed(thaw(effect.when), names)
    return made


def check_body(rule: WrittenRule, lookups: Lookups) -> dict[str, Any] | None:
    """Return a written rule as a blueprint's check; None when its rows alone make it."""
    names = {label: lookups.name(label, ref) for label, ref in sorted(rule.rows.items())}
    if rule.requires is True:
        return None
    return {
        "holds": renamed(thaw(rule.requires), names),
        "code": rule.code.value,
        "message": rule.text,
    }


def result_value(
    written: WrittenReturn, spec: ToolSpec, tool: ToolBlueprint, lookups: Lookups, old: Any
) -> Any:
    """Return the expression that shows what a written return promises.

    Args:
        written: the promise.
        spec: the tool's documentation.
        tool: the tool as it is.
        lookups: its lookups.
        old: the expression that is there; the fields that it picks are kept.
    """
    if written.where:
        return "$rows"
    source = None
    if written.row is not None:
        source = lookups.name(written.table, written.row)
    for name, effect in sorted(tool.effects.items()):
        is_same_row = written.row is None or effect.target == source
        if effect.table == written.table and effect.action != "delete" and is_same_row:
            source = name
    if source is None:
        source = next(iter(sorted(spec.effects)), "rows")
    if isinstance(old, Mapping) and set(old) == {"@pick"}:
        return {"@pick": [f"${source}", thaw(old["@pick"][1])]}
    return f"${source}"
