"""The whole of attribution on composed tasks: the planted faults found and repaired, and nothing
else blamed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache

from attribution.accept import Example, accepted_system, decide
from attribution.evidence import same_place
from attribution.faults.demo import demo_faults
from attribution.faults.kinds import plant
from attribution.modes import failure_modes
from attribution.patchers.propose import propose
from attribution.records import AcceptanceRecord, Attribution, Decision, FailureMode, Party
from attribution.review import review_task
from components.records.patch import Patch
from components.records.system import System
from tests.attribution.composed import composed_system
from tests.attribution.playing import Scored, attribute_all, play_all
from tests.attribution.test_ownership import assert_touches_only_what_has_a_reference

NUM_TASKS, GROUP_SIZE = 16, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """One pass over a system with the planted faults."""

    faults: tuple[Patch, ...]
    played: list[Scored]
    attributions: list[Attribution]
    modes: tuple[FailureMode, ...]
    decided: tuple[tuple[Patch, AcceptanceRecord], ...]
    repaired: System


@cache
def demo() -> Demo:
    clean = composed_system(NUM_TASKS)
    faults = demo_faults(clean, 0)
    system = plant(clean, faults)
    played = play_all(system, GROUP_SIZE)
    attributions = attribute_all(system, played)
    facts = [fact for item in attributions for fact in item.evidence]
    modes = failure_modes(attributions, [scored for _, scored in played])
    examples = {t.rollout_id: Example(trajectory=t, scored=s) for t, s in played}
    decided = []
    for mode in modes:
        for patch in propose(system, mode, facts, 3):
            record = decide(system, patch, [examples[key] for key in mode.rollouts])
            decided.append((patch, record))
            if record.accepted:
                system = accepted_system(system, patch, record)
                break
    return Demo(
        faults=faults,
        played=played,
        attributions=attributions,
        modes=modes,
        decided=tuple(decided),
        repaired=system,
    )


def found(fault: Patch, modes: tuple[FailureMode, ...]) -> list[FailureMode]:
    return [
        mode
        for mode in modes
        if mode.party.value == fault.component.value and same_place(mode.place, fault.place)
    ]


def test_eight_faults_are_planted_two_a_component() -> None:
    counts = Counter(fault.component.value for fault in demo().faults)

    assert counts == {"environment": 2, "task": 2, "harness": 2, "evaluator": 2}


def test_at_least_seven_faults_are_found_at_their_place() -> None:
    missed = [fault.place for fault in demo().faults if not found(fault, demo().modes)]

    assert len(missed) <= 1, missed


def test_no_component_is_blamed_where_nothing_was_planted() -> None:
    places = [fault.place for fault in demo().faults]
    blamed = [
        blame.place
        for item in demo().attributions
        for blame in item.verdict.blamed[:1]
        if blame.party is not Party.POLICY
    ]

    assert len(blamed) >= 8
    assert [p for p in blamed if not any(same_place(p, place) for place in places)] == []


def test_at_least_six_faults_are_repaired_by_accepted_patches() -> None:
    accepted = [patch for patch, record in demo().decided if record.accepted]
    repaired = [
        fault
        for fault in demo().faults
        if any(same_place(patch.place, fault.place) for patch in accepted)
    ]

    assert len(repaired) >= 6


def test_the_repaired_system_behaves_like_the_clean_one() -> None:
    clean, repaired = composed_system(NUM_TASKS), demo().repaired
    open_tasks = {task_id for task_id in repaired.tasks if review_task(repaired, task_id)}

    assert len(open_tasks) <= 2
    results = [
        [scored.passed for _, scored in play_all(system, GROUP_SIZE)]
        for system in (clean, repaired)
    ]
    differing = sum(left is not right for left, right in zip(*results, strict=True))
    assert differing <= len(open_tasks) * GROUP_SIZE
    broken = sum(scored.passed is not True for _, scored in demo().played)
    assert sum(passed is not True for passed in results[1]) < broken


def test_a_mode_that_no_rollout_met_is_repaired_without_evidence_at_hand() -> None:
    system = plant(composed_system(NUM_TASKS), demo().faults)
    silent = [mode for mode in demo().modes if not mode.rollouts]

    assert silent
    assert all(propose(system, mode, (), 1) for mode in silent)


def test_every_proposed_patch_keeps_to_what_it_may_touch() -> None:
    for patch, _record in demo().decided:
        assert patch.operations[0].op == "test"
        assert_touches_only_what_has_a_reference(patch)


def test_a_fault_touches_tasks_and_is_the_same_for_the_same_seed() -> None:
    clean = composed_system(NUM_TASKS)

    assert demo_faults(clean, 0) == demo().faults
    assert demo_faults(clean, 1) != demo().faults


def test_without_faults_no_component_is_ever_blamed() -> None:
    clean = composed_system(NUM_TASKS)
    played = play_all(clean, 10)

    verdicts = [item.verdict for item in attribute_all(clean, played)]

    assert len(verdicts) >= 150
    failed = [scored for _, scored in played if not scored.passed]
    assert len(failed) >= 30
    assert {b.party for item in verdicts for b in item.blamed} == {Party.POLICY}
    undecided = sum(item.decision is Decision.UNDECIDED for item in verdicts)
    assert undecided < 0.1 * len(failed)
    assert sum(bool(item.blamed) for item in verdicts) + undecided == len(failed)
