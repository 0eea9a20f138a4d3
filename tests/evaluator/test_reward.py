"""Rewards of a group, against figures computed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.evaluator.reward import completion_rewards


def test_mixed_group_weighs_what_the_group_finds_hard() -> None:
    # p = (2/3, 1/3); lambda 0.5: the weights are 1/2 + 1/3 = 5/6 and 1/2 + 2/3 = 7/6, together 2.
    values = [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]

    rewards = completion_rewards(values, [1.0, 1.0], 0.5)

    assert rewards == pytest.approx([5 / 12, 1.0, 0.0])


def test_group_without_variance_keeps_the_weight_lambda() -> None:
    # p = (1, 0): the weights are 0.5 and 1.5, so that all siblings have 0.5 / 2.
    values = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]

    rewards = completion_rewards(values, [1.0, 1.0], 0.5)

    assert rewards == [0.25, 0.25, 0.25]


def test_own_weight_of_a_criterion_multiplies() -> None:
    # p = (1/2, 1/2), lambda 0.5: 3 * 1 and 1 * 1 of 4.
    rewards = completion_rewards([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 0.5)

    assert rewards == [0.75, 0.25]


@pytest.mark.parametrize("smallest", [1e-17, 1e-300])
def test_a_weight_is_not_rounded_away_where_every_sibling_meets_all(smallest: float) -> None:
    assert completion_rewards([[1.0], [1.0]], [1.0], smallest) == [1.0, 1.0]


def test_lone_sibling_that_meets_all_has_one() -> None:
    assert completion_rewards([[1.0, 1.0, 1.0]], [0.1, 0.2, 0.7], 0.3) == [1.0]


def test_no_members_no_rewards() -> None:
    assert completion_rewards([], [1.0], 0.5) == []


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=3, max_size=3), min_size=1, max_size=8),
    st.floats(min_value=1e-3, max_value=10),
)
def test_reward_is_one_only_when_all_is_met_and_never_outside(
    values: list[list[float]], lambda_: float
) -> None:
    rewards = completion_rewards(values, [1.0, 2.0, 0.5], lambda_)

    for row, reward in zip(values, rewards, strict=True):
        assert 0.0 <= reward <= 1.0
        assert (reward == 1.0) == all(row)
        assert (reward == 0.0) == (not any(row))
