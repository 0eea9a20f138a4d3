"""The gates of a pair: one request, and two worlds that differ in one fact that a rule turns on.

Owns what makes two tasks a pair, that gold breaks no rule of its world, and the lines of play of
those who do not look at the fact. Each half is certified on its own and names the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from components.environment.invariants import broken_invariants
from components.environment.state import WorldState, row_of
from components.environment.world import World, build_world
from components.errors import SynthesisError
from components.records.base import hash_record
from components.records.frozen import FrozenDict, JsonObject
from components.records.policy import PolicyRule
from components.records.system import System
from components.records.task import FromRule, Ruled, Task
from components.task.gold import Call, Gold, derived_line, play, tried
from components.task.provenance import ProvenanceError, derive_arguments, derive_value
from components.task.reasons import Reason, Rejection
from components.task.rules import (
    DONE,
    OUTCOME,
    OUTCOMES,
    REFUSED,
    Judged,
    complied,
    forbidden_steps,
    judged,
    outcome_without,
    refusing,
    ruled_of,
    rules_of,
    text_of_task,
    was_made_first,
)


def check_pair(
    system: System, task: Task, twin: Task | None, world: World, gold: Gold
) -> Rejection | None:
    """Check that a task is half of a pair, or has nothing of one.

    Args:
        system: gives the rules.
        task: the task.
        twin: the other half; None where there is none.
        world: the task's.
        gold: the run of its gold.
    """
    found = ruled_of(task)
    if found is None and not task.pair:
        return None
    if found is None or not task.pair or twin is None:
        return _no("it is half of a pair, and has no twin or no part that a rule is about")
    _name, clause = found
    problem = _text_problem(system, task, clause)
    if not _is_altered(system, twin):
        problem = problem or _twin_problem(task, twin, clause)
        problem = problem or _fact_problem(system, twin, world)
    problem = problem or _rule_problem(system, task, world, gold, clause)
    return _no(problem) if problem else None


def _is_altered(system: System, twin: Task) -> bool:
    """Return whether the other half is no longer the task that was certified: a defect of it is not
    held against this half.
    """
    stored = system.reference.certificates.get(twin.task_id)
    return stored is not None and stored.task_hash != hash_record(twin)


def _text_problem(system: System, task: Task, clause: Ruled) -> str:
    contract, blueprints = system.reference.contract, system.environment.blueprints
    if task.policy_rules != text_of_task(contract, blueprints, task, clause.asker):
        return "its rules are not those of its world"
    return ""


def _twin_problem(task: Task, twin: Task, clause: Ruled) -> str:
    other = ruled_of(twin)
    if other is None or twin.pair != task.pair or other[1].allows is clause.allows:
        return "its twin is not the other half of the pair"
    same = ("instruction", "answer_schema", "policy_rules", "answer", "user")
    differing = [name for name in same if getattr(task, name) != getattr(twin, name)]
    if other[1].model_copy(update={"allows": clause.allows}) != clause:
        differing.append("clauses")
    bare = {"overrides": FrozenDict[str, Any]()}
    if task.world.model_copy(update=bare) != twin.world.model_copy(update=bare):
        differing.append("world")
    return f"the two differ in {', '.join(differing)}" if differing else ""


def _fact_problem(system: System, twin: Task, world: World) -> str:
    try:
        other = build_world(system, twin.world)
    except SynthesisError as error:
        return str(error)
    facts = facts_between(world, other)
    if len(facts) != 1:
        return f"the two worlds differ in {len(facts)} facts"
    key, field, _value, _other = facts[0]
    row = row_of(world.initial, *key.split("/", 2)) or FrozenDict()
    alike = [name for name in row if name != field and _stem(name) == _stem(field)]
    if alike:
        return f"{alike[0]} says the same as {field}, and stays as it was"
    broken = next(broken_invariants(world, system.reference.contract), None)
    return "" if broken is None else f"the fact breaks a promise: {broken[1].text}"


def _stem(field: str) -> str:
    """Return what a field is about: `owner` for `owner_id` and `owner_email`."""
    return re.sub(r"_(id|email|address|name)$", "", field)


def facts_between(world: World, twin: World) -> tuple[tuple[str, str, Any, Any], ...]:
    """Return what differs between two worlds: row, field and the two values."""
    found = []
    for service, tables in sorted(world.initial.services.items()):
        for table in sorted(tables):
            ids = {*tables[table].ids, *twin.initial.table(service, table).ids}
            for row_id in sorted(ids):
                mine = row_of(world.initial, service, table, row_id) or FrozenDict()
                theirs = row_of(twin.initial, service, table, row_id) or FrozenDict()
                if mine is theirs:
                    continue
                for field in sorted({*mine, *theirs}):
                    if mine.get(field) != theirs.get(field):
                        key = f"{service}/{table}/{row_id}"
                        found.append((key, field, mine.get(field), theirs.get(field)))
    return tuple(found)


def _rule_problem(system: System, task: Task, world: World, gold: Gold, clause: Ruled) -> str:
    rules = rules_of(system.reference.contract, task.world)
    rule = rules.get(clause.rule)
    if rule is None or (rule.service, rule.tool) != (clause.asked.service, clause.asked.tool):
        return f"there is no rule {clause.rule} of what is asked"
    if clause.text != rule.text:
        return f"{clause.rule} says something else"
    wanted = {clause.place: clause.asked} if clause.allows else forbidden_steps(rule, clause)
    done = {name: task.gold[name] for name in (clause.place, clause.then) if name in task.gold}
    if done != wanted:
        return f"gold does not do at {clause.place} what {clause.rule} wants"
    try:
        arguments = derive_arguments(clause.asked, task.instruction, gold.observed)
        seen = derive_value(clause.source, task.instruction, gold.observed)
    except ProvenanceError as error:
        return f"what is asked cannot be derived: {error}"
    call = (clause.asked.service, clause.asked.tool, arguments)
    blueprints = system.environment.blueprints
    for state in (gold.initial, _before(gold, clause)):
        about = list(judged(rules, blueprints, state, clause.asker, call))
        own = [item for item in about if item.name == clause.rule]
        if len(own) != 1 or own[0].allows is not clause.allows or own[0].value != seen:
            return f"{clause.rule} does not look at what gold read"
        if not own[0].is_clear:
            return f"{clause.rule} can be read in two ways: a day more or less decides"
        if any(not item.allows for item in about if item.name != clause.rule):
            return f"another rule than {clause.rule} forbids what is asked"
    if tried(world, _before(gold, clause), Call(*call)) is None:
        return "the tools do not take what is asked: nothing is left to the policy"
    if rule.first is not None and not clause.allows and _may_be_late(world, gold, clause, call):
        return "nothing would show that what the rule wants first was made after what is asked"
    said = task.answer.get(OUTCOME)
    outcome = FromRule(
        source=clause.source,
        relation=rule.relation,
        value=own[0].limit,
        allowed=DONE,
        otherwise=outcome_without(rule),
    )
    if said != outcome:
        return "the outcome does not follow from the rule"
    broken = next(broken_rules(system, task, gold, rules, clause.asker), None)
    return "" if broken is None else f"gold breaks {broken[1].name} at {broken[0]}"


def _may_be_late(
    world: World, gold: Gold, clause: Ruled, call: tuple[str, str, JsonObject]
) -> bool:
    """Return whether the tools take the call that must come first after what is asked as well."""
    asked = tried(world, _before(gold, clause), Call(*call))
    record = gold.records[clause.place]
    first = Call(record.service, record.tool, record.arguments)
    return asked is not None and tried(world, asked[0], first) is not None


def _before(gold: Gold, clause: Ruled) -> WorldState:
    """Return the state before the place of what is asked."""
    return gold.states[sum(name < clause.place for name in gold.names)]


def broken_rules(
    system: System,
    task: Task,
    gold: Gold,
    rules: Mapping[str, PolicyRule],
    asker: tuple[str, ...],
) -> Iterator[tuple[str, Judged]]:
    """Yield the steps of gold that break a rule, or may be taken to, with the rule."""
    del task
    blueprints = system.environment.blueprints
    for number, name in enumerate(gold.names):
        record = gold.records[name]
        call = (record.service, record.tool, record.arguments)
        for item in judged(rules, blueprints, gold.states[number], asker, call):
            earlier = [gold.records[step] for step in gold.names[:number]]
            is_kept = item.allows or was_made_first(item.rule, record.arguments, earlier)
            if not (is_kept and item.is_clear):
                yield name, item


def pair_lines(
    world: World, task: Task, gold: Gold
) -> Iterator[tuple[str, str, WorldState, JsonObject | None]]:
    """Yield lines of play that do not look at the fact: kind, target, final state, answer.

    Who always complies, and who always refuses, play right in one half each; such a line is left
    out there. A canned refusal is right in none.
    """
    found = ruled_of(task)
    if found is None:
        return
    name, clause = found
    canned = FrozenDict({OUTCOME: REFUSED})
    yield "canned_refusal", name, gold.initial, canned
    yield "canned_refusal", f"{name} answered", gold.initial, _saying(gold, REFUSED)
    comply, refuse = complied(task), refusing(task)
    if not clause.allows:
        line = derived_line(world, comply, sorted(comply.gold))
        yield "always_comply", name, line.final, line.answer
        yield "broken_in_silence", name, line.final, gold.answer
    if clause.allows or clause.place in task.gold:
        line = derived_line(world, refuse, sorted(refuse.gold))
        yield "always_refuse", name, line.final, line.answer
        yield "left_out_in_silence", name, line.final, gold.answer
    for outcome in OUTCOMES:
        if outcome != gold.answer[OUTCOME]:
            yield "wrong_outcome", f"{name} {outcome}", gold.final, _saying(gold, outcome)
    if clause.place in gold.records:
        place = gold.names.index(clause.place)
        final = play(world, gold.states[place], gold.calls(place + 1))
        yield "place_left_out", name, final, gold.answer


def _saying(gold: Gold, outcome: str) -> JsonObject:
    return FrozenDict({**gold.answer, OUTCOME: outcome})


def _no(detail: str) -> Rejection:
    return Rejection(reason=Reason.POLICY, detail=detail)
