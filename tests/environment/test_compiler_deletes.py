"""What goes with deleted rows, and what form the keys of new rows have."""

from __future__ import annotations

import re
from typing import Any

import pytest

from components.environment.compiler.compile import compile_spec
from components.environment.compiler.key_forms import prefix_of
from components.environment.engine import execute
from components.environment.state import rows_of
from components.environment.world import build_service_world
from tests.environment.test_compiler import NOW, TEXT, spec_of, tool, world_of

SHELF = (
    tool("create_book", "title", description="Create a book.", title=TEXT),
    tool("get_book", "book_id", description="Get a book.", book_id=TEXT),
    tool("list_books", description="List books."),
    tool("add_comment", "book_id", "text", description="Add a comment to a book.", book_id=TEXT,
         text=TEXT),
    tool("list_comments", "book_id", description="List the comments of a book.", book_id=TEXT),
    tool("delete_books", "book_ids", description="Delete several books.",
         book_ids={"type": "array", "items": TEXT}),
)  # fmt: skip


def test_comments_go_with_every_book_of_a_list_and_no_others_do() -> None:
    world = world_of(spec_of(*SHELF))
    comments = rows_of(world.initial, "things", "comment")
    gone = sorted({str(row["book_id"]) for row in comments.values()})[:2]

    outcome = execute(world, world.initial, "things", "delete_books", {"book_ids": gone})

    left = rows_of(outcome.state, "things", "comment")
    assert outcome.envelope["data"]["deleted"] == len(gone) == 2
    assert left == {key: row for key, row in comments.items() if row["book_id"] not in gone}
    assert len(left) < len(comments)


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("^gls_[a-zA-Z0-9]+$", "gls"),
        (r"^\d+$", ""),
        ("^[a-z0-9_]+$", "book"),
        ("^[A-Z]{3}$", "book"),
        ("^(?<name>[", "book"),
    ],
)
def test_made_keys_fit_the_pattern_of_a_key_where_they_can(pattern: str, prefix: str) -> None:
    for schema in ({"pattern": pattern}, {"anyOf": [{"pattern": pattern}, {"type": "integer"}]}):
        assert prefix_of(schema, "book") == prefix


def test_a_new_row_can_be_got_by_the_key_that_it_was_given() -> None:
    numeric: dict[str, Any] = {"type": "string", "pattern": r"^\d+$"}
    spec = spec_of(
        tool("create_group", "title", description="Create a group.", title=TEXT),
        tool("get_group", "group_id", description="Get a group.", group_id=numeric),
        tool("list_groups", description="List groups."),
    )
    blueprint, seed, _ = compile_spec(spec)
    world = build_service_world(spec, blueprint, seed, NOW)
    made = execute(world, world.initial, "things", "create_group", {"title": "Owls"})
    (key,) = {change.row_id for change in made.changes}

    got = execute(world, made.state, "things", "get_group", {"group_id": key})

    assert all(re.fullmatch(r"\d+", one) for one in (key, *seed.tables["group"]))
    assert got.envelope["data"]["group"]["title"] == "Owls"
