"""A multinomial linear classifier over named features: inference, explanation, storage.

Owns the arithmetic of weights. Weights are stored as int8 with one scale a class, so a model of ten
thousand features is a small JSON file with the same bytes wherever it is written.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.errors import SpecError

_LEVELS = 127
_SILENT = 0.05
"""A feature that adds less than this to a score is no reason."""
_NOISE = 2
"""Features whose largest weight is no more than this many levels are not stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearModel:
    """Weights of a classifier. F features, C classes."""

    classes: tuple[str, ...]
    rows: dict[str, int]
    """Feature -> row of the weights."""
    weights_FC: NDArray[np.float32]

    def probabilities(self, features: Mapping[str, float]) -> NDArray[np.float64]:
        """Return [C] probabilities; features without weights count for nothing."""
        found = [
            (row, value)
            for name, value in features.items()
            if (row := self.rows.get(name)) is not None
        ]
        if not found:
            return np.full(len(self.classes), 1.0 / len(self.classes))
        places, values = zip(*found, strict=True)
        scores = np.asarray(values, dtype=np.float64) @ self.weights_FC[list(places)]
        scores = np.exp(scores - scores.max())
        out: NDArray[np.float64] = scores / scores.sum()
        return out

    def reasons(self, features: Mapping[str, float], chosen: int, num: int) -> list[str]:
        """Return the features that spoke most for a class against the mean of all classes."""
        found = [
            (row, value, name)
            for name, value in features.items()
            if (row := self.rows.get(name)) is not None and name != "bias"
        ]
        if not found:
            return []
        weights = self.weights_FC[[row for row, _value, _name in found]]
        speaks = (weights[:, chosen] - weights.mean(axis=1)) * [value for _row, value, _ in found]
        order = sorted(range(len(found)), key=lambda place: (-speaks[place], found[place][2]))
        return [
            f"{found[place][2]} ({speaks[place]:+.2f})"
            for place in order[:num]
            if speaks[place] > _SILENT
        ]


def to_stored(model: LinearModel) -> dict[str, Any]:
    """Return a model as JSON values."""
    weights = model.weights_FC
    scales = np.maximum(np.abs(weights).max(axis=0), 1e-6) / _LEVELS
    levels = np.clip(np.rint(weights / scales), -_LEVELS, _LEVELS).astype(np.int8)
    names = sorted(name for name, row in model.rows.items() if np.abs(levels[row]).max() > _NOISE)
    levels = levels[[model.rows[name] for name in names]]
    return {
        "classes": list(model.classes),
        "features": "\n".join(names),
        "scales": [float(f"{scale:.6g}") for scale in scales],
        "weights": base64.b64encode(levels.tobytes()).decode("ascii"),
    }


def from_stored(stored: Mapping[str, Any]) -> LinearModel:
    """Return a stored model.

    Raises:
        SpecError: the parts do not fit together.
    """
    names = stored["features"].split("\n")
    classes = tuple(stored["classes"])
    levels = np.frombuffer(base64.b64decode(stored["weights"]), dtype=np.int8)
    if levels.size != len(names) * len(classes) or len(stored["scales"]) != len(classes):
        raise SpecError(
            f"reading weights: {levels.size} weights for {len(names)} features of {len(classes)} "
            "classes do not fit; fit them again (components.environment.reading.fit)"
        )
    scales = np.asarray(stored["scales"], dtype=np.float32)
    return LinearModel(
        classes=classes,
        rows={name: row for row, name in enumerate(names)},
        weights_FC=levels.reshape(len(names), len(classes)).astype(np.float32) * scales,
    )
