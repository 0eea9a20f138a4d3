"""A sibling that passed from the same state: evidence of the policy, and of nobody else."""

from __future__ import annotations

from functools import cache

from attribution.attribute import attribute_trajectory
from attribution.records import Decision, EvidenceKind, Party
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.trajectory import Trajectory
from tests.attribution.composed import composed_system
from tests.attribution.playing import Scored, play_all, with_defect


@cache
def clean() -> System:
    return composed_system(3)


@cache
def played() -> tuple[Scored, ...]:
    return tuple(play_all(clean(), 9))


def passed() -> list[Trajectory]:
    return [trajectory for trajectory, scored in played() if scored.passed]


def failed() -> list[Scored]:
    return [item for item in played() if item[1].passed is False]


def without_gold(system: System) -> System:
    """Return the system with tasks that no run without slips can do, and no record of any run:
    gold leaves its last step out.
    """
    certificates = {
        name: item.model_copy(update={"gold_run": FrozenDict(), "seed_rows": FrozenDict()})
        for name, item in system.reference.certificates.items()
    }
    reference = system.reference.model_copy(update={"certificates": FrozenDict(certificates)})
    tasks = {
        name: task.model_copy(
            update={
                "gold": FrozenDict({key: task.gold[key] for key in sorted(task.gold)[:1]}),
                "demands": FrozenDict(),
                "answer": FrozenDict(),
            }
        )
        for name, task in system.tasks.items()
    }
    return system.model_copy(update={"reference": reference, "tasks": FrozenDict(tasks)})


def test_a_sibling_from_the_same_state_is_named_and_changes_no_place() -> None:
    named = 0
    for trajectory, scored in failed():
        alone = attribute_trajectory(clean(), trajectory, scored).verdict
        beside = attribute_trajectory(clean(), trajectory, scored, passed())

        assert beside.verdict.blamed[0].place == alone.blamed[0].place
        facts = [item for item in beside.evidence if item.kind is EvidenceKind.SIBLING]
        named += bool(facts)
        for fact in facts:
            turn = int(alone.blamed[0].place.partition("/")[2])
            (sibling,) = [item for item in passed() if item.rollout_id == fact.data["sibling"]]
            assert fact.data["shared"] == turn
            for ours, theirs in zip(trajectory.turns[:turn], sibling.turns[:turn], strict=True):
                assert [item.shown for item in ours.observations] == [
                    item.shown for item in theirs.observations
                ]
    assert named > 0


def test_where_no_run_without_slips_can_do_the_task_a_sibling_decides() -> None:
    system = without_gold(clean())

    for trajectory, scored in failed():
        alone = attribute_trajectory(system, trajectory, scored).verdict
        beside = attribute_trajectory(system, trajectory, scored, passed()).verdict

        assert alone.decision is Decision.UNDECIDED
        assert [blame.party for blame in beside.blamed] == [Party.POLICY]


def test_a_sibling_accuses_no_component_and_clears_none() -> None:
    system = with_defect(clean(), "harness", ("replace", "/limits/max_turns", 3))
    lost = [item for item in play_all(system, 3) if item[1].passed is False]

    for trajectory, scored in lost:
        alone = attribute_trajectory(system, trajectory, scored).verdict
        beside = attribute_trajectory(system, trajectory, scored, passed()).verdict

        parties = [[(b.party, b.place) for b in item.blamed] for item in (alone, beside)]
        assert parties[0] == parties[1]
    assert any(
        attribute_trajectory(system, *item).verdict.blamed[0].party is Party.HARNESS
        for item in lost
    )
