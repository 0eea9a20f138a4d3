"""What rows of compiled services hold: names that are names, defaults that are there."""

from __future__ import annotations

from typing import Any

from components.environment.compiler.compile import compile_spec
from tests.environment.test_compiler import TEXT, spec_of, tool, world_of
from tests.environment.test_compiler_upserts import play

NUMBER = {"type": "number"}
PLACE: dict[str, Any] = {"x": NUMBER, "y": NUMBER, "z": NUMBER}


def rows_of_seed(table: str, *tools: dict[str, Any]) -> list[Any]:
    _, seed, _ = compile_spec(spec_of(*tools))
    return list(seed.tables[table].values())


def test_a_coordinate_that_names_a_row_is_stored_as_given_and_not_counted() -> None:
    place = tool("create_block", "x", "y", "z", "kind", kind=TEXT, **PLACE)
    look = tool("get_block", "x", "y", "z", **PLACE)
    world = world_of(spec_of(place, look))

    _, answers = play(
        world,
        ("create_block", {"x": 3.5, "y": 64, "z": 7, "kind": "stone"}),
        ("get_block", {"x": 3.5, "y": 64, "z": 7}),
    )

    block = answers[1]["block"]
    assert [block[name] for name in ("x", "y", "z", "kind")] == [3.5, 64, 7, "stone"]


def test_a_default_that_names_a_row_names_one_that_is_there() -> None:
    calendar = {**TEXT, "default": "primary"}
    events = rows_of_seed(
        "event",
        tool("list_events", calendar_id=calendar),
        tool("create_event", "title", title=TEXT, calendar_id=calendar),
        tool("create_calendar", "name", name=TEXT),
        tool("get_calendar", "calendar_id", calendar_id=TEXT),
    )

    assert "primary" in [row["calendar_id"] for row in events]


def test_a_default_of_a_closed_list_is_held_by_some_rows() -> None:
    kinds = {**TEXT, "enum": [f"k{number}" for number in range(20)], "default": "k7"}
    notes = rows_of_seed("note", tool("list_notes", kind=kinds), tool("get_note", "id", id=TEXT))

    assert "k7" in [row["kind"] for row in notes]


def test_nothing_is_made_up_for_a_noun_that_nothing_is_known_of() -> None:
    (*_, row) = rows_of_seed(
        "blorpity",
        tool("list_blorpities", mime=TEXT, decimals=TEXT),
        tool("create_blorpity", "mime", "decimals", mime=TEXT, decimals=TEXT),
    )

    assert "description" not in row
    assert "name" not in row
    assert row["decimals"] in ("6", "8", "9", "18")


def test_the_words_of_a_service_say_what_an_address_is() -> None:
    said = "Get the balance of an Ethereum wallet"
    tools = [
        tool("get_balance", "address", description=said, address=TEXT),
        tool("list_balances", description="List the balances of all wallets"),
    ]

    assert all(row["address"].startswith("0x") for row in rows_of_seed("balance", *tools))
