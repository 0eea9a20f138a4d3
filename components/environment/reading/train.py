"""Trains a multinomial linear classifier: counted features in, weights out.

Owns the optimisation (softmax regression with a ridge penalty, L-BFGS), in NumPy alone and without
randomness: the same rows in the same order give the same weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from components.environment.reading.linear import LinearModel

_MEMORY = 8
_TOLERANCE = 1e-4
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


def train(
    rows: Sequence[Mapping[str, float]],
    labels: Sequence[str],
    *,
    strength: float,
    counts_for: Sequence[float] | None = None,
    min_count: int = 1,
    max_steps: int = 150,
) -> LinearModel:
    """Return the classifier of rows. N rows, F features, C classes.

    Args:
        rows: [N] features of each example.
        labels: [N] class of each example.
        strength: inverse of the ridge penalty; larger trusts the rows more.
        counts_for: [N] weight of each example; None means 1.
        min_count: examples that a feature must occur in to get a weight.
    """
    classes = tuple(sorted(set(labels)))
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(row.keys())
    names = sorted(name for name, count in counts.items() if count >= min_count)
    place = {name: index for index, name in enumerate(names)}
    x_NF = np.zeros((len(rows), len(names)), dtype=np.float32)
    for index, row in enumerate(rows):
        for name, value in row.items():
            if name in place:
                x_NF[index, place[name]] = value
    y_NC = np.zeros((len(rows), len(classes)), dtype=np.float32)
    y_NC[np.arange(len(rows)), [classes.index(label) for label in labels]] = 1.0
    weight_N1 = np.full((len(rows), 1), strength, dtype=np.float32)
    if counts_for is not None:
        weight_N1 *= np.asarray(counts_for, dtype=np.float32)[:, None]
    weights = _minimise(x_NF, y_NC, weight_N1, max_steps)
    return LinearModel(classes=classes, rows=place, weights_FC=weights.astype(np.float32))


def _loss(
    x_NF: Singles, y_NC: Singles, weights_FC: Floats, weight_N1: Singles
) -> tuple[float, Floats]:
    """Return the penalised log loss and its gradient [F, C]."""
    scores = x_NF @ weights_FC.astype(np.float32)
    scores -= scores.max(axis=1, keepdims=True)
    log_total = np.log(np.exp(scores).sum(axis=1, keepdims=True))
    log_chance = scores - log_total
    loss = -float((y_NC * log_chance * weight_N1).sum(dtype=np.float64))
    loss += 0.5 * float((weights_FC**2).sum())
    slope = x_NF.T @ ((np.exp(log_chance) - y_NC) * weight_N1)
    return loss, slope.astype(np.float64) + weights_FC


def _minimise(x_NF: Singles, y_NC: Singles, weight_N1: Singles, max_steps: int) -> Floats:
    """Return the weights [F, C] of the least loss, by L-BFGS with step halving."""
    weights = np.zeros((x_NF.shape[1], y_NC.shape[1]))
    loss, slope = _loss(x_NF, y_NC, weights, weight_N1)
    first = float(np.abs(slope).max())
    moves: list[tuple[Floats, Floats, float]] = []
    for _step in range(max_steps):
        if float(np.abs(slope).max()) <= _TOLERANCE * first:
            break
        direction = _direction(slope, moves)
        downhill = float((direction * slope).sum())
        size = 1.0 if moves else 1.0 / max(1.0, float(np.abs(slope).sum()))
        while True:
            moved = weights + size * direction
            new_loss, new_slope = _loss(x_NF, y_NC, moved, weight_N1)
            if new_loss <= loss + 1e-4 * size * downhill or size < 1e-12:
                break
            size *= 0.5
        if new_loss >= loss:
            break
        step, change = moved - weights, new_slope - slope
        curve = float((step * change).sum())
        if curve > 1e-10:
            moves = [*moves[-_MEMORY + 1 :], (step, change, curve)]
        weights, loss, slope = moved, new_loss, new_slope
    return weights


def _direction(slope: Floats, moves: Sequence[tuple[Floats, Floats, float]]) -> Floats:
    """Return the L-BFGS direction of descent."""
    direction = -slope
    shares = []
    for step, change, curve in reversed(moves):
        share = float((step * direction).sum()) / curve
        shares.append(share)
        direction = direction - share * change
    if moves:
        _step, change, curve = moves[-1]
        direction = direction * (curve / float((change * change).sum()))
    for (step, change, curve), share in zip(moves, reversed(shares), strict=True):
        back = float((change * direction).sum()) / curve
        direction = direction + (share - back) * step
    return direction
