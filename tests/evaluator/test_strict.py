"""Canonical comparison of two final states, without a rubric."""

from __future__ import annotations

from components.evaluator.strict import DifferenceKind, RowDifference, strict_difference
from tests.evaluator.builders import Call, call, play, world

CREATE = call("desk.create_ticket", subject="VPN down", priority="high", notes="one")
REWORDED = call("desk.create_ticket", subject="VPN down", priority="high", notes="two")
COMMENT = call("desk.add_comment", ticket_id="#0.id", body="x")
CLOSE = call("desk.update_ticket", ticket_id="tkt_1", status="closed")


def differences(expected: list[Call], actual: list[Call]) -> tuple[RowDifference, ...]:
    return strict_difference(world(), play(*expected).final, play(*actual).final)


def described(expected: list[Call], actual: list[Call]) -> list[tuple[str, ...]]:
    return [
        (item.kind, f"{item.service}.{item.table}", *item.fields, *item.free_text_fields)
        for item in differences(expected, actual)
    ]


def test_same_states_do_not_differ() -> None:
    state = play(CREATE, COMMENT).final

    assert strict_difference(world(), state, state) == ()
    assert differences([CREATE, COMMENT, CLOSE], [CREATE, CLOSE, COMMENT]) == ()


def test_generated_times_do_not_differ() -> None:
    touched = call("desk.update_ticket", ticket_id="tkt_1", priority="normal")

    assert differences([], [touched]) == ()


def test_created_rows_and_links_to_them_are_matched_by_content() -> None:
    [found] = differences([CREATE, COMMENT], [REWORDED, COMMENT])

    assert (found.kind, found.table, found.fields) == (DifferenceKind.CHANGED, "ticket", ())
    assert found.free_text_fields == ("notes",)
    assert found.is_free_text_only


def test_link_to_another_row_differs() -> None:
    elsewhere = call("desk.add_comment", ticket_id="tkt_2", body="x")

    assert described([CREATE, COMMENT], [CREATE, elsewhere]) == [
        ("changed", "desk.comment", "ticket_id")
    ]


def test_changed_seed_row_names_its_fields() -> None:
    low = call("desk.update_ticket", ticket_id="tkt_1", status="closed", priority="low")
    note = call("desk.append_notes", ticket_id="tkt_1", notes="x")

    assert described([CLOSE], [low, note]) == [("changed", "desk.ticket", "notes", "priority")]


def test_free_text_that_only_one_run_wrote_is_more_than_words() -> None:
    note = call("desk.append_notes", ticket_id="tkt_1", notes="x")
    other = call("desk.append_notes", ticket_id="tkt_1", notes="y")

    for expected, actual, is_only_words in (
        ([note], [], False),
        ([], [note], False),
        ([note], [other], True),
    ):
        [found] = differences(expected, actual)
        assert found.is_free_text_only is is_only_words


def test_missing_and_extra_rows_of_seed_and_run() -> None:
    delete = call("desk.delete_ticket", ticket_id="tkt_2")

    assert described([delete], []) == [("extra", "desk.ticket")]
    assert described([], [delete]) == [("missing", "desk.ticket")]
    assert described([CREATE], []) == [("missing", "desk.ticket")]
    assert described([], [CREATE]) == [("extra", "desk.ticket")]


def test_text_written_by_a_reaction_about_a_created_row_is_compared_by_content() -> None:
    close_new = call("desk.update_ticket", ticket_id="#0.id", status="closed")

    # The notice holds the new ticket's id, which differs between the two runs.
    assert described([CREATE, close_new], [REWORDED, close_new]) == [
        ("changed", "desk.ticket", "notes")
    ]


def test_rows_of_one_content_are_paired_with_equal_words_first() -> None:
    assert differences([CREATE, REWORDED], [REWORDED, CREATE]) == ()
    assert described([CREATE, CREATE], [REWORDED, CREATE]) == [("changed", "desk.ticket", "notes")]
