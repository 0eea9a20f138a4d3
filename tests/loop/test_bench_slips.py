"""The slips of the benchmark's policy: steps done twice, and rollouts that err once."""

from __future__ import annotations

from collections import Counter
from functools import cache

from attribution.change import Change, bind
from attribution.interventions.runs import arm_of, oracle_run, what_was_read
from components.records.system import System
from components.records.trajectory import Trajectory
from loop.bench_attribution.planting import Ground, planted
from loop.bench_attribution.playing import play_single_slips, score_alone
from tests.attribution.composed import composed_system


@cache
def clean() -> System:
    return composed_system(2)


@cache
def slips(name: str) -> list[Trajectory]:
    return play_single_slips(clean(), name, 2, 0)


def tools(trajectory: Trajectory) -> Counter[str]:
    return Counter(call for turn in trajectory.turns for call, _ in what_was_read(turn))


def test_each_step_is_left_out_once_and_done_twice_once() -> None:
    name = min(clean().tasks)
    right = tools(oracle_run(arm_of(clean(), name)).trajectory)

    by_version = {item.turns[0].policy_version: tools(item) for item in slips(name)}

    for step, gold in clean().tasks[name].gold.items():
        tool = f"{gold.service}__{gold.tool}"
        assert by_version[f"one-slip-v1:{step}:skip_step"][tool] < right[tool]
        twice = by_version[f"one-slip-v1:{step}:repeat_step"]
        assert twice[tool] > right[tool]
        assert all(twice[other] == right[other] for other in right if other != tool)


def test_a_rubric_that_asks_too_little_is_shown_by_runs_that_err_in_just_that_way() -> None:
    system = clean()
    ground = Ground(system=system, group_size=1, per_kind=1, seed=0, live=4)
    name = min(system.tasks)
    missed = [
        [key for key, score in score_alone(system, item).criteria.items() if score.value == 0.0]
        for item in slips(name)
    ]
    key = next(keys[0] for keys in missed if len(keys) == 1 and keys[0] != "untouched")
    lax = Change(
        artifact=f"rubric/{name}",
        operations=(("remove", f"/criteria/{key}", None),),
        reason="nothing looks at it",
        place=f"rubric/{name}#/criteria/{key}",
    )

    instance = planted(ground, "lax", (bind(system, lax),))

    assert instance is not None
    false = [item for item in instance.rollouts if item.is_false_pass]
    assert instance.is_live()
    assert 0 < len(false) <= ground.live
    for item in false:
        scored = score_alone(system, item.trajectory)
        assert {name for name, one in scored.criteria.items() if one.value == 0.0} == {key}
