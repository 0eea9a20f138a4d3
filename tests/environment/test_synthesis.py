"""From a spec to an admitted service: wrapped records, batches, shared names, second readings."""

from __future__ import annotations

import json
from typing import Any

from components.environment.reading.read import read_spec
from components.environment.sources.listing import spec_from_listing
from components.environment.synthesis import MadeService, make_service
from components.records.base import to_json
from components.records.blueprint import Operation
from components.records.frozen import JsonObject, canonical_json
from components.records.spec import ServiceSpec

TEXT = {"type": "string"}


def tool(name: str, description: str, /, **properties: Any) -> dict[str, Any]:
    """Return a tool whose parameters are all required but those that end in `_`."""
    schema = {
        "type": "object",
        "properties": {key.rstrip("_"): part for key, part in properties.items()},
        "required": [key for key in properties if not key.endswith("_")],
    }
    return {"name": name, "description": description, "inputSchema": schema}


def spec_of(*tools: dict[str, Any]) -> ServiceSpec:
    return spec_from_listing("things", list(tools)).spec


def rows(made: MadeService, table: str) -> list[JsonObject]:
    return list(made.seed.tables[table].values())


def test_an_object_called_by_its_noun_is_looked_into() -> None:
    note = {
        "type": "object",
        "properties": {"title": TEXT, "content": TEXT},
        "required": ["title", "content"],
    }
    made = make_service(
        spec_of(
            tool("create_note", "Create a new note", note=note),
            tool("search_notes", "Search for notes containing the given text", query=TEXT),
            tool("get_note", "Get a note by its id", note_id=TEXT),
        )
    )

    assert set(made.admission.blueprint.tools["create_note"].effects["make"].fields) >= {
        "title",
        "content",
    }
    assert made.admission.marks.unobservable == ()


def test_a_row_that_is_named_by_another_table_holds_one_of_its_names() -> None:
    made = make_service(
        spec_of(
            tool("search_crates", "Search for crates", query=TEXT),
            tool("get_license", "Get the license of a crate", crateName=TEXT),
            tool("get_readme", "Get the readme of a crate", crateName=TEXT),
        )
    )
    names = {row["name"] for row in rows(made, "crate")}

    assert made.admission.marks.ids
    assert made.admission.marks.undiscoverable == ()
    for table in made.seed.tables.values():
        for row in table.values():
            assert row.get("crateName", next(iter(names))) in names


def test_links_within_a_table_make_a_tree_and_rings_are_tied() -> None:
    made = make_service(
        spec_of(
            tool("create_team", "Create a team", name=TEXT, lead_id=TEXT, parent_team_id_=TEXT),
            tool("get_team", "Get a team", team_id=TEXT),
            tool("list_teams", "List all teams"),
            tool("create_lead", "Create a lead", name=TEXT, team_id=TEXT),
            tool("get_lead", "Get a lead", lead_id=TEXT),
            tool("list_leads", "List all leads"),
        )
    )
    teams = {row["id"] for row in rows(made, "team")}
    leads = {row["id"] for row in rows(made, "lead")}

    assert made.admission.admitted, made.admission.reason
    assert {row["lead_id"] for row in rows(made, "team")} <= leads
    assert {row["team_id"] for row in rows(made, "lead")} <= teams
    above = [row["parent_team_id"] for row in rows(made, "team")]
    assert above[0] is None
    assert set(above[1:]) <= teams


def test_what_is_called_alike_has_the_same_values_in_all_tables() -> None:
    made = make_service(
        spec_of(
            tool("get_quote", "Get the quote of a stock", ticker=TEXT),
            tool("list_trades", "List all trades", ticker_=TEXT),
            tool("get_dividend", "Get the dividend record of a stock", ticker=TEXT),
        )
    )
    known = [
        {row["ticker"] for row in table.values()} - {None}
        for table in made.seed.tables.values()
        if "ticker" in next(iter(table.values()))
    ]

    assert len(known) >= 2
    assert all(values <= known[0] or known[0] <= values for values in known)


def test_a_batch_of_changes_is_tried_on_rows_that_there_are() -> None:
    change = {
        "type": "object",
        "properties": {"id": TEXT, "properties": {"type": "object", "properties": {"body": TEXT}}},
        "required": ["id", "properties"],
    }
    made = make_service(
        spec_of(
            tool("list_calls", "List all calls"),
            tool("get_call", "Get a call by its id", callId=TEXT),
            tool(
                "calls_batch_update",
                "Update multiple calls in a single request",
                inputs={"type": "array", "items": change},
            ),
            tool(
                "notes_batch_update",
                "Update multiple notes in a single request",
                inputs={"type": "array", "items": change},
            ),
            tool("list_notes", "List all notes"),
        )
    )

    assert {"calls_batch_update", "notes_batch_update"} <= made.offered


def test_what_fails_is_read_as_the_next_likeliest_operation() -> None:
    spec = spec_of(
        tool("list_comments", "List the comments of a file", fileKey=TEXT),
        tool("add_comment", "Add a comment to a file", fileKey=TEXT, message=TEXT),
        tool("delete_comment", "Delete a comment from a file", fileKey=TEXT, comment_id=TEXT),
    )
    first = read_spec(spec)
    name = "delete_comment"
    ruled_out = {name: frozenset({first[name].operation})}
    again = read_spec(spec, ruled_out)

    assert again[name].operation is not first[name].operation
    assert {first[name].operation, again[name].operation} == {Operation.DETACH, Operation.DELETE}
    assert {k: v for k, v in again.items() if k != name} == {
        k: v for k, v in first.items() if k != name
    }


def test_a_second_reading_loses_nothing_that_worked() -> None:
    spec = spec_of(
        tool("get_file", "Get a file", file_key=TEXT),
        tool("list_files", "List all files"),
        tool("get_comments", "Get comments from a file", fileKey=TEXT),
        tool("post_comment", "Post a comment on a file", fileKey=TEXT, message=TEXT),
        tool("delete_comment", "Delete a comment from a Figma file", fileKey=TEXT, comment_id=TEXT),
    )

    made = make_service(spec)

    assert set(spec.tools) == made.offered | set(made.admission.blueprint.quarantined)
    assert made.tests_run >= made.admission.tests_run


def test_the_order_of_properties_changes_nothing() -> None:
    spec = spec_of(
        tool("move_card", "Move a card to a list", card_id=TEXT, list_id=TEXT, note_=TEXT),
        tool("get_card", "Get a card of a board", board_id=TEXT, card_id=TEXT),
        tool("create_card", "Create a card", title=TEXT, board_id=TEXT, due_=TEXT, colour_=TEXT),
        tool("list_cards", "List the cards of a board", board_id=TEXT, limit_={"type": "integer"}),
    )
    kept = ServiceSpec.model_validate(json.loads(canonical_json(to_json(spec))))
    one, other = make_service(spec), make_service(kept)

    assert list(kept.tools["create_card"].input_schema["properties"]) != list(
        spec.tools["create_card"].input_schema["properties"]
    )
    assert canonical_json(to_json(one.admission.blueprint)) == canonical_json(
        to_json(other.admission.blueprint)
    )
    assert canonical_json(to_json(one.seed)) == canonical_json(to_json(other.seed))


def test_a_search_without_a_noun_is_about_what_the_others_are_about() -> None:
    spec = spec_of(
        tool("search", "Search by free text", query=TEXT),
        tool("get_package", "Get a package by its name", package_name=TEXT),
        tool("list_packages", "List all packages"),
        tool("delete_package", "Delete a package", package_name=TEXT),
    )

    readings = read_spec(spec)

    assert readings["search"].entity == "package"


def test_what_a_get_asks_for_is_in_its_answer() -> None:
    made = make_service(
        spec_of(
            tool("get_package", "Get a package by its name", package_name=TEXT),
            tool("get_package_readme", "Get the readme of a package", package_name=TEXT),
            tool("list_packages", "List all packages"),
        )
    )

    assert "readme" in made.admission.blueprint.entities["package"].fields
    assert any(row["readme"] for row in rows(made, "package"))


def test_texts_that_nothing_is_known_of_are_plain() -> None:
    made = make_service(
        spec_of(
            tool("list_widgets", "List all widgets", frobnication_=TEXT),
            tool("get_widget", "Get a widget", widget_id=TEXT),
        )
    )

    assert {row["frobnication"] for row in rows(made, "widget")} <= {
        None,
        *(f"frobnication-{number}" for number in range(1, 9)),
    }


def test_answers_fill_the_wrapper_that_sdks_make_of_a_return_type() -> None:
    def wrapped(body: dict[str, Any], kind: dict[str, Any]) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"result": kind}, "required": ["result"]}
        return {**body, "outputSchema": schema}

    rows_of = {"type": "array", "items": {"type": "object", "additionalProperties": True}}
    made = make_service(
        spec_of(
            wrapped(tool("list_books", "List all books"), rows_of),
            tool("get_book", "Get a book by its id", book_id=TEXT),
            tool("create_book", "Create a new book", title=TEXT, author=TEXT),
            wrapped(tool("delete_book", "Delete a book", book_id=TEXT), TEXT),
            wrapped(tool("get_weather", "Get the current weather of a city", city=TEXT), TEXT),
        )
    )
    tools = made.admission.blueprint.tools

    assert made.offered == {*made.readings}
    assert tools["list_books"].result["result"] == {"@each": ["$rows", "$element"]}
    assert tools["delete_book"].result == {"result": "book deleted"}
    assert tools["get_weather"].simulated
    assert set(tools["get_weather"].result) == {"simulated", "result"}


def test_an_answer_that_is_one_text_holds_what_is_there() -> None:
    schema = {"type": "object", "properties": {"content": TEXT}, "required": ["content"]}
    made = make_service(
        spec_of(
            {**tool("list_folders", "List all folders"), "outputSchema": schema},
            tool("create_folder", "Create a folder", name=TEXT),
            tool("delete_folder", "Delete a folder", folder_id=TEXT),
        )
    )

    result = made.admission.blueprint.tools["list_folders"].result

    assert result == {"content": {"@json": {"folders": "$rows", "total": "$total"}}}
    assert "create_folder" not in made.admission.marks.unobservable
