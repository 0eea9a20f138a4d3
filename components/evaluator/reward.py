"""The reward of a group: how far each sibling came, weighted towards what the group finds hard."""

from __future__ import annotations

from collections.abc import Sequence


def completion_rewards(
    values: Sequence[Sequence[float]], weights: Sequence[float], lambda_: float
) -> list[float]:
    """Return one reward a member, in [0, 1]; 1 only when every criterion is met.

    Args:
        values: [N][criteria] results of the scored members of one group, each in [0, 1].
        weights: [criteria] the criteria's own weights, all > 0.
        lambda_: > 0; weight that a criterion keeps when every sibling meets it.

    Source: CompoWorld's completion-focused rubric reward: with `p_j = mean(v_ij)` a criterion
    weighs
        `w_j = lambda + (1 - p_j)` and `R_i = sum(w_j v_ij) / sum(w_j)`. The paper does not print
        lambda, so its value is ours, and so is the criterion's own weight, which multiplies `w_j`.
    """
    assert lambda_ > 0
    assert all(len(row) == len(weights) for row in values)
    if not values or not weights:
        return [0.0] * len(values)
    shares = [sum(column) / len(values) for column in zip(*values, strict=True)]
    focused = [own * (lambda_ + (1.0 - share)) for own, share in zip(weights, shares, strict=True)]
    total = sum(focused)
    return [
        sum(weight * value for weight, value in zip(focused, row, strict=True)) / total
        for row in values
    ]
