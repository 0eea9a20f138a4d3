"""Policy rules of a compiled service, made from its entities: there is nobody to write them.

Owns the templates' use and which field a rule looks at. A rule is about a write that names a row,
and looks at a field of that row which the write leaves alone: a choice, an amount or a time. Its
limit is such that some rows of the seed are on either side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from statistics import median
from typing import Any

from components.records.blueprint import (
    Blueprint,
    EntityBlueprint,
    FieldBlueprint,
    FieldType,
    FunctionalClass,
    SeedData,
    ToolBlueprint,
)
from components.records.frozen import FrozenDict, content_hash
from components.records.policy import PolicyRule, Relation, RuleFamily
from components.task.phrases import words
from components.task.rules import rule_words

_MOST_RULES = 4
"""Rules of one service."""
_LEAST_ROWS, _MOST_CHOICES = 3, 6
"""Rows that have the field, at least; different values of a field that is a choice, at most."""
_ARGUMENT = "$args."
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_NUMBERS = (FieldType.INTEGER, FieldType.NUMBER)


def generated_rules(
    blueprint: Blueprint, seed: SeedData, title: str, now: str
) -> dict[str, PolicyRule]:
    """Return rules of a compiled service, by name: the same for the same service.

    Args:
        blueprint: the service.
        seed: its rows.
        title: what the service is called.
        now: the clock of the worlds that it will be in.
    """
    found: dict[str, PolicyRule] = {}
    for tool, body in sorted(blueprint.tools.items()):
        if body.functional is not FunctionalClass.WRITE or body.simulated:
            continue
        if tool in blueprint.quarantined:
            continue
        rules = [
            rule
            for argument, table in _named_rows(blueprint, body)
            for rule in _rules(blueprint, seed, title, now, (tool, argument, table))
        ]
        if rules:
            chosen = min(rules, key=lambda rule: content_hash([rule.service, tool, rule.field]))
            found[f"{blueprint.service}.{tool}.{chosen.field}"] = chosen
    kept = sorted(found, key=lambda name: content_hash([name]))[:_MOST_RULES]
    return {name: found[name] for name in sorted(kept)}


def _named_rows(blueprint: Blueprint, body: ToolBlueprint) -> Iterator[tuple[str, str]]:
    """Yield the arguments that name a row by its key, each with the row's table."""
    for _name, lookup in sorted(body.lookups.items()):
        value, key = lookup.equals, blueprint.entities[lookup.table].key
        is_key = lookup.field in (None, key) and not lookup.where
        if is_key and isinstance(value, str) and value.startswith(_ARGUMENT):
            argument = value.removeprefix(_ARGUMENT)
            if argument.isidentifier():
                yield argument, lookup.table


def _rules(
    blueprint: Blueprint, seed: SeedData, title: str, now: str, about: tuple[str, str, str]
) -> Iterator[PolicyRule]:
    """Yield a rule for each field that one could look at."""
    tool, argument, table = about
    entity, rows = blueprint.entities[table], seed.tables.get(table, FrozenDict())
    written = {
        field
        for effect in blueprint.tools[tool].effects.values()
        if effect.table == table
        for field in effect.fields
    }
    for field, body in sorted(entity.fields.items()):
        values = [row[field] for row in rows.values() if row.get(field) is not None]
        if field in written or len(values) < _LEAST_ROWS or not _is_plain(entity, field, body):
            continue
        test = _test(body, values, now)
        if test is None:
            continue
        family, relation, value, said = test
        text = rule_words()["generated"][relation.value]
        filled = {
            "title": title or words(blueprint.service),
            "tool": tool,
            "noun": words(table),
            "field": field,
            "value": said,
        }
        for name, word in filled.items():
            text = text.replace(f"{{{name}}}", word)
        yield PolicyRule(
            text=text,
            family=family,
            service=blueprint.service,
            tool=tool,
            names=argument,
            table=table,
            field=field,
            relation=relation,
            value=value,
            generated=True,
        )


def _is_plain(entity: EntityBlueprint, field: str, body: FieldBlueprint) -> bool:
    """Return whether a field tells something of a row that a rule could be about."""
    is_name = field in (entity.key, entity.title_field) or body.link is not None
    return not is_name and not body.free_text


def _test(
    body: FieldBlueprint, values: list[Any], now: str
) -> tuple[RuleFamily, Relation, Any, str] | None:
    """Return family, relation, limit and the words for it; None where no limit divides the rows."""
    if body.type in _NUMBERS:
        limit = int(median(values))
        if min(values) <= limit < max(values):
            return RuleFamily.LIMIT, Relation.AT_MOST, limit, str(limit)
        return None
    if body.type is FieldType.TIMESTAMP:
        clock = datetime.strptime(now, _FORMAT)
        ages = [(clock - datetime.strptime(value, _FORMAT)).days for value in values]
        limit = int(median(ages))
        if limit > 0 and min(ages) < limit < max(ages):
            return RuleFamily.WINDOW, Relation.SINCE, -limit, str(limit)
        return None
    counts = Counter(values) if all(isinstance(value, str) for value in values) else Counter[str]()
    is_choice = 1 < len(counts) <= _MOST_CHOICES and len(counts) < len(values)
    if body.type is not FieldType.STRING or not is_choice:
        return None
    value = min(counts, key=lambda item: (counts[item], item))
    return RuleFamily.CONFIRMATION, Relation.IS_NOT, value, value
