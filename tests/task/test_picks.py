"""A row that is the first or last of several by something: picked, described, and looked for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from components.environment.catalog_loader import builtin_services
from components.records.frozen import FrozenDict
from components.records.task import FromObservation, Pick, Referent
from components.task.compose import ComposedTask, compose_task
from components.task.gold import rows_named
from components.task.provenance import ProvenanceError, concrete, derive_value, observations_of
from tests.task.builders import Settings, system_of

ROWS = (
    {"id": "a", "amount": 30, "due": "2026-03-02"},
    {"id": "b", "amount": 10, "due": None},
    {"id": "c", "amount": 20, "due": "2026-01-05"},
)
DATA = FrozenDict({"rows": tuple(FrozenDict(row) for row in ROWS)})


def source(by: str, *, most: bool) -> FromObservation:
    return FromObservation(step="s1", path=("rows",), pick=Pick(by=by, most=most), field="id")


@pytest.mark.parametrize(
    ("by", "most", "wanted"),
    [("amount", True, "a"), ("amount", False, "b"), ("due", True, "a"), ("due", False, "c")],
)
def test_the_extreme_row_is_picked_and_rows_without_the_field_stand_aside(
    by: str, most: bool, wanted: str
) -> None:
    place = source(by, most=most)

    assert derive_value(place, "", {"s1": DATA}) == wanted
    assert concrete(place, DATA).path[-1] == "id"
    assert concrete(place, DATA).pick is None
    assert observations_of(place) == (place,)


@pytest.mark.parametrize(
    "rows",
    [
        (),
        (ROWS[0],),
        ({"id": "a", "amount": 1}, {"id": "b", "amount": 1}),
        ({"id": "a", "amount": 1}, {"id": "b", "amount": "2"}),
        ({"id": "a", "amount": True}, {"id": "b", "amount": 2}),
        "no list",
    ],
)
def test_where_no_single_row_is_the_extreme_nothing_can_be_derived(rows: Any) -> None:
    data = FrozenDict({"rows": rows})
    referent = Referent(
        start=0, end=1, step="s1", rows_path=("rows",), pick=Pick(by="amount", most=False)
    )

    assert rows_named(referent, data) == 0
    with pytest.raises(ProvenanceError):
        derive_value(source("amount", most=False), "", {"s1": data})


SEEDS = (105, 302, 411, 453)
"""Drafts whose request picks a row; few do."""


def test_composed_tasks_pick_rows_and_fail_whoever_picks_the_next_best() -> None:
    system = system_of(builtin_services())
    drawn = [
        compose_task(system, Settings(k=3, walk_length=6, distractors=1), seed) for seed in SEEDS
    ]
    tasks = [item for item in drawn if isinstance(item, ComposedTask)]
    picking = [
        item
        for item in tasks
        if any(referent.pick is not None for referent in item.task.referents.values())
    ]

    assert len(picking) >= 3
    wrong = 0
    for item in picking:
        assert re.search(" with the (latest|earliest|highest|lowest) ", item.task.instruction)
        for probe in item.certificate.probes.values():
            if probe.kind == "wrong_pick":
                wrong += 1
                assert not probe.did_pass
    assert wrong >= 1
