"""What a call did to the world, as people read it."""

from __future__ import annotations

from typing import Any

from components.records.calls import CallRecord, RowChange
from components.records.frozen import freeze
from components.records.trajectory import Observation, ParsedCall, Turn
from loop.report.changes import call_changes, change_line, turn_changes


def change(before: Any, after: Any, cause: str) -> RowChange:
    return RowChange(
        service="helpdesk",
        table="ticket",
        row_id="tkt_1",
        before=freeze(before),
        after=freeze(after),
        cause=cause,
    )


def call(*changes: RowChange) -> CallRecord:
    return CallRecord(
        service="helpdesk", tool="t", arguments=freeze({}), envelope=freeze({}), changes=changes
    )


def test_an_update_names_only_the_fields_that_differ() -> None:
    row = change({"a": 1, "b": "x", "c": None}, {"a": 1, "b": "y", "c": 2}, "effect:closed")

    (found,) = call_changes(call(row))

    assert (found.kind, found.by, found.cause) == ("updated", "effect", "closed")
    assert [(item.name, item.before, item.after) for item in found.fields] == [
        ("b", "x", "y"),
        ("c", None, 2),
    ]
    assert change_line(found) == (
        'updated helpdesk.ticket tkt_1: b: "x" -> "y", c: null -> 2 (effect closed)'
    )


def test_a_created_and_a_deleted_row_are_told_whole() -> None:
    made, gone = call_changes(
        call(
            change(None, {"id": "tkt_1", "n": 1}, "effect:made"),
            change({"id": "tkt_1", "n": 1}, None, "reaction:cleared_up"),
        )
    )

    assert change_line(made) == 'created helpdesk.ticket tkt_1: id="tkt_1", n=1 (effect made)'
    assert change_line(gone) == (
        'deleted helpdesk.ticket tkt_1: id="tkt_1", n=1 (reaction cleared_up)'
    )


def test_changes_of_a_turn_are_by_call_and_a_refused_call_has_none() -> None:
    calls = tuple(
        ParsedCall(call_id=key, name="t", arguments=freeze({}), parser="p") for key in ("c1", "c2")
    )
    turn = Turn(
        index=0,
        raw_text="",
        policy_version="v",
        calls=calls,
        observations=(
            Observation(call_id="c1", call=None, shown="no such tool"),
            Observation(
                call_id="c2", call=call(change({"a": 1}, {"a": 2}, "effect:e")), shown="ok"
            ),
        ),
    )

    found = turn_changes(turn)

    assert found["c1"] == ()
    assert [item.place for item in found["c2"]] == ["helpdesk.ticket tkt_1"]
