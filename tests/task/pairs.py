"""Pairs of tasks under policy rules, for the tests of several packages."""

from __future__ import annotations

from functools import cache

from components.harness.defaults import default_harness
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.task import Ruled, Task
from components.task.compose import ComposedPair, compose_task
from components.task.rules import ruled_of
from loop.composing import tasks_of, with_tasks
from tests.task.builders import Settings, system_of

SERVICES = ("calendar", "documents", "incidents", "travel")
SETTINGS = Settings(k=2, walk_length=4, distractors=0, policies=1.0)


@cache
def pairs() -> tuple[ComposedPair, ...]:
    """Return a few pairs, of which one has an alternative and one asks who asks."""
    found: list[ComposedPair] = []
    for seed in range(100, 140):
        made = compose_task(system_of(SERVICES), SETTINGS, seed)
        if isinstance(made, ComposedPair):
            found.append(made)
        outcomes = {item.adversarial.certificate.gold_answer["outcome"] for item in found}
        is_asked = any(rule_of(item).asker for item in found)
        if len(found) >= 4 and len(outcomes) == 2 and is_asked:
            return tuple(found)
    raise AssertionError(f"{len(found)} pairs")


@cache
def system_with_pairs() -> System:
    """Return the system with all of them, and the usual harness."""
    system = system_of(SERVICES).model_copy(update={"harness": default_harness()})
    return with_tasks(system, [item for pair in pairs() for item in tasks_of(pair)])


@cache
def confirmed_first() -> tuple[System, ComposedPair]:
    """Return a system whose only rules want another call first, with a pair under one of them."""
    base = system_of(SERVICES).model_copy(update={"harness": default_harness()})
    contract = base.reference.contract
    rules = {name: rule for name, rule in contract.rules.items() if rule.first is not None}
    contract = contract.model_copy(update={"rules": FrozenDict(rules)})
    reference = base.reference.model_copy(update={"contract": contract})
    system = base.model_copy(update={"reference": reference})
    for seed in range(30):
        made = compose_task(system, SETTINGS, seed)
        if isinstance(made, ComposedPair):
            return with_tasks(system, list(tasks_of(made))), made
    raise AssertionError("no draft became a pair")


def rule_of(pair: ComposedPair) -> Ruled:
    """Return the part of the request that a rule forbids."""
    return clause_of(pair.adversarial.task)


def clause_of(task: Task) -> Ruled:
    """Return the part of a request that a rule is about."""
    found = ruled_of(task)
    assert found is not None
    return found[1]
