"""Marks: writes that nobody sees, ids that nobody tells, reads that say little."""

from __future__ import annotations

from components.environment.gates.marks import Marks
from components.environment.gates.run import admit_service
from components.records.base import to_json
from components.records.blueprint import Blueprint
from components.records.frozen import thaw
from tests.environment.gates.handmade import compiled


def marks_without(*tools: str) -> Marks:
    """Return the marks of the notes server without some of its tools."""
    spec, blueprint, seed = compiled("notes")
    body = thaw(to_json(blueprint))
    for name in tools:
        del body["tools"][name]
    return admit_service(spec, Blueprint.model_validate(body), seed).marks


def test_a_whole_service_has_no_marks() -> None:
    marks = marks_without()

    assert marks.unobservable == ()
    assert marks.undiscoverable == ()
    assert marks.hollow == ()
    assert len(marks.writes) == 5
    assert len(marks.ids) == 5


def test_a_write_that_no_read_shows_is_marked() -> None:
    marks = marks_without("get_note", "list_notes", "search_notes", "list_comments")

    assert set(marks.unobservable) == set(marks.writes)


def test_an_id_that_no_tool_tells_is_marked() -> None:
    marks = marks_without("list_notes", "search_notes", "create_note", "list_comments")

    assert "get_note.note_id" in marks.undiscoverable


def test_a_read_that_only_echoes_is_marked() -> None:
    spec, blueprint, seed = compiled("notes")
    body = thaw(to_json(blueprint))
    body["tools"]["get_note"]["result"] = {"note": {"id": "$found.id", "title": "$found.title"}}

    admission = admit_service(spec, Blueprint.model_validate(body), seed)

    assert admission.marks.hollow == ("get_note",)


def test_a_value_that_stands_alone_is_no_echo() -> None:
    spec, blueprint, seed = compiled("notes")
    body = thaw(to_json(blueprint))
    body["tools"]["get_note"]["result"] = {"note": {"body": "$found.body"}}

    admission = admit_service(spec, Blueprint.model_validate(body), seed)

    assert "get_note" not in admission.marks.hollow
