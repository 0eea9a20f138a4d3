"""The regression set: what a repair wins stays won, and a patch that loses it is refused."""

from __future__ import annotations

from attribution.accept import Example, decide
from attribution.interventions.runs import texts_of
from attribution.records import Regression
from attribution.regressions import holds, one_a_task, pin, regression_check
from attribution.swap import make_patch, swap
from components.records.patch import Patch
from components.records.system import System
from components.records.trajectory import Trajectory
from tests.attribution.composed import composed_system
from tests.attribution.playing import NO_SLIPS, play_all, with_defect


def defect() -> tuple[System, Patch, list[Example]]:
    """Return a system with a write that writes nothing, its repair, and the runs that it cost."""
    system = composed_system(3)
    service, tool, effect = next(
        (call.service, call.tool, change.cause.partition(":")[2])
        for certificate in system.reference.certificates.values()
        for call in certificate.gold_run.values()
        for change in call.changes
        if change.cause.startswith("effect:") and change.before is not None
    )
    artifact, at = f"blueprint/{service}", f"/tools/{tool}/effects/{effect}/when"
    broken = with_defect(system, artifact, ("replace", at, False))
    repair = make_patch(broken, artifact, [("replace", at, True)], "a repair", f"{artifact}#{at}")
    lost = [
        Example(trajectory=trajectory, scored=scored)
        for trajectory, scored in play_all(broken, 1, NO_SLIPS)
        if not scored.passed
    ]
    return broken, repair, lost


def won_without_the_defect(broken: System, repair: Patch, lost: list[Example]) -> Trajectory:
    """Return a run that passes in the repaired system, of a task that the defect lost."""
    tasks = {item.trajectory.task_id for item in lost}
    played = play_all(swap(broken, repair), 1, NO_SLIPS)
    return next(run for run, scored in played if scored.passed and run.task_id in tasks)


def test_a_repairs_examples_are_pinned_one_a_task_and_hold_only_with_it() -> None:
    broken, repair, lost = defect()

    pinned = decide(broken, repair, lost).regressions

    assert {entry.task_id for entry in pinned} == {item.trajectory.task_id for item in lost}
    assert len(pinned) == len({entry.task_id for entry in pinned}) > 0
    assert all(holds(swap(broken, repair), entry) for entry in pinned)
    assert not any(holds(broken, entry) for entry in pinned)


def test_a_patch_that_loses_an_entry_is_refused_and_one_that_keeps_it_is_not() -> None:
    broken, repair, lost = defect()
    run = won_without_the_defect(broken, repair, lost)
    # What fails because of the defect, pinned as if it had to fail: the repair loses just this.
    wrong = pin(broken, "p_earlier", run, texts_of(run), passes=False)
    right = pin(broken, "p_earlier", run, (), passes=True)

    refused, kept = decide(broken, repair, lost, [wrong]), decide(broken, repair, lost, [right])

    assert not refused.accepted
    assert refused.reason.startswith("regressions: 0 of 1 hold, 1 did")
    assert "p_earlier" in refused.reason
    assert kept.accepted
    assert (kept.checks["regressions"].before, kept.checks["regressions"].after) == (0, 1)


def test_entries_of_other_tasks_and_an_entry_that_did_not_hold_stop_nothing() -> None:
    broken, repair, lost = defect()
    run = won_without_the_defect(broken, repair, lost)
    fixed = swap(broken, repair)
    entry = pin(fixed, "p_earlier", run, texts_of(run), passes=False)

    check = regression_check(fixed, broken, [run.task_id], [entry])
    other = regression_check(broken, fixed, ["another"], [entry])

    assert (check.before, check.after, check.holds) == (0, 1, True)
    assert (other.total, other.holds) == (0, True)


def test_the_shortest_of_a_task_and_expectation_is_kept() -> None:
    broken, _repair, lost = defect()
    run = lost[0].trajectory
    texts = texts_of(run)

    def entry(number: int, passes: bool) -> Regression:
        named = run.model_copy(update={"rollout_id": f"r{number}"})
        return pin(broken, "p", named, texts[:number], passes)

    chosen = one_a_task([entry(2, True), entry(1, True), entry(0, False)])

    assert [(item.rollout_id, item.passes) for item in chosen] == [("r0", False), ("r1", True)]
