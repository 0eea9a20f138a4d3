"""`bench attribution`: labels come from the clean twin, and every count adds up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from attribution.change import Change, changed
from attribution.interventions.runs import arm_of
from attribution.records import Party
from components.records.frozen import thaw
from components.records.rubric import RowFields
from components.records.system import System
from loop.__main__ import main
from loop.bench_attribution.labels import Label, label_of
from loop.bench_attribution.playing import Played, play_group
from tests.attribution.composed import composed_system

SEED = 0
FAULTS = (
    {
        "kind": "few_turns",
        "component": "harness",
        "artifact": "harness",
        "operations": [{"op": "replace", "path": "/limits/max_turns", "value": 3}],
        "statement": "an episode ends after three turns",
    },
    {
        "kind": "text_of_help",
        "component": "harness",
        "artifact": "harness",
        "operations": [{"op": "replace", "path": "/invalid_call_feedback", "value": "Go on."}],
    },
)


def labels(clean: System, faulty: System, party: Party | None) -> list[tuple[Played, Label]]:
    found = []
    for name in sorted(clean.tasks):
        for trajectory, scored in play_group(faulty, name, range(6), SEED):
            arms = arm_of(clean, name), arm_of(faulty, name)
            label = label_of(*arms, party, trajectory, scored, SEED)
            assert label is not None
            found.append(((trajectory, scored), label))
    return found


def test_on_a_clean_system_failures_are_the_policys_and_successes_nobodys() -> None:
    system = composed_system(4)

    found = labels(system, system, None)

    failed = [scored.passed is False for (_, scored), _ in found]
    assert 0 < sum(failed) < len(failed)
    for is_failed, (_, label) in zip(failed, found, strict=True):
        assert label.parties == ({Party.POLICY} if is_failed else frozenset())
        assert not label.is_false_pass


def test_a_failure_that_the_clean_twin_passes_is_the_components() -> None:
    system = composed_system(4)
    change = Change(
        artifact="harness",
        operations=(("replace", "/limits/max_turns", 3),),
        reason="few turns",
        place="harness#/limits/max_turns",
    )

    found = labels(system, changed(system, change), Party.HARNESS)

    assert all(scored.passed is False for (_, scored), _ in found)
    passed_in_clean = [
        scored.passed
        for name in sorted(system.tasks)
        for _, scored in play_group(system, name, range(6), SEED)
    ]
    for passed, (_, label) in zip(passed_in_clean, found, strict=True):
        if passed:
            assert label.parties == {Party.HARNESS}
    assert any(Party.POLICY in label.parties for _, label in found)


def test_a_pass_that_only_a_lax_rubric_gives_is_false() -> None:
    system = composed_system(4)
    found = []
    for name, rubric in sorted(system.evaluator.rubrics.items()):
        rows = [key for key, item in rubric.criteria.items() if isinstance(item, RowFields)]
        gone = [key for key in (*rows, "untouched") if key in rubric.criteria]
        if not rows or len(gone) == len(rubric.criteria):
            continue
        lax = Change(
            artifact=f"rubric/{name}",
            operations=tuple(("remove", f"/criteria/{key}", None) for key in gone),
            reason="rows are not looked at",
            place=f"rubric/{name}#/criteria",
        )
        faulty = changed(system, lax)
        arms = arm_of(system, name), arm_of(faulty, name)
        for trajectory, scored in play_group(faulty, name, range(40), SEED):
            label = label_of(*arms, Party.EVALUATOR, trajectory, scored, SEED)
            assert label is not None
            found.append((scored, label))

    false = [label for scored, label in found if scored.passed and label.is_false_pass]
    assert false
    assert all(label.parties == {Party.EVALUATOR} for label in false)
    assert any(scored.passed and not label.parties for scored, label in found)


def run(tmp_path: Path, faults: Sequence[Any], capsys: pytest.CaptureFixture[str]) -> Any:
    path, out = tmp_path / "faults.jsonl", tmp_path / "out.json"
    path.write_text("".join(json.dumps(thaw(fault)) + "\n" for fault in faults))
    words = [f"faults={path}", f"out={out}", "scale=smoke", "compute=local"]
    assert main(["bench", "attribution", *words]) == 0
    assert "at fault" in capsys.readouterr().out
    return json.loads(out.read_text())


def test_faults_of_a_file_are_judged_and_every_count_adds_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run(tmp_path, FAULTS, capsys)

    row = told["confusion"]["harness"]
    assert sum(row.values()) == told["rollouts"] == told["component_accuracy"]["total"] > 3
    assert row["harness"] == told["place_accuracy"]["total"]
    assert told["kinds"]["few_turns"] == {"live": 1, "inert": 0}
    assert told["kinds"]["text_of_help"]["live"] + told["kinds"]["text_of_help"]["inert"] == 1
    assert told["repair_rate"]["total"] == sum(one["live"] for one in told["kinds"].values())
    clean = told["false_blame"]
    assert clean["failures_blamed_on_a_component"]["total"] > 0
    assert clean["successes_called_false"]["total"] > 0
    assert told["patches"]["lower_gold"] == told["patches"]["raise_nothing"] == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "faults.jsonl:1 is no fault"),
        ('{"kind": "x"}', "faults.jsonl:1 is no fault: component"),
        (
            json.dumps({**FAULTS[0], "artifact": "specs/mail"}),
            "faults.jsonl:1 does not apply: 'specs/mail' is no artifact",
        ),
        (
            json.dumps({**FAULTS[0], "component": "task"}),
            "faults.jsonl:1 does not apply: harness belongs to another component",
        ),
    ],
)
def test_a_line_that_is_no_fault_is_named(
    line: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "faults.jsonl"
    path.write_text(line + "\n")

    status = main(["bench", "attribution", f"faults={path}", "scale=smoke", "compute=local"])

    assert status == 2
    shown = capsys.readouterr().err.splitlines()[-1]
    assert said in shown


def test_a_file_that_is_not_there_is_named_before_anything_is_composed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "attribution", f"faults={tmp_path}/none.jsonl", "compute=local"]) == 2

    assert "cannot be read" in capsys.readouterr().err
