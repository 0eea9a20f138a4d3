"""Fitting: the classifier learns, is stored as it is, and asks for files that it can use."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from components.environment.reading.examples import read_line, written_examples
from components.environment.reading.fit import folds_of, main
from components.environment.reading.labels import labelled_tools, read_lines
from components.environment.reading.linear import from_stored, to_stored
from components.environment.reading.train import train
from components.errors import SpecError
from components.records.blueprint import Operation
from tests.environment.reading.builders import tool

_ROWS = [{"bias": 1.0, "red": 1.0}, {"bias": 1.0, "blue": 1.0}, {"bias": 1.0, "green": 1.0}]
_LABELS = ["warm", "cold", "cold"]


def test_a_classifier_learns_rows_that_can_be_told_apart() -> None:
    model = train(_ROWS, _LABELS, strength=100.0)

    chances = [model.probabilities(row) for row in _ROWS]
    assert [model.classes[int(np.argmax(one))] for one in chances] == _LABELS
    assert all(one.max() > 0.9 for one in chances)


def test_examples_of_weight_zero_teach_nothing() -> None:
    model = train(_ROWS, _LABELS, strength=100.0, counts_for=[0.0, 1.0, 1.0])

    assert model.classes[int(np.argmax(model.probabilities(_ROWS[0])))] == "cold"


def test_training_twice_gives_the_same_stored_bytes() -> None:
    first, second = (
        json.dumps(to_stored(train(_ROWS, _LABELS, strength=2.0))) for _time in range(2)
    )

    assert first == second


def test_stored_weights_give_nearly_the_same_probabilities() -> None:
    model = train(_ROWS, _LABELS, strength=10.0)
    again = from_stored(json.loads(json.dumps(to_stored(model))))

    for row in _ROWS:
        assert again.probabilities(row) == pytest.approx(model.probabilities(row), abs=0.02)


def test_the_reasons_are_the_features_that_spoke_most() -> None:
    model = train(_ROWS, _LABELS, strength=10.0)

    (reason,) = model.reasons(_ROWS[0], model.classes.index("warm"), 1)
    assert reason.startswith("red (+")


def test_weights_that_do_not_fit_together_are_refused() -> None:
    stored = to_stored(train(_ROWS, _LABELS, strength=1.0))

    with pytest.raises(SpecError, match="do not fit"):
        from_stored({**stored, "classes": ["one"]})


def test_the_examples_show_every_operation_many_times() -> None:
    examples = written_examples()

    for operation in Operation:
        assert sum(one.label["operation"] == operation for one in examples) >= 20
    assert all(one.group < 0 for one in examples)


def test_a_line_of_another_form_names_itself() -> None:
    with pytest.raises(SpecError, match="fetchish get_it"):
        read_line("fetchish get_it | Get it | id!")


def _files(folder: Path) -> tuple[Path, Path]:
    servers = [
        {"server": "One", "tools": [tool("list_cups", "List all the cups of the house")]},
        {"server": "Two", "tools": [tool("list_cups", "List all the cups of the house")]},
        {"server": "Three", "tools": [tool("get_cup", "Get a cup", "cup_id")]},
    ]
    label = {"operation": "list", "functional": "read", "identifier": [], "deterministic": True}
    lines = [
        {"server": server["server"], **server["tools"][0], "label": label}  # type: ignore[dict-item]
        for server in servers
    ]
    specs, labels = folder / "specs.jsonl", folder / "labels.jsonl"
    specs.write_text("\n".join(map(json.dumps, servers)), encoding="utf-8")
    labels.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return labels, specs


def test_servers_with_the_same_tool_are_never_split(tmp_path: Path) -> None:
    tools = labelled_tools(*_files(tmp_path))

    folds = folds_of(tools, 2)
    assert folds[0] == folds[1] != folds[2]


def test_labels_of_unknown_tools_are_an_error(tmp_path: Path) -> None:
    labels, specs = _files(tmp_path)
    labels.write_text('{"server": "Four", "name": "x", "label": {}}\n', encoding="utf-8")

    with pytest.raises(SpecError, match="no label names a tool"):
        labelled_tools(labels, specs)


def test_a_line_that_is_no_object_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"a": 1}\n[]\n', encoding="utf-8")

    with pytest.raises(SpecError, match=r"bad\.jsonl:2"):
        read_lines(path)


def test_a_missing_file_ends_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([str(tmp_path / "none.jsonl"), str(tmp_path / "none.gz")])

    assert status != 0
    assert "none.jsonl: cannot be read" in capsys.readouterr().err
