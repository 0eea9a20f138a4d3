"""What interventions cost: counted where a meter is in force, and nowhere else."""

from __future__ import annotations

import time

import pytest

from attribution.meter import Cost, Intervention, added, measuring, metered
from components.records.frozen import FrozenDict


@metered(Intervention.REPLAY)
def _replay(seconds: float) -> None:
    time.sleep(seconds)


@metered(Intervention.CANDIDATE)
def _candidate(seconds: float) -> None:
    _replay(seconds)
    _replay(0.0)


@metered(Intervention.SCORING)
def _breaks() -> None:
    raise ValueError("no rubric")


def test_an_intervention_is_charged_without_those_that_it_makes() -> None:
    with measuring() as meter:
        _candidate(0.05)

    cost = meter.cost()
    assert {name: item.count for name, item in cost.items()} == {"candidate": 1, "replay": 2}
    assert cost["replay"].seconds >= 0.05 > cost["candidate"].seconds


def test_nothing_is_counted_outside_of_the_block() -> None:
    _replay(0.0)
    with measuring() as outer:
        with measuring() as inner:
            _replay(0.0)
        _candidate(0.0)
    _replay(0.0)

    assert inner.cost()["replay"].count == 1
    assert outer.cost()["replay"].count == 2


def test_an_intervention_that_breaks_is_closed() -> None:
    with measuring() as meter:
        with pytest.raises(ValueError, match="no rubric"):
            _breaks()
        time.sleep(0.05)
        _replay(0.0)

    assert meter.cost()["scoring"].seconds < 0.05


def test_costs_are_added_by_name() -> None:
    one = FrozenDict({"replay": Cost(count=1, seconds=0.5)})
    other = FrozenDict(
        {"replay": Cost(count=2, seconds=0.25), "oracle": Cost(count=1, seconds=1.0)}
    )

    assert added([one, other]) == FrozenDict(
        {"oracle": Cost(count=1, seconds=1.0), "replay": Cost(count=3, seconds=0.75)}
    )
