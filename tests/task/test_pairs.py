"""A pair is one request in two worlds; who does not look at the fact passes neither as a pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from components.environment.world import build_world
from components.evaluator.rubric import is_pass, score_criteria
from components.records.base import to_json
from components.records.frozen import FrozenDict
from components.records.policy import PolicyRule, Relation, RuleFamily
from components.records.system import System
from components.records.task import FromDefault, Task
from components.task.certify import certify, recertify
from components.task.compose import ComposedPair, ComposedTask, compose_task
from components.task.gold import derived_line
from components.task.pair_gates import facts_between
from components.task.reasons import Rejection
from components.task.rules import OUTCOME, complied, refusing, rule_words
from tests.task.builders import Settings, system_of
from tests.task.pairs import SERVICES, clause_of, confirmed_first, pairs, rule_of, system_with_pairs


def passes(
    made: ComposedTask, played: Task, *, acts: bool = True, system: System | None = None
) -> bool:
    """Whether the made task's rubric passes another way to take it."""
    system = system or system_with_pairs()
    world = build_world(system, made.task.world)
    line = derived_line(world, played, sorted(played.gold) if acts else [])
    answer = line.answer if acts else FrozenDict({OUTCOME: "refused"})
    settings = system.evaluator.settings
    scores = score_criteria(made.rubric, settings, world.initial, line.final, answer)
    return is_pass(scores, made.rubric, settings) is True


def refused(task: Task, twin: Task | None, **parts: Any) -> str:
    """Why a changed half is not certified."""
    system = system_with_pairs()
    rubric = system.evaluator.rubrics[task.task_id]
    made = certify(system, task.model_copy(update=parts), rubric, None, twin)
    return made.detail if isinstance(made, Rejection) else ""


def test_the_halves_say_the_same_and_their_worlds_differ_in_the_fact_that_the_rule_looks_at() -> (
    None
):
    system = system_with_pairs()
    for pair in pairs():
        one, other = pair.compliant.task, pair.adversarial.task

        assert one.task_id != other.task_id
        assert one.pair == other.pair != ""
        for name in ("instruction", "policy_rules", "answer_schema"):
            assert getattr(one, name) == getattr(other, name)
        (fact,) = facts_between(build_world(system, one.world), build_world(system, other.world))
        rule = system.reference.contract.rules[rule_of(pair).rule]
        assert fact[1] == rule.field
        assert rule.text in one.policy_rules


def test_each_half_is_certified_and_names_the_other() -> None:
    system = system_with_pairs()
    for pair in pairs():
        one, other = pair.compliant, pair.adversarial

        assert one.certificate.twin == other.task.task_id
        assert other.certificate.twin == one.task.task_id
        for half in (one, other):
            assert recertify(system, half.task.task_id) == half.certificate


def test_who_always_complies_or_always_refuses_passes_no_pair() -> None:
    ways: dict[str, Callable[[Task], Task]] = {"comply": complied, "refuse": refusing}
    for pair in pairs():
        halves = (pair.compliant, pair.adversarial)

        assert all(passes(half, half.task) for half in halves)
        for way in ways.values():
            assert not all(passes(half, way(half.task)) for half in halves)
        assert passes(pair.compliant, complied(pair.compliant.task))
        assert not any(passes(half, half.task, acts=False) for half in halves)


def test_an_alternative_is_neither_left_out_nor_called_done() -> None:
    (pair, *_rest) = [
        item
        for item in pairs()
        if item.adversarial.certificate.gold_answer[OUTCOME] == "alternative"
    ]
    half, place = pair.adversarial, rule_of(pair).place

    assert half.task.gold[place] != rule_of(pair).asked
    assert not passes(half, refusing(half.task))
    called_done = FrozenDict({**half.task.answer, OUTCOME: FromDefault(value="done")})
    assert not passes(half, half.task.model_copy(update={"answer": called_done}))


def test_where_a_rule_wants_another_call_first_it_is_made_first_and_all_is_done() -> None:
    system, pair = confirmed_first()
    half, clause = pair.adversarial, rule_of(pair)
    rule = system.reference.contract.rules[clause.rule]

    assert rule.first is not None
    assert half.task.gold[clause.place].tool == rule.first.tool
    assert half.task.gold[clause.then] == clause.asked == pair.compliant.task.gold[clause.place]
    assert clause.then not in pair.compliant.task.gold
    assert {item.certificate.gold_answer[OUTCOME] for item in (half, pair.compliant)} == {"done"}
    assert recertify(system, half.task.task_id) == half.certificate
    for way in (complied, refusing):
        assert not passes(half, way(half.task), system=system)
    late = {
        **half.task.gold,
        clause.place: clause.asked,
        clause.then: half.task.gold[clause.place],
    }
    assert not passes(half, half.task.model_copy(update={"gold": FrozenDict(late)}), system=system)


def test_the_fact_of_the_twin_makes_the_twins_solution_right() -> None:
    for pair in pairs():
        one, other = pair.compliant, pair.adversarial
        swapped = other.task.model_copy(update={"world": one.task.world})

        assert passes(one, complied(swapped))
        assert "differ in 0 facts" in refused(other.task, one.task, world=one.task.world)


def test_a_half_without_its_twin_its_rules_or_its_words_is_refused() -> None:
    pair = pairs()[0]
    half, twin = pair.adversarial.task, pair.compliant.task
    text = rule_of(pair).text
    fewer = tuple(rule for rule in half.policy_rules if rule != text)

    assert refused(half, twin) == ""
    assert "the other half" in refused(half, half)
    assert "its rules are not" in refused(half, twin, policy_rules=fewer)
    assert "instruction" in refused(half, twin, instruction=half.instruction + " ")
    assert refused(half, twin, clauses=FrozenDict[str, Any]()) != ""
    assert "no twin" in refused(half, twin, pair="")


def test_a_defect_of_the_twin_is_not_held_against_a_half() -> None:
    pair = pairs()[0]
    half, twin = pair.adversarial.task, pair.compliant.task

    assert refused(half, twin.model_copy(update={"policy_rules": ()})) == ""


def test_gold_that_breaks_another_rule_is_refused() -> None:
    """A rule about a write that the pair makes anyway, which the row in question does not keep."""
    system, pair = system_with_pairs(), pairs()[0]
    half, twin = pair.adversarial, pair.compliant
    place = clause_of(half.task).place
    record = next(
        call
        for name, call in sorted(half.certificate.gold_run.items())
        if call.changes and name != place
    )
    change = next(item for item in record.changes if item.cause.startswith("effect:"))
    names = next(key for key, value in record.arguments.items() if value == change.row_id)
    rule = PolicyRule(
        text="It is never done.",
        family=RuleFamily.LIMIT,
        service=record.service,
        tool=record.tool,
        names=names,
        table=change.table,
        field="id",
        relation=Relation.IS,
        value="nobody",
    )
    contract = system.reference.contract
    contract = contract.model_copy(update={"rules": FrozenDict({**contract.rules, "zz": rule})})
    strict = system.model_copy(
        update={"reference": system.reference.model_copy(update={"contract": contract})}
    )
    last = rule_words()["left_out"]
    at = half.task.policy_rules.index(last)
    told = (*half.task.policy_rules[:at], rule.text, *half.task.policy_rules[at:])
    changed = {"policy_rules": told}

    made = certify(
        strict,
        half.task.model_copy(update=changed),
        half.rubric,
        None,
        twin.task.model_copy(update=changed),
    )

    assert isinstance(made, Rejection)
    assert made.detail.startswith("gold breaks zz")


def test_without_policies_no_task_tells_a_rule_and_none_is_written_with_a_pair() -> None:
    made = compose_task(system_of(SERVICES), Settings(k=2, walk_length=4), 0)

    assert isinstance(made, ComposedTask)
    assert "pair" not in to_json(made.task)
    assert not {"twin", "asker"} & set(to_json(made.certificate))
    assert made.task.policy_rules == ()


@pytest.mark.parametrize("half", ["compliant", "adversarial"])
def test_the_same_seed_makes_the_same_pair(half: str) -> None:
    pair = pairs()[0]
    seed = getattr(pair, half).task.seed

    again = compose_task(system_with_pairs(), _settings(), seed)

    assert isinstance(again, ComposedPair)
    assert getattr(again, half) == getattr(pair, half)


def _settings() -> Settings:
    return Settings(k=2, walk_length=4, distractors=0, policies=1.0)
