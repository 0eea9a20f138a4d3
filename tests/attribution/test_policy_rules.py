"""Rules that a task tells are held against the world contract; who breaks one is to blame."""

from __future__ import annotations

from functools import cache

import pytest

from attribution.change import bind, changed
from attribution.faults import task_rules
from attribution.faults.kinds import Clean
from attribution.interventions.derivation import broken_task
from attribution.interventions.runs import arm_of
from attribution.ownership import unreferenced_paths
from attribution.patchers.task import task_changes
from attribution.records import Decision, Party
from components.records.system import System
from loop.policy.config import ErrorRates
from tests.attribution.playing import NO_SLIPS, Scored, attribute_all, only, play_all, with_defect
from tests.task.pairs import pairs, system_with_pairs

BREAKS = ErrorRates(skip_step=0, stale_value=0, wrong_argument=0, malformed_call=0, break_rule=1)


@cache
def halves() -> tuple[System, str, str]:
    """One pair with the names of its halves: what must be done, and what must not."""
    pair = pairs()[0]
    names = (pair.compliant.task.task_id, pair.adversarial.task.task_id)
    return only(system_with_pairs(), *names), *names


def passed(played: list[Scored]) -> dict[str, bool | None]:
    return {trajectory.task_id: scored.passed for trajectory, scored in played}


def test_who_keeps_the_rules_passes_both_halves_and_who_breaks_them_is_blamed_for_one() -> None:
    system, done, forbidden = halves()

    assert passed(play_all(system, 1, NO_SLIPS)) == {done: True, forbidden: True}
    played = play_all(system, 1, BREAKS)
    assert passed(played) == {done: True, forbidden: False}
    verdicts = {item.verdict.task_id: item.verdict for item in attribute_all(system, played)}
    assert verdicts[done].decision is Decision.CLEARED
    assert verdicts[forbidden].decision is Decision.BLAMED
    assert [blame.party for blame in verdicts[forbidden].blamed] == [Party.POLICY]


@pytest.mark.parametrize("kind", [kind.name for kind in task_rules.KINDS])
def test_a_rule_that_is_not_told_as_it_is_costs_the_rollout_and_is_put_back(kind: str) -> None:
    system, _done, forbidden = halves()
    (wanted,) = [item for item in task_rules.KINDS if item.name == kind]
    fault = next(wanted.places(Clean(system=system)))
    faulty = changed(system, fault)
    place = f"task/{forbidden}#/policy_rules"

    played = play_all(only(faulty, forbidden), 1, NO_SLIPS)

    assert passed(played) == {forbidden: False}
    (verdict,) = (item.verdict for item in attribute_all(faulty, played))
    assert [(blame.party, blame.place) for blame in verdict.blamed] == [(Party.TASK, place)]
    facts = broken_task(faulty, faulty.tasks[forbidden], arm_of(faulty, forbidden).world)
    assert [fact.place for fact in facts] == [place]
    repair = next(task_changes(faulty, place, facts))
    assert changed(faulty, repair).tasks[forbidden] == system.tasks[forbidden]


def test_a_rule_that_is_told_and_is_none_is_the_tasks_too() -> None:
    system, done, _forbidden = halves()
    defect = ("add", "/policy_rules/0", "Everything is allowed on Mondays.")
    faulty = with_defect(system, f"task/{done}", defect)

    (fact,) = broken_task(faulty, faulty.tasks[done], arm_of(faulty, done).world)

    assert fact.party is Party.TASK
    assert "Mondays" in fact.statement


def test_a_harness_that_shows_no_rules_is_blamed_for_what_is_done() -> None:
    system, _done, forbidden = halves()
    prompt = system.harness.system_prompt
    start, end = prompt.index("{% if rules %}"), prompt.index("{% endif %}") + len("{% endif %}")
    hidden = ("replace", "/system_prompt", prompt[:start] + prompt[end:])
    faulty = with_defect(only(system, forbidden), "harness", hidden)

    played = play_all(faulty, 1, NO_SLIPS)

    assert passed(played) == {forbidden: False}
    (verdict,) = (item.verdict for item in attribute_all(faulty, played))
    assert [blame.party for blame in verdict.blamed] == [Party.HARNESS]


def test_rules_have_a_reference_and_the_pair_has_none() -> None:
    system, _done, forbidden = halves()
    fault = next(task_rules.KINDS[0].places(Clean(system=system)))

    assert unreferenced_paths(bind(system, fault)) == ()
    assert forbidden in fault.artifact
