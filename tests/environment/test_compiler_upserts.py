"""Rows that are there already, and keys that a caller gives: compiled writes on invented tools."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.compiler.compile import compile_spec
from components.environment.engine import execute
from components.environment.gates.run import admit_service
from components.environment.state import WorldState, rows_of
from components.environment.world import World, build_service_world
from components.records.blueprint import SeedData
from components.records.spec import ServiceSpec
from loop.show.service import effect_text
from tests.environment.test_compiler import TEXT, spec_of, tool

NOW = "2026-03-02T09:00:00Z"
GET = tool("get_recipe", "name", description="Get a recipe by its name.", name=TEXT)
DELETE = tool("delete_recipe", "name", description="Delete a recipe.", name=TEXT)


def empty_world(*tools: dict[str, Any]) -> World:
    spec = spec_of(*tools)
    blueprint, _, _ = compile_spec(spec)
    return build_service_world(spec, blueprint, SeedData(service="things", tables={}), NOW)


def play(world: World, *calls: tuple[str, dict[str, Any]]) -> tuple[WorldState, list[Any]]:
    """Return the last state, and what each call answered: its data, or its error's code."""
    state, said = world.initial, []
    for name, arguments in calls:
        outcome = execute(world, state, "things", name, arguments)
        state, envelope = outcome.state, outcome.envelope
        said.append(envelope["data"] if envelope["ok"] else envelope["error"]["code"])
    return state, said


def saving(description: str, name: str = "create_recipe", **more: Any) -> dict[str, Any]:
    return tool(name, "name", "text", description=description, name=TEXT, text=TEXT, **more)


def save(text: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "create_recipe", {"name": "rye", "text": text, **more}


def recipes(state: WorldState) -> list[Any]:
    return [row["text"] for row in rows_of(state, "things", "recipe").values()]


def test_an_optional_name_that_is_given_names_the_new_row() -> None:
    create = tool("create_recipe", "text", description="Create a recipe.", name=TEXT, text=TEXT)
    world = empty_world(create, GET, DELETE)

    _, said = play(
        world,
        ("create_recipe", {"text": "flour", "name": "rye"}),
        ("get_recipe", {"name": "rye"}),
        ("create_recipe", {"text": "water", "name": "rye"}),
        ("create_recipe", {"text": "salt"}),
        ("create_recipe", {"text": "salt"}),
    )

    assert said[1]["recipe"]["text"] == "flour"
    assert said[2] == "conflict"
    assert said[3]["recipe"]["name"].startswith("recipe_")
    assert said[3]["recipe"]["name"] != said[4]["recipe"]["name"]


@pytest.mark.parametrize(
    "description",
    [
        "Create a new recipe or completely overwrite an existing recipe with new text.",
        "Add or replace a recipe.",
        "Create a recipe, replacing any of the same name.",
        "Create a recipe; if it already exists, it will be updated.",
        "Upsert a recipe.",
    ],
)
def test_what_replaces_what_is_there_keeps_one_row_with_the_new_values(description: str) -> None:
    world = empty_world(saving(description), GET, DELETE)

    state, said = play(world, save("flour"), save("water"))

    assert recipes(state) == ["water"]
    assert said[1]["recipe"]["text"] == "water"


def test_a_plain_create_refuses_what_is_there_and_so_does_one_that_never_overwrites() -> None:
    for text in ("Create a recipe.", "Create a recipe without overwriting any existing recipe."):
        state, said = play(empty_world(saving(text), GET, DELETE), save("flour"), save("water"))

        assert said[1] == "conflict"
        assert recipes(state) == ["flour"]


def test_what_succeeds_silently_leaves_the_row_that_is_there() -> None:
    told = "Create a recipe. If the recipe already exists, this will succeed silently."
    world = empty_world(saving(told), GET, DELETE)

    state, said = play(world, save("flour"), save("water"))

    assert recipes(state) == ["flour"]
    assert said[1]["recipe"]["text"] == "flour"


def test_a_flag_of_the_caller_decides_whether_a_row_is_replaced() -> None:
    flagged = saving("Create a recipe.", overwrite={"type": "boolean"})
    world = empty_world(flagged, GET, DELETE)

    state, said = play(
        world, save("flour"), save("water"), save("salt", overwrite=False),
        save("yeast", overwrite=True),
    )  # fmt: skip

    assert said[1:3] == ["conflict", "conflict"]
    assert recipes(state) == ["yeast"]


def test_a_set_that_creates_makes_what_is_missing() -> None:
    setting = saving("Set the text of a recipe. If it does not exist, it is created.", "set_recipe")
    world = empty_world(setting, GET, DELETE)

    state, said = play(
        world,
        ("set_recipe", {"name": "rye", "text": "flour"}),
        ("set_recipe", {"name": "rye", "text": "water"}),
        ("delete_recipe", {"name": "rye"}),
    )

    assert recipes(state) == []
    assert said[1]["recipe"]["text"] == "water"


def test_a_hint_that_a_second_call_has_no_effect_keeps_the_row() -> None:
    hinted = {**saving("Create a recipe."), "annotations": {"idempotentHint": True}}

    state, said = play(empty_world(hinted, GET, DELETE), save("flour"), save("flour"))

    assert recipes(state) == ["flour"]
    assert said[1]["recipe"]["text"] == "flour"


def test_what_a_second_call_leaves_out_stays_as_it_is() -> None:
    upsert = tool("create_or_update_recipe", "name", name=TEXT, text=TEXT, oven={"type": "integer"})
    world = empty_world(upsert, GET, DELETE)

    _, said = play(
        world,
        ("create_or_update_recipe", {"name": "rye", "text": "flour", "oven": 220}),
        ("create_or_update_recipe", {"name": "rye", "text": "water"}),
    )

    assert (said[1]["recipe"]["text"], said[1]["recipe"]["oven"]) == ("water", 220)


def spec_that_upserts() -> ServiceSpec:
    listing = tool("list_recipes", description="List all recipes.")
    return spec_of(saving("Create or update a recipe."), GET, DELETE, listing)


def test_the_gates_take_an_upsert_and_show_tells_of_it() -> None:
    spec = spec_that_upserts()
    blueprint, seed, why = compile_spec(spec)

    admission = admit_service(spec, blueprint, seed)

    assert "create_recipe" in admission.blueprint.tools
    assert "one of that name that is there is replaced" in why["create_recipe"]
    told = effect_text(blueprint.tools["create_recipe"].effects["make"])
    assert "one of that name there already: replace" in told
