"""Policy rules read against a world: which rules are told, which row a call is judged by, what of a
run breaks a rule.

Owns the one reading of `PolicyRule`: the author, the gates, the harness's oracle, the scripted
policy and attribution ask here. The tools enforce none of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from components.environment.state import WorldState, rows_of
from components.environment.state import row_of as row_in
from components.records.blueprint import Blueprint
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict
from components.records.policy import PolicyRule
from components.records.task import Certificate, FromDefault, GoldStep, Ruled, Task
from components.records.world import WorldContract, WorldSpec
from components.task.known import RowKey
from components.task.phrases import phrases
from components.task.relations import is_clear, keeps, limit_of

OUTCOME = "outcome"
"""Field of the answer that says what came of the request."""
DONE, REFUSED, ALTERNATIVE = "done", "refused", "alternative"
OUTCOMES = (DONE, REFUSED, ALTERNATIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One rule, and what it looks at for one call."""

    name: str
    rule: PolicyRule
    row: RowKey
    """The row whose field is compared."""
    value: Any
    limit: Any

    @property
    def allows(self) -> bool:
        """Return whether the rule allows the call."""
        return keeps(self.rule.relation, self.value, self.limit)

    @property
    def is_clear(self) -> bool:
        """Return whether nobody could read the rule otherwise."""
        return is_clear(self.rule.relation, self.value, self.limit)


@cache
def rule_words() -> Mapping[str, Any]:
    """Return the sentences that surround rules, from the file beside this module."""
    text = resources.files("components.task").joinpath("rules.json").read_text(encoding="utf-8")
    words: Mapping[str, Any] = json.loads(text)
    return words


def rules_of(contract: WorldContract, spec: WorldSpec) -> dict[str, PolicyRule]:
    """Return the rules that hold in a world, by name: those of its services, distractors too.

    A rule that looks at a row of a service which is not there has nothing to look at.
    """
    present = {*spec.services, *spec.distractors}
    return {name: rule for name, rule in sorted(contract.rules.items()) if rule.service in present}


def told_rules(
    contract: WorldContract,
    blueprints: Mapping[str, Blueprint],
    spec: WorldSpec,
    asker: Sequence[str],
) -> tuple[str, ...]:
    """Return what the policy is told of the rules of a world, sentence by sentence.

    Args:
        contract: the rules.
        blueprints: of the system; a rule whose links lead out of the world is not told.
        spec: the world.
        asker: what the person who asks is called by; empty where no rule asks for it.
    """
    told = [
        rule.text
        for rule in rules_of(contract, spec).values()
        if _services_of(rule, blueprints) <= {*spec.services, *spec.distractors}
    ]
    words = rule_words()
    who = [words["asker"].replace("{asker}", called(asker))] if asker else []
    return (*who, *told, words["left_out"], words["outcome"])


def called(asker: Sequence[str]) -> str:
    """Return the words for the person who asks: the first name, the others behind it."""
    first, *others = asker
    return f"{first} ({', '.join(others)})" if others else first


def text_of_task(
    contract: WorldContract, blueprints: Mapping[str, Blueprint], task: Task, asker: Sequence[str]
) -> tuple[str, ...]:
    """Return the rules that a task should tell: those of its world, or those of its user."""
    if task.pair:
        return told_rules(contract, blueprints, task.world, asker)
    return tuple(phrases().stock("user_rules")) if task.user is not None else ()


def certified_rules(
    contract: WorldContract,
    blueprints: Mapping[str, Blueprint],
    task: Task,
    certificate: Certificate,
) -> tuple[str, ...]:
    """Return the rules that a task should tell, by what its certificate says of it."""
    if certificate.twin:
        return told_rules(contract, blueprints, task.world, certificate.asker)
    return tuple(phrases().stock("user_rules")) if task.user is not None else ()


def judged(
    rules: Mapping[str, PolicyRule],
    blueprints: Mapping[str, Blueprint],
    state: WorldState,
    asker: tuple[str, ...],
    call: tuple[str, str, Mapping[str, Any]],
) -> Iterator[Judged]:
    """Yield the rules that are about a call, each with the value that it looks at.

    Args:
        rules: of the world.
        blueprints: say where links lead.
        state: before the call.
        asker: what the person who asks is called by.
        call: service, tool and arguments.
    """
    service, tool, arguments = call
    for name, rule in rules.items():
        if (rule.service, rule.tool) != (service, tool) or rule.names not in arguments:
            continue
        if any(arguments.get(key) not in values for key, values in rule.only.items()):
            continue
        row = row_of(rule, blueprints, state, arguments[rule.names])
        if row is not None:
            values = row_in(state, row.service, row.table, row.row_id)
            value = None if values is None else values.get(rule.field)
            limit = limit_of(rule, state.now, asker)
            yield Judged(name=name, rule=rule, row=row, value=value, limit=limit)


def row_of(
    rule: PolicyRule, blueprints: Mapping[str, Blueprint], state: WorldState, value: Any
) -> RowKey | None:
    """Return the row that a rule looks at, or None where there is none in this world."""
    row = _found(blueprints, state, f"{rule.service}.{rule.table}", value)
    for field in rule.links:
        if row is None:
            return None
        link = blueprints[row.service].entities[row.table].fields[field].link
        values = row_in(state, row.service, row.table, row.row_id)
        linked = None if values is None else values.get(field)
        if link is None or linked is None:
            return None
        row = _found(blueprints, state, link, linked)
    return row


def _found(
    blueprints: Mapping[str, Blueprint], state: WorldState, link: str, value: Any
) -> RowKey | None:
    service, table, *rest = link.split(".")
    blueprint = blueprints.get(service)
    if service not in state.services or blueprint is None or table not in blueprint.entities:
        return None
    if not rest or rest[0] == blueprint.entities[table].key:
        is_there = isinstance(value, str) and row_in(state, service, table, value) is not None
        return RowKey(service, table, value) if is_there else None
    rows = rows_of(state, service, table)
    found = [row_id for row_id, row in rows.items() if row.get(rest[0]) == value]
    return RowKey(service, table, found[0]) if len(found) == 1 else None


def _services_of(rule: PolicyRule, blueprints: Mapping[str, Blueprint]) -> set[str]:
    service, table, found = rule.service, rule.table, {rule.service}
    for field in rule.links:
        entity = blueprints[service].entities.get(table) if service in blueprints else None
        link = None if entity is None or field not in entity.fields else entity.fields[field].link
        if link is None:
            return {*found, ""}
        service, table, *_rest = link.split(".")
        found.add(service)
    return found


def forbidden_steps(rule: PolicyRule, clause: Ruled) -> dict[str, GoldStep] | None:
    """Return the gold steps that a rule wants where it does not allow what is asked, by name.

    Made instead, a call of the same tool keeps every argument that the rule says nothing of; one of
    another tool must take all that was asked.

    None: the call that the rule names cannot be made of what is asked.
    """
    named = rule.instead or rule.first
    if named is None:
        return {}
    asked = clause.asked.arguments
    is_same = rule.instead is not None and named.tool == rule.tool
    arguments = dict(asked) if is_same else {}
    taken_over = {f"/{item.of}" for item in named.arguments.values()}
    if rule.instead is not None and not is_same and not set(asked) <= taken_over:
        return None
    for name, item in sorted(named.arguments.items()):
        constant = FromDefault(value=item.value)
        taken = asked.get(f"/{item.of}") if item.of else constant
        if taken is None:
            return None
        arguments[f"/{name}"] = taken
    step = GoldStep(service=rule.service, tool=named.tool, arguments=FrozenDict(arguments))
    if rule.first is None:
        return None if step == clause.asked else {clause.place: step}
    return {clause.place: step, clause.then: clause.asked}


def named_tool(rule: PolicyRule) -> str:
    """Return the tool of the call that a rule names beside the one that it is about, if any."""
    named = rule.instead or rule.first
    return "" if named is None else named.tool


def outcome_without(rule: PolicyRule) -> str:
    """Return what came of a request in which a rule does not allow what is asked as it stands."""
    if rule.first is not None:
        return DONE
    return REFUSED if rule.instead is None else ALTERNATIVE


def was_made_first(
    rule: PolicyRule, arguments: Mapping[str, Any], earlier: Iterable[CallRecord]
) -> bool:
    """Return whether the call that a rule wants before another one was made.

    Args:
        rule: the rule; without `first` no call makes the other one allowed.
        arguments: of the call that the rule is about.
        earlier: calls that were made before it.
    """
    first = rule.first
    if first is None:
        return False
    wanted = {
        name: arguments.get(item.of) if item.of else item.value
        for name, item in first.arguments.items()
    }
    return any(
        (call.service, call.tool) == (rule.service, first.tool)
        and call.envelope["ok"]
        and all(call.arguments.get(name) == value for name, value in wanted.items())
        for call in earlier
    )


def ruled_of(task: Task) -> tuple[str, Ruled] | None:
    """Return the part of a task that a rule is about, with its name."""
    found = [(name, item) for name, item in task.clauses.items() if isinstance(item, Ruled)]
    return found[0] if found else None


def complied(task: Task) -> Task:
    """Return the task as one takes it who knows of no rule: all that is asked is done."""
    return _answering(task, DONE, keep=True)


def refusing(task: Task) -> Task:
    """Return the task as one takes it who never does what some rule is about."""
    return _answering(task, REFUSED, keep=False)


def _answering(task: Task, outcome: str, *, keep: bool) -> Task:
    found = ruled_of(task)
    if found is None:
        return task
    _name, clause = found
    own = (clause.place, clause.then)
    gold = {name: step for name, step in task.gold.items() if name not in own}
    if keep:
        gold[clause.place] = clause.asked
    answer = {**task.answer, OUTCOME: FromDefault(value=outcome)}
    return task.model_copy(
        update={"gold": FrozenDict(dict(sorted(gold.items()))), "answer": FrozenDict(answer)}
    )
