"""The kinds of fault of the evaluator: each shows in an outcome, at a place that can be named."""

from __future__ import annotations

import re

import pytest

from attribution.faults.evaluator import KINDS
from attribution.faults.kinds import FaultKind
from components.records.patch import Component
from tests.attribution.faults.live_task_evaluator import (
    check_form,
    first_live_evaluator_fault,
    table_of,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_shows_at_one_of_its_first_places(kind: FaultKind) -> None:
    check_form(kind, Component.EVALUATOR)

    assert first_live_evaluator_fault(kind) is not None


def test_kinds_have_names_of_their_own_and_one_sentence_each() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 25
    for kind in KINDS:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.name)
        assert re.fullmatch(r"[A-Z][^.!?]*\.", kind.statement), kind.statement


def test_the_page_describes_exactly_these_kinds() -> None:
    assert table_of("faults_evaluator.md") == {kind.name: kind.statement for kind in KINDS}
