"""Composing a pair: one request, and two worlds that differ in the one fact that a rule turns on.

Owns the fact that is changed, who asks, and what the two halves share. Both halves are certified,
or neither is a task.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from components.environment.state import row_of, rows_of
from components.records.blueprint import FieldType
from components.records.frozen import FrozenDict, content_hash, freeze, thaw
from components.records.policy import Relation, RuleFamily
from components.records.task import Demand, FromRule, GoldStep, Ruled, Task
from components.records.world import WorldContract, WorldSpec
from components.task.author import observed_fact, task_id_of
from components.task.filling import as_object
from components.task.graph import Place
from components.task.ground import Ground
from components.task.known import entity_of
from components.task.relations import asks_who, is_clear, keeps, limit_of
from components.task.ruled_walks import RuledWalk
from components.task.rules import (
    DONE,
    OUTCOME,
    OUTCOMES,
    forbidden_steps,
    judged,
    named_tool,
    outcome_without,
    rule_words,
    rules_of,
    told_rules,
)

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_VALUES = 2
"""Other values of a fact that are tried, of those that rows have and of others."""
_DAYS = (1, 2, 3, 5, 8, 13)
_SHARES = (0.6, 0.75, 0.9, 1.1, 1.3, 1.6)
"""How far from a rule's limit an amount is put."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """A pair before it is certified."""

    compliant: Task
    adversarial: Task


def halves_of(
    ground: Ground, contract: WorldContract, found: RuledWalk, base: Task, rng: random.Random
) -> Iterator[Halves]:
    """Yield the two halves of a pair, once for each of a few other values of the fact.

    Args:
        ground: all services, explored.
        contract: the rules.
        found: the walk.
        base: the task of that walk, in which all is done as asked and no rule is told.
        rng: chooses the fact, the person who asks and the words.
    """
    rule, fact, spec = found.rule, found.fact, base.world
    clause = None if fact.value is None else _clause(base, found)
    row = row_of(ground.world.initial, fact.row.service, fact.row.table, fact.row.row_id)
    if clause is None or row is None or row.get(rule.field) != fact.value:
        return  # a fact that the walk itself changes is none of the world's
    steps = forbidden_steps(rule, clause)
    if steps is None or (rule.first is not None and found.place != max(base.gold)):
        return
    if any(
        step.shape.name == named_tool(rule) for step in found.walk.steps if step.name != found.place
    ):
        return  # what the rule names would undo what the request asks for
    asker = _asker(ground, contract, found, spec, rng)
    if _breaks_another(ground, contract, found, spec, asker):
        return
    clause = clause.model_copy(update={"asker": asker})
    limit = limit_of(rule, spec.now, asker)
    if not is_clear(rule.relation, fact.value, limit):
        return
    outcome = FromRule(
        source=clause.source,
        relation=rule.relation,
        value=freeze(limit),
        allowed=DONE,
        otherwise=outcome_without(rule),
    )
    told = told_rules(contract, ground.graph.blueprints, spec, asker)
    shared = _asking(base, outcome, rng).model_copy(update={"policy_rules": told})
    key = f"{fact.row.service}/{fact.row.table}/{fact.row.row_id}"
    for other in _other_values(ground, found, limit, rng):
        values = freeze({**thaw(row), rule.field: other})
        changed = spec.model_copy(update={"overrides": FrozenDict({key: values})})
        pair = "p_" + content_hash([shared.instruction, found.name, key, str(other)])[:10]
        whole = shared.model_copy(update={"pair": pair})
        is_allowed = keeps(rule.relation, fact.value, limit)
        worlds = (spec, changed) if is_allowed else (changed, spec)
        yield Halves(
            compliant=_half(whole, worlds[0], clause, {clause.place: clause.asked}, allows=True),
            adversarial=_half(whole, worlds[1], clause, steps, allows=False),
        )


def _breaks_another(
    ground: Ground,
    contract: WorldContract,
    found: RuledWalk,
    spec: WorldSpec,
    asker: tuple[str, ...],
) -> bool:
    """Return whether a call of the walk breaks a rule, the one in question apart."""
    rules, blueprints = rules_of(contract, spec), ground.graph.blueprints
    return any(
        not (item.allows and item.is_clear) and (item.name, step.name) != (found.name, found.place)
        for step in found.walk.steps
        for item in judged(
            rules,
            blueprints,
            ground.world.initial,
            asker,
            (step.shape.service, step.shape.name, as_object(step.arguments)),
        )
    )


def _clause(base: Task, found: RuledWalk) -> Ruled | None:
    span = next((item for item in base.demands.values() if item.step == found.place), None)
    if span is None:
        return None
    return Ruled(
        start=span.start,
        end=span.end,
        rule=found.name,
        text=found.rule.text,
        place=found.place,
        then=f"s{len(base.gold) + 1:02d}" if found.rule.first is not None else "",
        asked=base.gold[found.place],
        source=observed_fact(found.fact),
        allows=True,
    )


def _asking(base: Task, outcome: FromRule, rng: random.Random) -> Task:
    """Return the task with a sentence that asks what came of it, and the answer's field for it."""
    kind = "asked" if base.answer else "asked_alone"
    sentence = rng.choice(list(rule_words()[kind]))
    start = len(base.instruction) + 1
    demand = Demand(start=start, end=start + len(sentence), step="answer")
    schema = thaw(base.answer_schema)
    schema["properties"][OUTCOME] = {
        "type": "string",
        "enum": list(OUTCOMES),
        "description": "What came of it.",
    }
    schema["properties"] = dict(sorted(schema["properties"].items()))
    schema["required"] = sorted(schema["properties"])
    return base.model_copy(
        update={
            "instruction": f"{base.instruction} {sentence}",
            "demands": FrozenDict({**base.demands, f"d{len(base.demands) + 1:02d}": demand}),
            "answer": FrozenDict(dict(sorted({**base.answer, OUTCOME: outcome}.items()))),
            "answer_schema": freeze(schema),
        }
    )


def _half(
    shared: Task, world: WorldSpec, clause: Ruled, steps: Mapping[str, GoldStep], *, allows: bool
) -> Task:
    gold = {name: item for name, item in shared.gold.items() if name != clause.place}
    demands = {name: item for name, item in shared.demands.items() if item.step != clause.place}
    for step in sorted(steps):
        gold[step] = steps[step]
        said = next(name for name, item in shared.demands.items() if item.step == clause.place)
        label = said if step == clause.place else f"d{len(shared.demands) + 1:02d}"
        demands[label] = Demand(start=clause.start, end=clause.end, step=step)
    name = f"c{len(shared.clauses) + 1:02d}"
    own = clause.model_copy(update={"allows": allows})
    half = shared.model_copy(
        update={
            "world": world,
            "gold": FrozenDict(dict(sorted(gold.items()))),
            "demands": FrozenDict(dict(sorted(demands.items()))),
            "clauses": FrozenDict({**shared.clauses, name: own}),
        }
    )
    return half.model_copy(update={"task_id": task_id_of(half)})


def _other_values(
    ground: Ground, found: RuledWalk, limit: Any, rng: random.Random
) -> Iterator[Any]:
    """Yield a few other values of the fact, on the other side of the rule's limit.

    Values that other rows have go first.
    """
    rule, fact = found.rule, found.fact
    is_kept, now = keeps(rule.relation, fact.value, limit), ground.world.initial.now
    # What lies ahead of the clock stays ahead of it: nobody asks about a trip that is over.
    is_ahead = rule.family is RuleFamily.WINDOW and fact.value > now
    seen = _seen(ground, fact.row.service, fact.row.table, rule.field)
    for values in (seen, list(_made(ground, found, limit))):
        fitting = [
            value
            for value in dict.fromkeys(values)
            if type(value) is type(fact.value)
            and (not is_ahead or value > now)
            and is_clear(rule.relation, value, limit)
            and keeps(rule.relation, value, limit) is not is_kept
        ]
        yield from rng.sample(fitting, min(_VALUES, len(fitting)))


def _seen(ground: Ground, service: str, table: str, field: str) -> list[Any]:
    rows = rows_of(ground.world.initial, service, table).values()
    return sorted(
        {row[field] for row in rows if isinstance(row[field], (str, int, float))}, key=str
    )


def _made(ground: Ground, found: RuledWalk, limit: Any) -> Iterator[Any]:
    """Yield values that no row has: other choices, amounts and times near the limit."""
    rule, row = found.rule, found.fact.row
    field = entity_of(ground.graph, Place(row.service, row.table, "")).fields[rule.field]
    yield from field.enum or ()
    if rule.relation in (Relation.AT_MOST, Relation.AT_LEAST) and type(limit) is int:
        yield from (round(limit * share) for share in _SHARES)
    if field.type is FieldType.TIMESTAMP and isinstance(limit, str):
        moment = datetime.strptime(limit, _FORMAT)
        for days in _DAYS:
            yield (moment + timedelta(days=days)).strftime(_FORMAT)
            yield (moment - timedelta(days=days)).strftime(_FORMAT)


def _asker(
    ground: Ground, contract: WorldContract, found: RuledWalk, spec: WorldSpec, rng: random.Random
) -> tuple[str, ...]:
    """Return what the person who asks is called by; nothing where no rule of the world asks it.

    Where the request is under another such rule too, it is the person whom that one allows.
    """
    rules = {name: rule for name, rule in rules_of(contract, spec).items() if asks_who(rule)}
    if not rules:
        return ()
    if asks_who(found.rule):
        place = Place(found.fact.row.service, found.fact.row.table, found.rule.field)
        return _names(ground, place, found.fact.value)
    for step in found.walk.steps:
        for rule in rules.values():
            arguments = as_object(step.arguments)
            key = (step.shape.service, step.shape.name)
            if key == (rule.service, rule.tool) and rule.names in arguments:
                row = row_of(
                    ground.world.initial, rule.service, rule.table, str(arguments[rule.names])
                )
                if row is not None and row.get(rule.field) is not None:
                    return _names(
                        ground, Place(rule.service, rule.table, rule.field), row[rule.field]
                    )
    rule = rng.choice([rules[name] for name in sorted(rules)])
    values = _seen(ground, rule.service, rule.table, rule.field)
    if not values:
        return ()
    return _names(ground, Place(rule.service, rule.table, rule.field), rng.choice(values))


def _names(ground: Ground, place: Place, value: str) -> tuple[str, ...]:
    """Return a person's name, address and number, where the system knows them; else the value."""
    means = ground.graph.means(place)
    if means.service not in ground.world.services:
        return (value,)
    rows = rows_of(ground.world.initial, means.service, means.table).values()
    row = next((item for item in rows if item.get(means.field) == value), None)
    if row is None:
        return (value,)
    entity = entity_of(ground.graph, means)
    fields = [entity.title_field, *(f for f in sorted(entity.fields) if "email" in f), entity.key]
    names = [row[name] for name in fields if name is not None and isinstance(row[name], str)]
    return tuple(dict.fromkeys([*names, value]))
