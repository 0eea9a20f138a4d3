"""The kinds of fault of the harness: each has places, and shows in outcomes."""

from __future__ import annotations

import pytest

from attribution.faults.harness import KINDS
from attribution.faults.kinds import FaultKind, change_of
from components.records.patch import Component
from tests.attribution.faults.live_environment_harness import (
    assert_fits_its_component,
    assert_is_a_list_of_kinds,
    assert_is_live,
    documented,
    is_live,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_has_a_live_place_among_its_first(kind: FaultKind) -> None:
    assert_is_live(kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_changes_what_its_component_owns_where_it_says(kind: FaultKind) -> None:
    assert_fits_its_component(kind)


def test_the_kinds_are_many_and_each_is_said_in_one_sentence() -> None:
    assert_is_a_list_of_kinds(KINDS, Component.HARNESS)


def test_the_page_lists_exactly_the_kinds() -> None:
    assert documented(Component.HARNESS) == {kind.name: kind.statement for kind in KINDS}


def test_one_more_turn_is_not_live() -> None:
    more = change_of("harness", [("replace", "/limits/max_turns", 25)], ("limits",), "more turns")

    assert not is_live(KINDS[0], more)
