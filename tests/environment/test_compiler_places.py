"""Places, filters that no write sets, and parts of texts: compiled tools on invented servers."""

from __future__ import annotations

import json
from typing import Any

from components.environment.compiler.compile import compile_spec
from components.environment.state import rows_of
from tests.environment.test_compiler import TEXT, spec_of, tool
from tests.environment.test_compiler_upserts import empty_world, play

CRATE = tool("create_crate", "crate", description="Create a crate.", crate=TEXT)
BREAK = tool("delete_crate", "crate", description="Delete a crate.", crate=TEXT)
LABEL = tool("create_label", "crate", "title", description="Create a label on a crate.",
             crate=TEXT, title=TEXT)  # fmt: skip
LABELS = tool("list_labels", "crate", description="List the labels of a crate.", crate=TEXT)


def test_a_row_needs_the_place_that_it_is_made_in() -> None:
    state, said = play(
        empty_world(CRATE, BREAK, LABEL, LABELS),
        ("create_label", {"crate": "oak", "title": "fragile"}),
        ("create_crate", {"crate": "oak"}),
        ("create_label", {"crate": "oak", "title": "fragile"}),
    )

    assert said[0] == "not_found"
    assert [row["title"] for row in rows_of(state, "things", "label").values()] == ["fragile"]


def test_of_a_place_that_is_not_there_nothing_is_listed() -> None:
    _, said = play(
        empty_world(CRATE, BREAK, LABEL, LABELS),
        ("create_crate", {"crate": "oak"}),
        ("list_labels", {"crate": "oak"}),
        ("list_labels", {"crate": "elm"}),
    )

    assert said[1]["labels"] == ()
    assert said[2] == "not_found"


def test_a_place_that_no_tool_can_make_is_not_asked_for() -> None:
    _, said = play(
        empty_world(LABEL, LABELS), ("create_label", {"crate": "oak", "title": "fragile"})
    )

    assert said[0]["label"]["title"] == "fragile"


def test_a_new_row_is_listed_under_a_filter_that_no_write_sets() -> None:
    create = tool("create_ticket", "title", description="Create a ticket.", title=TEXT)
    listing = tool("list_tickets", "lane", description="List the tickets of a lane.", lane=TEXT)

    _, said = play(
        empty_world(create, listing),
        ("create_ticket", {"title": "paint"}),
        ("list_tickets", {"lane": "left"}),
    )
    _, seed, _ = compile_spec(spec_of(create, listing))

    assert [row["title"] for row in said[1]["tickets"]] == ["paint"]
    assert all(row["lane"] is not None for row in seed.tables["ticket"].values())


def scrolls(reader: str, output: dict[str, Any] | None = None, **more: Any) -> list[dict[str, Any]]:
    save = tool("create_scroll", "path", "content", description="Create a scroll.", path=TEXT,
                content=TEXT)  # fmt: skip
    read = tool(reader, "path", description="Get a scroll.", path=TEXT, **more)
    return [save, read if output is None else {**read, "outputSchema": output}]


POEM = ("create_scroll", {"path": "/poem", "content": "one\ntwo\nthree"})


def test_head_and_tail_show_the_first_and_the_last_lines_of_a_text() -> None:
    number = {"type": "integer"}
    world = empty_world(*scrolls("get_scroll", head=number, tail=number))

    _, said = play(
        world,
        POEM,
        ("get_scroll", {"path": "/poem"}),
        ("get_scroll", {"path": "/poem", "head": 2}),
        ("get_scroll", {"path": "/poem", "tail": 1}),
        ("get_scroll", {"path": "/poem", "head": 0}),
    )

    shown = [answer["scroll"]["content"] for answer in said[1:]]
    assert shown == ["one\ntwo\nthree", "one\ntwo", "three", ""]


def test_what_tells_about_a_row_in_one_text_does_not_show_its_content() -> None:
    output = {"type": "object", "properties": {"content": TEXT}, "required": ["content"]}

    _, about = play(empty_world(*scrolls("get_scroll_info", output)), POEM,
                    ("get_scroll_info", {"path": "/poem"}))  # fmt: skip
    _, whole = play(empty_world(*scrolls("get_scroll", output)), POEM,
                    ("get_scroll", {"path": "/poem"}))  # fmt: skip

    assert whole[1]["content"] == "one\ntwo\nthree"
    assert json.loads(about[1]["content"])["scroll"]["path"] == "/poem"
    assert "two" not in about[1]["content"]


def test_an_export_that_may_overwrite_makes_what_it_exports() -> None:
    export = tool("export_report", "report_path", description="Export a report.", report_path=TEXT,
                  style=TEXT, overwrite={"type": "boolean"})  # fmt: skip
    read = tool("get_report", "report_path", description="Get a report.", report_path=TEXT)
    again = {"report_path": "/r", "style": "long"}

    _, said = play(
        empty_world(export, read),
        ("export_report", {"report_path": "/r", "style": "short"}),
        ("export_report", again),
        ("export_report", {**again, "overwrite": True}),
    )

    assert said[0]["report"]["style"] == "short"
    assert said[1] == "conflict"
    assert said[2]["report"]["style"] == "long"


def test_a_value_of_a_tables_own_noun_beside_its_name_is_no_row_of_it() -> None:
    number = {"type": "integer"}
    read = tool("get_span", "page_id", description="Get a span.", page_id=TEXT)
    widen = tool("update_span", "page_id", "span", description="Update a span.", page_id=TEXT,
                 span=TEXT, width=number)  # fmt: skip
    mark = tool("create_mark", "span", "text", description="Create a mark.", span=TEXT, text=TEXT)
    blueprint, _, _ = compile_spec(spec_of(read, widen, mark))
    fields = blueprint.entities["mark"].fields

    _, said = play(
        empty_world(read, widen, mark), ("create_mark", {"span": "A1:B2", "text": "see"})
    )

    assert "span" in blueprint.entities["span"].fields
    assert fields["span"].link is None
    assert said[0]["mark"]["span"] == "A1:B2"
