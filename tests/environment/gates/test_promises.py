"""What names and descriptions promise, and where they promise nothing."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.gates.promises import Family, read_promise
from components.records.spec import ToolSpec


def tool(name: str, description: str = "", **properties: Any) -> ToolSpec:
    """Return a tool all of whose parameters are required texts."""
    schema = {
        "type": "object",
        "properties": {part: {"type": "string"} for part in properties},
        "required": sorted(properties),
    }
    return ToolSpec.model_validate(
        {"name": name, "description": description, "input_schema": schema}
    )


@pytest.mark.parametrize(
    ("name", "description", "family"),
    [
        ("delete_note", "Delete a note", Family.DELETE),
        ("remove_tag", "Deletes a tag", Family.REMOVE),
        ("create_event", "Creates a new event", Family.MAKE),
        ("update_page", "", Family.CHANGE),
        ("tag_list", "List the tags", Family.LIST),
        ("get_notes", "Get notes of a book", Family.LIST),
        ("archive_note", "", Family.MOVE),
        ("set_title", "Set the title", Family.PUT),
        ("files", "Search for files", Family.SEARCH),
    ],
)
def test_a_plain_verb_is_read(name: str, description: str, family: Family) -> None:
    assert read_promise(tool(name, description)).family is family


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("get_note", "Create a note and return it"),
        ("add", "Add two numbers"),
        ("text_editor", "View, create and edit files"),
        ("whois", ""),
    ],
)
def test_ambiguous_words_promise_nothing(name: str, description: str) -> None:
    assert read_promise(tool(name, description)).family is Family.UNSAID


def test_the_key_of_a_record_is_its_own_id() -> None:
    promise = read_promise(tool("get_note", "Get a note", note_id=1, language=1))

    assert promise.keys == ("note_id",)
    assert promise.nouns == ("note",)


def test_a_list_has_no_key_of_its_own() -> None:
    promise = read_promise(tool("list_comments", "List the comments of a note", note_id=1))

    assert promise.keys == ()
    assert promise.dependent == ("note_id",)


def test_the_thing_is_read_behind_its_aspects() -> None:
    promise = read_promise(tool("fetch", "Get detailed information about a specific paper"))

    assert promise.object == ("paper",)


@pytest.mark.parametrize(
    ("description", "family"),
    [
        ("Archive (delete) a note", Family.WRITE),
        ("Archive (if you can) a note", Family.MOVE),
        ("Archive a note", Family.MOVE),
    ],
)
def test_two_verbs_side_by_side_promise_only_a_change(description: str, family: Family) -> None:
    assert read_promise(tool("archive_note", description)).family is family


def test_definitions_of_a_word_are_one_record() -> None:
    promise = read_promise(tool("get_definitions", "Get definitions for a word.", word=1))
    assert not promise.is_many
