"""What is kept from one judgement never shows in another."""

from __future__ import annotations

from attribution.evidence import evidence
from attribution.interventions.runs import arm_of, oracle_run, play_on, texts_of
from attribution.meter import measuring
from attribution.records import Evidence, EvidenceKind, Party
from attribution.remedies import repair_for_task
from components.records.frozen import FrozenDict
from components.records.system import System
from tests.attribution.hand_made import small_system
from tests.attribution.playing import attribute_all, play_all, with_defect

TASK = "t_1"


def broken_call(rollout_id: str) -> Evidence:
    return evidence(
        EvidenceKind.SPEC,
        Party.ENVIRONMENT,
        "blueprint/helpdesk#/tools/close_ticket/checks",
        "a rule does not hold, and the answer is a success",
        task_id=TASK,
        rollout_id=rollout_id,
        calls=[["helpdesk", "no_such_tool", {}]],
    )


def without_rubric(system: System) -> System:
    evaluator = system.evaluator.model_copy(update={"rubrics": FrozenDict()})
    return system.model_copy(update={"evaluator": evaluator})


def test_a_rollout_is_judged_by_its_own_facts_after_a_sibling_was() -> None:
    system = small_system(3)

    judged = [repair_for_task(system, TASK, (broken_call(name),)) for name in ("r1", "r2")]

    told = [item.rollout_id for one in judged for item in one.suspects[0].evidence]
    assert told == ["r1", "r2"]


def test_a_run_is_played_once_and_scored_by_each_evaluator() -> None:
    system = small_system(2).model_copy()
    arm, blind = arm_of(system, TASK), arm_of(without_rubric(system), TASK)
    texts = texts_of(oracle_run(arm).trajectory)[:2]

    with measuring() as meter:
        first = play_on(arm, texts, seed=3)
        again = play_on(arm, texts, seed=4)
        unscored = play_on(blind, texts)

    assert meter.cost()["continuation"].count == 1
    assert (first.passed, unscored.passed) == (True, None)
    assert (first.trajectory.seed, again.trajectory.seed) == (3, 4)
    assert first.trajectory.turns == again.trajectory.turns == unscored.trajectory.turns


def test_a_world_is_built_once_for_systems_that_differ_elsewhere() -> None:
    system = small_system(3)
    other = with_defect(system, "blueprint/calendar", ("replace", "/tools/add_bridge/effects", {}))
    mended = with_defect(
        system, "blueprint/helpdesk", ("replace", "/tools/assign_ticket/effects", {})
    )

    assert arm_of(other, TASK).world is arm_of(system, TASK).world
    assert arm_of(mended, TASK).world is not arm_of(system, TASK).world


def test_verdicts_do_not_depend_on_the_order_of_the_rollouts() -> None:
    system = with_defect(
        small_system(3),
        "blueprint/helpdesk",
        ("replace", "/tools/assign_ticket/effects/assignment/when", False),
    )
    played = play_all(system, 4)

    forth = attribute_all(system, played)
    copy = System.model_validate(system.model_dump())
    back = attribute_all(copy, played[::-1])

    assert forth == back[::-1]
    blamed = {blame.party for item in forth for blame in item.verdict.blamed}
    assert blamed == {Party.ENVIRONMENT, Party.POLICY}
