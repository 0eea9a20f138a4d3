"""What a read's arguments and its name ask for, what is worked out, and moves that undo one."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.compiler.asks import bounds, says_how
from components.environment.compiler.compile import compile_spec
from components.environment.engine import execute
from components.environment.params import Param, read_params
from components.environment.world import build_service_world
from components.records.blueprint import Operation
from components.records.frozen import freeze
from components.records.spec import ToolSpec
from tests.environment.test_compiler import NOW, TEXT, spec_of, tool
from tests.environment.test_compiler_upserts import empty_world, play

NUMBER, FLAG = {"type": "number"}, {"type": "boolean"}
MAKE = tool("create_lamp", "name", "price", description="Create a lamp.", name=TEXT, price=NUMBER,
            status={"type": "string", "enum": ["open", "closed"]})  # fmt: skip
MADE = tuple(
    ("create_lamp", {"name": name, "price": price, "status": status})
    for name, price, status in (("tall", 30, "open"), ("low", 10, "closed"), ("old", 20, "open"))
)


def params_of(**properties: Any) -> dict[str, Param]:
    schema = {"type": "object", "properties": properties}
    return dict(read_params(ToolSpec(name="list_lamps", input_schema=freeze(schema))))


def names_in(answer: Any) -> list[str]:
    return [row["name"] for row in answer["lamps"]]


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("safesearch", TEXT), ("group_by", TEXT), ("timelimit", TEXT), ("verbose", FLAG),
        ("include_history", FLAG), ("filterGroups", {"type": "array", "items": {"type": "object"}}),
        ("details", TEXT), ("depth", NUMBER), ("max_chars", NUMBER),
        ("region", {"type": "string", "default": "us"}),
    ],
)  # fmt: skip
def test_what_a_read_is_told_about_its_answer_is_no_column(name: str, schema: Any) -> None:
    assert says_how(params_of(**{name: schema})[name])


@pytest.mark.parametrize("name", ["archived", "is_public", "owned", "available"])
def test_a_flag_that_a_row_can_have_is_a_column(name: str) -> None:
    assert not says_how(params_of(**{name: FLAG})[name])


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("min_price", "max_price"), ("price_min", "price_max"), ("minplays", "maxplays"),
        ("start_slot", "end_slot"), ("newerThan", "olderThan"),
    ],
)  # fmt: skip
def test_bounds_are_known_by_their_names(low: str, high: str) -> None:
    found = bounds(params_of(**{low: NUMBER, high: NUMBER}))

    assert (found[low].value, found[high].value) == ("from", "to")


def test_a_bound_bounds_and_what_tells_how_leaves_out_no_row() -> None:
    lists = tool("list_lamps", description="List lamps.", min_price=NUMBER, safesearch=TEXT,
                 verbose=FLAG)  # fmt: skip
    world = empty_world(MAKE, lists)

    _, said = play(
        world, *MADE,
        ("list_lamps", {"min_price": 20}),
        ("list_lamps", {"safesearch": "strict", "verbose": True}),
    )  # fmt: skip

    assert sorted(names_in(said[3])) == ["old", "tall"]
    assert len(names_in(said[4])) == 3
    assert set(said[4]["lamps"][0]).isdisjoint({"min_price", "safesearch", "verbose"})


def test_an_argument_that_is_not_heeded_is_not_echoed() -> None:
    get = tool("get_lamp", "lamp_id", description="Get a lamp.", lamp_id=TEXT, mood=TEXT)
    world = empty_world(MAKE, get)
    state, said = play(world, MADE[0])
    lamp = said[0]["lamp"]

    outcome = execute(world, state, "things", "get_lamp", {"lamp_id": lamp["id"], "mood": "blue"})

    assert "mood" not in outcome.envelope["data"]["lamp"]


def test_a_name_that_speaks_of_a_state_or_an_order_shows_those_rows() -> None:
    open_ones = tool("list_open_lamps", description="List the open lamps.")
    cheapest = tool("list_cheapest_price_lamps", description="List lamps, the cheapest first.")
    world = empty_world(MAKE, open_ones, cheapest)

    _, said = play(world, *MADE, ("list_open_lamps", {}), ("list_cheapest_price_lamps", {}))

    assert sorted(names_in(said[3])) == ["old", "tall"]
    assert names_in(said[4]) == ["low", "old", "tall"]


@pytest.mark.parametrize(
    "work",
    [
        tool("decompile_lamp", "name", description="Decompile a lamp.", name=TEXT),
        tool("render_lamp", "name", description="Render a lamp as a picture.", name=TEXT),
        tool("lab_estimate_lamp_cost", "name", description="Get the cost.", name=TEXT),
        tool("is_connected", description="Get whether the client is connected."),
        tool("analyze_pcap", "url", description="Get the analysis of a file.", url=TEXT),
        tool("get_determinants", "rows", description="Get the trace of numbers.",
             rows={"type": "array", "items": {"type": "array", "items": NUMBER}}),
        tool("manage_shades", "action", description="Manage shades.", shade_id=TEXT,
             action={"type": "string", "enum": ["create", "list", "delete"]}),
    ],
)  # fmt: skip
def test_what_is_worked_out_is_simulated_and_no_row_of_its_own(work: dict[str, Any]) -> None:
    blueprint, _, _ = compile_spec(spec_of(MAKE, tool("list_lamps"), work))

    assert blueprint.tools[work["name"]].simulated


def test_exports_and_lists_show_what_is_kept_whatever_their_verb() -> None:
    blueprint, _, _ = compile_spec(
        spec_of(
            MAKE,
            tool("export_lamp", "name", description="Export a lamp as JSON.", name=TEXT),
            tool(
                "scan_bulbs", "path", description="List the bulbs that are plugged in.", path=TEXT
            ),
        )
    )

    assert blueprint.tools["export_lamp"].operation is Operation.GET
    assert blueprint.tools["scan_bulbs"].operation is Operation.LIST
    assert not any(one.simulated for one in blueprint.tools.values())


def test_a_get_of_what_can_be_computed_is_computed() -> None:
    matrix = {"type": "array", "items": {"type": "array", "items": NUMBER}}
    get = tool("get_determinant", "matrix", description="Get the determinant.", matrix=matrix)

    _, said = play(empty_world(get), ("get_determinant", {"matrix": [[2, 1], [1, 3]]}))

    assert said == [{"result": 5}]


def test_who_is_unsubscribed_is_still_there() -> None:
    undo = tool("unsubscribe_reader", "reader_id", description="Unsubscribe a reader.",
                reader_id=TEXT)  # fmt: skip
    make = tool("create_reader", "name", description="Create a reader.", name=TEXT)
    get = tool("get_reader", "reader_id", description="Get a reader.", reader_id=TEXT)
    spec = spec_of(make, get, undo)
    blueprint, seed, _ = compile_spec(spec)
    world = build_service_world(spec, blueprint, seed, NOW)
    rows = dict(seed.tables["reader"])
    key = next(key for key, row in rows.items() if row["subscribed"] is True)

    _, said = play(
        world,
        ("unsubscribe_reader", {"reader_id": key}),
        ("get_reader", {"reader_id": key}),
    )

    assert said[1]["reader"]["subscribed"] is False


def test_a_clone_is_a_new_row_with_a_key_of_its_own() -> None:
    clone = tool("clone_lamp", "lamp_id", description="Clone a lamp.", lamp_id=TEXT, price=NUMBER)
    world = empty_world(MAKE, tool("list_lamps"), clone)
    state, said = play(world, MADE[0])

    outcome = execute(world, state, "things", "clone_lamp", {"lamp_id": said[0]["lamp"]["id"]})
    copy = outcome.envelope["data"]["lamp"]

    assert copy["id"] != said[0]["lamp"]["id"]
    assert (copy["name"], copy["price"]) == ("tall", 30)


def test_setters_that_take_the_same_words_set_different_things() -> None:
    fill = tool("set_fill_color", "lamp_id", "r", description="Set the fill color of a lamp.",
                lamp_id=TEXT, r=NUMBER)  # fmt: skip
    edge = tool("set_edge_color", "lamp_id", "r", description="Set the edge color of a lamp.",
                lamp_id=TEXT, r=NUMBER)  # fmt: skip
    blueprint, _, _ = compile_spec(spec_of(MAKE, tool("list_lamps"), fill, edge))

    fields = [set(blueprint.tools[name].effects["set"].fields) for name in (fill["name"],
              edge["name"])]  # fmt: skip
    assert "fill_color_r" in fields[0] - fields[1]
    assert "edge_color_r" in fields[1] - fields[0]


def test_to_increase_is_to_add() -> None:
    more = tool("increment_price", "lamp_id", "amount", description="Increment the price.",
                lamp_id=TEXT, amount=NUMBER)  # fmt: skip
    world = empty_world(MAKE, tool("list_lamps"), more)
    state, said = play(world, MADE[0])

    outcome = execute(
        world, state, "things", "increment_price", {"lamp_id": said[0]["lamp"]["id"], "amount": 5}
    )

    assert outcome.envelope["data"]["lamp"]["price"] == 35
