"""Wrong references: nothing but the reference is changed, and nobody is blamed for it."""

from __future__ import annotations

from functools import cache

import pytest

from components.records.base import to_json
from components.records.system import System
from loop.bench_attribution.judging import Case, Judged, Rules, judge
from loop.bench_attribution.planting import Instance, labelled
from loop.bench_attribution.playing import only, play_group
from loop.bench_attribution.wrong_figures import count_wrong
from loop.bench_attribution.wrong_references import (
    WRONG_KINDS,
    WrongReference,
    wrong_references,
)
from tests.attribution.composed import composed_system

SEED = 0
ONE_AGAINST_ONE = "rule_of_a_slip"
"""No recorded run speaks of the call, so that the sentence stands alone."""


@cache
def clean() -> System:
    return composed_system(4)


@cache
def found() -> tuple[WrongReference, ...]:
    rollouts = []
    for name in sorted(clean().tasks):
        played = play_group(clean(), name, range(8), SEED)
        said = labelled(clean(), clean(), (), played, SEED)
        rollouts.append(Instance(kind="", faults=(), tasks=(name,), rollouts=tuple(said)))
    return tuple(wrong_references(clean(), rollouts, 1, 2, SEED))


def judged(item: WrongReference) -> Judged:
    case = Case(
        system=item.system,
        trajectories=tuple(one.trajectory for one in item.rollouts),
        scored=tuple(one.scored for one in item.rollouts),
    )
    return judge(Rules(patches_per_mode=1, repairs=False), case)


def test_every_kind_is_planted_and_changes_the_reference_alone() -> None:
    assert {item.kind for item in found()} == set(WRONG_KINDS)
    for item in found():
        same = only(clean(), item.system.tasks)
        for part in ("environment", "tasks", "harness", "evaluator"):
            assert getattr(item.system, part) == getattr(same, part)
        assert to_json(item.system.reference) != to_json(same.reference)


@pytest.mark.parametrize("kind", sorted(set(WRONG_KINDS) - {ONE_AGAINST_ONE}))
def test_nobody_is_blamed_and_no_success_is_called_false(kind: str) -> None:
    items = [item for item in found() if item.kind == kind]

    told = count_wrong(items, [judged(item) for item in items])

    failures, successes = told["failures_blamed_on_a_component"], told["successes_called_false"]
    assert failures["total"] + successes["total"] > 0
    assert (failures["hits"], successes["hits"], told["undecided"]) == (0, 0, 0)
    if kind != "older_row_beside":  # a row that no run reads: nothing contradicts what it was
        assert told["named"] == told["instances"] == 1


def test_counts_hold_each_verdict_against_its_own_rollout() -> None:
    item = next(item for item in found() if item.kind == "unwritten_reaction")
    said = judged(item)
    swapped = said.model_copy(update={"attributions": said.attributions[::-1]})

    told = count_wrong([item], [swapped])

    num_failed = sum(one.scored.passed is False for one in item.rollouts)
    num_passed = len(item.rollouts) - num_failed
    assert told["failures_blamed_on_a_component"]["total"] == num_failed > 0
    assert told["successes_called_false"]["total"] == num_passed > 0
    assert told["successes_called_false"]["hits"] == min(num_failed, num_passed)
