"""Values come from the instruction and from observations, and from nowhere else."""

from __future__ import annotations

import pytest

from components.records.frozen import FrozenDict
from components.records.task import (
    FromDefault,
    FromExpression,
    FromInstruction,
    FromObservation,
    GoldStep,
    Provenance,
)
from components.task.provenance import (
    ProvenanceError,
    assemble,
    derive_arguments,
    derive_value,
    mask_path,
    shows,
)

TEXT = "Log 25 minutes on ticket HD-7, rate 1.5, urgent: yes."
SEEN = {"s01": {"rows": [{"id": "tkt_1", "left": 3}]}}


def step(**arguments: Provenance) -> GoldStep:
    pointers = {f"/{name.replace('__', '/')}": source for name, source in arguments.items()}
    return GoldStep(service="desk", tool="log", arguments=FrozenDict(pointers))


def span(words: str, cast: str = "string") -> FromInstruction:
    start = TEXT.index(words)
    return FromInstruction.model_validate({"start": start, "end": start + len(words), "cast": cast})


def test_arguments_are_assembled_from_every_kind_of_source() -> None:
    gold = step(
        ticket__id=FromObservation(step="s01", path=("rows", 0, "id")),
        minutes=span("25", "integer"),
        rate=span("1.5", "number"),
        urgent=span("yes", "boolean"),
        tags__0=FromDefault(value="a"),
        tags__1=span("HD-7"),
        note=FromExpression(
            operation="format",
            template="{left} left of {number}",
            inputs=FrozenDict(
                left=FromObservation(step="s01", path=("rows", 0, "left")), number=span("HD-7")
            ),
        ),
    )

    assert derive_arguments(gold, TEXT, SEEN) == {
        "ticket": {"id": "tkt_1"},
        "minutes": 25,
        "rate": 1.5,
        "urgent": True,
        "tags": ("a", "HD-7"),
        "note": "3 left of HD-7",
    }


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (FromObservation(step="s09", path=("id",)), "s09 has not answered"),
        (FromObservation(step="s01", path=("rows", 1, "id")), "shows nothing at rows/1/id"),
        (FromInstruction(start=2, end=900), "not inside the instruction"),
        (span("HD-7", "integer"), "'HD-7' is no integer"),
    ],
)
def test_a_value_that_cannot_be_derived_names_its_pointer(source: Provenance, problem: str) -> None:
    with pytest.raises(ProvenanceError, match=problem) as caught:
        derive_arguments(step(place=source), TEXT, SEEN)

    assert caught.value.pointer == "/place"


def test_concat_joins_in_the_order_of_names() -> None:
    source = FromExpression(
        operation="concat", inputs=FrozenDict(b=FromDefault(value="-2"), a=FromDefault(value="x"))
    )

    assert derive_value(source, "", {}) == "x-2"


def test_pointers_inside_one_another_are_refused() -> None:
    with pytest.raises(ProvenanceError, match="another pointer"):
        assemble({"/a": 1, "/a/b": 2})


def test_masking_leaves_everything_else_as_it_was() -> None:
    assert mask_path(SEEN["s01"], ("rows", 0, "id")) == {"rows": ({"id": None, "left": 3},)}
    assert mask_path(SEEN["s01"], ("rows", 4, "id")) == SEEN["s01"]


def test_a_value_is_shown_as_a_whole_word_only() -> None:
    assert shows("Ticket hd-7 is open", "HD-7")
    assert not shows("Ticket HD-71 is open", "HD-7")
    assert shows([{"note": "see tkt_1 please"}], "tkt_1")
    assert not shows("3 of 3", 3)
