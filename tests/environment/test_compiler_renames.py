"""Old and new names of rows, and copies: compiled writes on invented tools."""

from __future__ import annotations

import pytest

from components.environment.state import rows_of
from tests.environment.test_compiler import TEXT, tool
from tests.environment.test_compiler_upserts import empty_world, play

SAVE = tool("create_scroll", "path", "text", description="Create a scroll.", path=TEXT, text=TEXT)
READ = tool("get_scroll", "path", description="Get a scroll by its path.", path=TEXT)
BURN = tool("delete_scroll", "path", description="Delete a scroll.", path=TEXT)
MADE = ("create_scroll", {"path": "/a", "text": "warp"})


def test_a_move_from_a_source_to_a_destination_changes_the_name_of_the_row() -> None:
    for old, new in (("source", "destination"), ("from_path", "to_path"), ("old", "new")):
        told = "Move a scroll."
        move = tool("move_scroll", old, new, description=told, **{old: TEXT, new: TEXT})

        state, said = play(
            empty_world(SAVE, READ, BURN, move),
            MADE,
            ("move_scroll", {old: "/a", new: "/b"}),
            ("get_scroll", {"path": "/b"}),
            ("get_scroll", {"path": "/a"}),
            ("move_scroll", {old: "/a", new: "/c"}),
        )

        assert said[2]["scroll"]["text"] == "warp"
        assert said[3:] == ["not_found", "not_found"]
        assert len(rows_of(state, "things", "scroll")) == 1


def test_a_row_does_not_move_to_where_another_one_is() -> None:
    told = "Move a scroll."
    move = tool("move_scroll", "source", "destination", description=told, source=TEXT,
                destination=TEXT)  # fmt: skip
    other = ("create_scroll", {"path": "/b", "text": "weft"})

    _, said = play(
        empty_world(SAVE, READ, BURN, move),
        MADE, other,
        ("move_scroll", {"source": "/a", "destination": "/b"}),
        ("get_scroll", {"path": "/b"}),
    )  # fmt: skip

    assert said[2] == "conflict"
    assert said[3]["scroll"]["text"] == "weft"


def test_a_new_name_is_the_name_that_other_tools_find_a_row_by() -> None:
    create = tool("create_drawer", "new_name", description="Create a drawer.", new_name=TEXT)
    rename = tool("rename_drawer", "drawer", "new_name", description="Rename a drawer.",
                  drawer=TEXT, new_name=TEXT)  # fmt: skip
    remove = tool("delete_drawer", "drawer", description="Delete a drawer.", drawer=TEXT)

    _, said = play(
        empty_world(create, rename, remove),
        ("create_drawer", {"new_name": "nails"}),
        ("create_drawer", {"new_name": "nails"}),
        ("rename_drawer", {"drawer": "nails", "new_name": "screws"}),
        ("delete_drawer", {"drawer": "nails"}),
        ("delete_drawer", {"drawer": "screws"}),
    )

    assert (said[1], said[3]) == ("conflict", "not_found")
    assert said[2]["drawer"]["drawer"] == "screws"
    assert said[4]["deleted"] is True


def test_a_flag_that_a_tool_is_called_to_set_is_what_it_sets() -> None:
    told = "Sets the draft status."
    flag = tool("set_draft_status", "scroll_path", "draft_status", description=told,
                scroll_path=TEXT, draft_status={"type": "boolean"})  # fmt: skip

    _, said = play(
        empty_world(SAVE, READ, flag),
        MADE,
        ("set_draft_status", {"scroll_path": "/a", "draft_status": True}),
        ("set_draft_status", {"scroll_path": "/a", "draft_status": False}),
        ("set_draft_status", {"scroll_path": "/a", "draft_status": False}),
        ("get_scroll", {"path": "/a"}),
    )

    assert said[3] != "precondition_failed"
    assert said[4]["scroll"]["draft_status"] is False
    assert "is_current" not in said[4]["scroll"]


@pytest.mark.parametrize(
    ("name", "status"),
    [("mark_scroll_done", "completed"), ("mark_scroll_undone", "pending")],
)
def test_what_is_marked_as_something_becomes_that(name: str, status: str) -> None:
    mark = tool(name, "scroll_path", description="Mark a scroll.", scroll_path=TEXT)

    _, said = play(
        empty_world(SAVE, READ, mark),
        MADE, (name, {"scroll_path": "/a"}), ("get_scroll", {"path": "/a"}),
    )  # fmt: skip

    assert said[2]["scroll"]["status"] == status


def test_a_copy_holds_what_its_source_holds_and_needs_one() -> None:
    copy = tool("copy_scroll", "source", "destination", description="Copy a scroll.", source=TEXT,
                destination=TEXT)  # fmt: skip

    state, said = play(
        empty_world(SAVE, READ, BURN, copy),
        MADE,
        ("copy_scroll", {"source": "/a", "destination": "/b"}),
        ("get_scroll", {"path": "/b"}),
        ("copy_scroll", {"source": "/x", "destination": "/c"}),
        ("copy_scroll", {"source": "/a", "destination": "/b"}),
    )

    assert said[2]["scroll"]["text"] == "warp"
    assert said[3:] == ["not_found", "conflict"]
    assert len(rows_of(state, "things", "scroll")) == 2


def test_a_clone_of_a_row_with_an_id_holds_what_the_row_holds() -> None:
    create = tool("create_shape", "colour", description="Create a shape.", colour=TEXT)
    clone = tool("clone_shape", "shape_id", description="Clone a shape.", shape_id=TEXT)
    look = tool("get_shape", "shape_id", description="Get a shape by its id.", shape_id=TEXT)
    world = empty_world(create, clone, look)

    _, made = play(world, ("create_shape", {"colour": "teal"}))
    first = made[0]["shape"]["id"]
    _, said = play(
        world, ("create_shape", {"colour": "teal"}), ("clone_shape", {"shape_id": first})
    )

    assert said[1]["shape"]["colour"] == "teal"
    assert said[1]["shape"]["id"] != first
