"""Fits the weights of the reading on tools that were labelled by reading.

    python -m components.environment.reading.fit LABELS.jsonl SPECS.jsonl.gz [OUT.json]

LABELS: one JSON a line with `server`, `name`, `description`, `inputSchema` and `label`
(`operation`, `functional`, `identifier`, `deterministic`). SPECS: one JSON a line with `server`
and `tools`, as servers list them (gzip or plain): a tool is read beside the other tools of its
server. The made-up tools of `examples.json` are fitted on as well. Needs NumPy only, some five
minutes and 1 GB; the same input gives the same bytes on one machine.

Thresholds come from predictions on servers that were left out of the fit, group by group.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.environment.reading.examples import written_examples
from components.environment.reading.features import (
    FEATURE_VERSION,
    ServerView,
    ToolView,
    features_of,
    view_server,
)
from components.environment.reading.labels import LabelledTool, labelled_tools
from components.environment.reading.linear import LinearModel, to_stored
from components.environment.reading.param_features import param_features
from components.environment.reading.read import WEIGHTS, choose
from components.environment.reading.train import train
from components.environment.wrapped import wrapper_of
from components.errors import SelvageError

_FOLDS = 5
_OPERATION_STRENGTH = 1.7
_WRITTEN_WEIGHT = 0.7
_IDENTIFIER_STRENGTH = 1.0
_IDENTIFIER_THRESHOLD = 0.45
_PRECISION = 0.94
"""Wanted precision of `deterministic`, on servers left out; above the bar, since it is measured on
few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A labelled tool with its features."""

    labelled: LabelledTool
    server: ServerView
    view: ToolView
    features: dict[str, float]

    @property
    def is_written(self) -> bool:
        """Made up, not a label of a real tool."""
        return self.labelled.group < 0

    @property
    def weight(self) -> float:
        """How much it counts in the fit."""
        return _WRITTEN_WEIGHT if self.is_written else 1.0

    @property
    def target(self) -> str:
        """Class of the operation model."""
        label = self.labelled.label
        operation = str(label["operation"])
        return f"external/{label['functional']}" if operation == "external" else operation


def examples_of(tools: Sequence[LabelledTool]) -> list[Example]:
    """Return the labelled tools with their features, in the same order."""
    views: dict[int, tuple[ServerView, dict[str, tuple[ToolView, dict[str, float]]]]] = {}
    out = []
    for one in tools:
        if id(one.spec) not in views:
            server = view_server(one.spec)
            pairs = zip(server.tools, features_of(server), strict=True)
            views[id(one.spec)] = (server, {view.tool.name: (view, row) for view, row in pairs})
        server, by_name = views[id(one.spec)]
        view, features = by_name[one.tool]
        out.append(Example(labelled=one, server=server, view=view, features=features))
    return out


def folds_of(tools: Sequence[LabelledTool], num: int) -> list[int]:
    """Return the fold of each tool: groups of servers are kept together, sizes even."""
    sizes: dict[int, int] = {}
    for one in tools:
        sizes[one.group] = sizes.get(one.group, 0) + 1
    loads = [0] * num
    fold: dict[int, int] = {}
    for group in sorted(sizes, key=lambda group: (-sizes[group], group)):
        fold[group] = min(range(num), key=lambda place: (loads[place], place))
        loads[fold[group]] += sizes[group]
    return [fold[one.group] for one in tools]


def fit_operation(examples: Sequence[Example]) -> LinearModel:
    """Return the operation model of the examples."""
    return train(
        [one.features for one in examples],
        [one.target for one in examples],
        strength=_OPERATION_STRENGTH,
        counts_for=[one.weight for one in examples],
    )


def fit_identifier(examples: Sequence[Example], operations: Sequence[str]) -> LinearModel:
    """Return the identifier model of the examples' parameters.

    Args:
        operations: operation of each example as it was predicted without it.
    """
    rows: list[dict[str, float]] = []
    labels: list[str] = []
    weights: list[float] = []
    for one, operation in zip(examples, operations, strict=True):
        wanted = frozenset(one.labelled.label["identifier"])
        if wanted and wrapper_of(one.labelled.spec.tools[one.labelled.tool]) is not None:
            continue  # the label names the object, and not what in it picks a record
        rows.extend(param_features(one.server, one.view, operation))
        labels.extend("yes" if param.name in wanted else "no" for param in one.view.params)
        weights.extend([one.weight] * len(one.view.params))
    return train(rows, labels, strength=_IDENTIFIER_STRENGTH, counts_for=weights)


def left_out(
    examples: Sequence[Example], num_folds: int = _FOLDS
) -> list[tuple[LinearModel, NDArray[np.float64]]]:
    """Return for each example a model fitted without its group, and its probabilities there."""
    folds = folds_of([one.labelled for one in examples], num_folds)
    models = [
        fit_operation([one for one, at in zip(examples, folds, strict=True) if at != fold])
        for fold in range(num_folds)
    ]
    return [
        (models[fold], models[fold].probabilities(one.features))
        for one, fold in zip(examples, folds, strict=True)
    ]


def external_threshold(examples: Sequence[Example], external: Sequence[float]) -> float:
    """Return the highest probability of `external` below which the wanted precision holds."""
    real = [index for index, one in enumerate(examples) if not one.is_written]
    order = sorted(real, key=lambda index: (external[index], index))
    right, best = 0, 0.5
    for count, index in enumerate(order, start=1):
        right += bool(examples[index].labelled.label["deterministic"])
        if count >= 20 and right / count >= _PRECISION:
            best = external[index] + 1e-6
    return round(min(best, 0.6), 4)


def fit(labels: Path, specs: Path) -> bytes:
    """Return the bytes of the weights file.

    Raises:
        SpecError: a file cannot be used.
    """
    examples = examples_of([*labelled_tools(labels, specs), *written_examples()])
    outside = left_out(examples)
    external = [
        float(
            sum(chances[i] for i, name in enumerate(model.classes) if name.startswith("external"))
        )
        for model, chances in outside
    ]
    threshold = external_threshold(examples, external)
    operations = [choose(model, chances, threshold).operation.value for model, chances in outside]
    stored = {
        "feature_version": FEATURE_VERSION,
        "num_examples": len(examples),
        "num_written": sum(one.is_written for one in examples),
        "external_threshold": threshold,
        "identifier_threshold": _IDENTIFIER_THRESHOLD,
        "operation": to_stored(fit_operation(examples)),
        "identifier": to_stored(fit_identifier(examples, operations)),
    }
    return json.dumps(stored, ensure_ascii=True, sort_keys=True).encode("ascii") + b"\n"


def main(arguments: Sequence[str]) -> int:
    """Fit and write; returns the exit status."""
    if len(arguments) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    out = Path(arguments[2]) if len(arguments) == 3 else WEIGHTS
    try:
        data = fit(Path(arguments[0]), Path(arguments[1]))
    except SelvageError as error:
        print(error, file=sys.stderr)
        return 1
    out.write_bytes(data)
    print(f"{out}: {len(data)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
