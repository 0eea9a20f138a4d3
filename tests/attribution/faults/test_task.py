"""The kinds of fault of the task: each shows in an outcome, at a place that can be named."""

from __future__ import annotations

import re

import pytest

from attribution.change import changed
from attribution.faults.kinds import FaultKind
from attribution.faults.task import KINDS
from components.records.patch import Component
from components.records.task import FromInstruction
from tests.attribution.faults.live_task_evaluator import (
    candidates,
    check_form,
    first_live_task_fault,
    system,
    table_of,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_shows_at_one_of_its_first_places(kind: FaultKind) -> None:
    check_form(kind, Component.TASK)

    assert first_live_task_fault(kind) is not None


@pytest.mark.parametrize(
    "name",
    [
        "wrong_row_named",
        "wrong_choice",
        "wrong_day",
        "wrong_unit",
        "contradicting_demand",
        "negated_demand",
        "wrong_end",
        "wrong_field_asked",
    ],
)
def test_reworded_instructions_keep_the_values_that_the_fault_does_not_speak_of(name: str) -> None:
    kind = next(kind for kind in KINDS if kind.name == name)

    for change in candidates(kind):
        task_id = change.artifact.partition("/")[2]
        before, after = system().tasks[task_id], changed(system(), change).tasks[task_id]

        assert before.instruction != after.instruction
        for step, body in after.gold.items():
            for pointer, source in body.arguments.items():
                if isinstance(source, FromInstruction):
                    old = before.gold[step].arguments[pointer]
                    assert isinstance(old, FromInstruction)
                    was = before.instruction[old.start : old.end]
                    told = after.instruction[source.start : source.end]
                    assert told == was or repr(told) in change.reason


def test_kinds_have_names_of_their_own_and_one_sentence_each() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 25
    for kind in KINDS:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.name)
        assert re.fullmatch(r"[A-Z][^.!?]*\.", kind.statement), kind.statement


def test_the_page_describes_exactly_these_kinds() -> None:
    assert table_of("faults_task.md") == {kind.name: kind.statement for kind in KINDS}
