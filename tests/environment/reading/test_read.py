"""What `read_spec` says of small servers of invention, and that no spec breaks it."""

from __future__ import annotations

import json

import pytest

from components.environment.gates.promises import read_promises
from components.environment.reading.features import FEATURE_VERSION
from components.environment.reading.read import WEIGHTS, learned, read_spec
from components.environment.reading.records import Role, ToolReading
from components.records.base import to_json
from components.records.blueprint import FunctionalClass, Operation
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec, ToolSpec
from tests.environment.reading.builders import spec, tool

_NUMBER = {"type": "integer"}
_GARDEN = (
    tool("create_plant", "Create a plant in the garden", "name", species={"type": "string"}),
    tool("get_plant", "Get a plant by its ID", "plant_id"),
    tool("list_plants", "List all plants", limit=_NUMBER, offset=_NUMBER),
    tool("search_plants", "Search plants by text", "query"),
    tool("update_plant", "Update fields of a plant", "plant_id", name={"type": "string"}),
    tool("delete_plant", "Delete a plant", "plant_id"),
    tool("archive_plant", "Archive a plant", "plant_id"),
    tool("add_note_to_plant", "Add a note to a plant", "plant_id", "note"),
    tool("remove_tag_from_plant", "Remove a tag from a plant", "plant_id", "tag"),
    tool("assign_gardener", "Assign a gardener to a plant", "plant_id", "gardener_id"),
    tool("square_root", "Calculate the square root of a number", x=_NUMBER),
    tool("web_search", "Search the web with a search engine", "query"),
)


def _read(name: str) -> ToolReading:
    return read_spec(spec(*_GARDEN))[name]


@pytest.mark.parametrize(
    ("name", "operation", "functional"),
    [
        ("create_plant", Operation.CREATE, FunctionalClass.WRITE),
        ("get_plant", Operation.GET, FunctionalClass.READ),
        ("list_plants", Operation.LIST, FunctionalClass.READ),
        ("search_plants", Operation.SEARCH, FunctionalClass.READ),
        ("update_plant", Operation.UPDATE, FunctionalClass.WRITE),
        ("delete_plant", Operation.DELETE, FunctionalClass.WRITE),
        ("archive_plant", Operation.TRANSITION, FunctionalClass.WRITE),
        ("add_note_to_plant", Operation.APPEND, FunctionalClass.WRITE),
        ("remove_tag_from_plant", Operation.DETACH, FunctionalClass.WRITE),
        ("assign_gardener", Operation.LINK, FunctionalClass.WRITE),
        ("square_root", Operation.COMPUTE, FunctionalClass.PROCESS),
        ("web_search", Operation.EXTERNAL, FunctionalClass.READ),
    ],
)
def test_each_operation_is_read_from_a_plain_tool(
    name: str, operation: Operation, functional: FunctionalClass
) -> None:
    found = _read(name)

    assert (found.operation, found.functional) == (operation, functional)
    assert found.deterministic == (operation is not Operation.EXTERNAL)


def test_tools_of_one_table_say_the_same_entity() -> None:
    names = ("create_plant", "get_plant", "list_plants", "search_plants", "delete_plant")

    assert {_read(name).entity for name in names} == {"plant"}


def test_a_computation_has_no_entity() -> None:
    assert _read("square_root").entity is None


def test_the_parent_of_an_append_is_what_its_key_names() -> None:
    assert _read("add_note_to_plant").parent == "plant"


def test_roles_tell_keys_queries_and_paging_apart() -> None:
    assert _read("get_plant").roles == {"plant_id": Role.IDENTIFIER}
    assert _read("search_plants").roles == {"query": Role.QUERY}
    assert _read("list_plants").roles == {"limit": Role.LIMIT, "offset": Role.OFFSET}
    assert _read("add_note_to_plant").roles == {"plant_id": Role.PARENT, "note": Role.VALUE}


def test_the_one_text_that_something_is_got_by_picks_it() -> None:
    page = tool("get_page", "Get a page.", "title")
    sections = tool("get_sections", "List sections of a page.", "title")

    assert read_spec(spec(page, sections))["get_page"].roles == {"title": Role.IDENTIFIER}


def test_an_id_to_be_found_first_is_harder_than_no_argument() -> None:
    assert _read("get_plant").difficulty > _read("list_plants").difficulty


def test_a_reading_says_what_decided() -> None:
    why = _read("list_plants").why

    assert why[0].startswith("list with ")
    assert any("list" in reason for reason in why[1:])


def test_a_read_only_hint_decides_only_where_words_do_not() -> None:
    plain = {"name": "frobnicate_plant", "description": ""}
    silent = read_spec(spec(plain))["frobnicate_plant"]
    hinted = read_spec(spec({**plain, "annotations": {"readOnlyHint": True}}))["frobnicate_plant"]
    liar = {**_GARDEN[5], "annotations": {"readOnlyHint": True}}

    assert hinted.functional is not FunctionalClass.WRITE
    assert hinted.confidence != silent.confidence
    assert read_spec(spec(liar, *_GARDEN[:5]))["delete_plant"].operation is Operation.DELETE


def test_asking_whether_a_server_is_there_is_about_nothing_that_is_kept() -> None:
    asked = read_spec(spec(*_GARDEN, tool("ping", "Get a pong"), tool("health_check", "Health")))
    kept = read_spec(spec(tool("get_health_record", "Get the health record of a pet", "pet_id")))

    assert {asked[name].operation for name in ("ping", "health_check")} == {Operation.EXTERNAL}
    assert kept["get_health_record"].operation is Operation.GET


def test_same_spec_gives_same_bytes_in_any_order() -> None:
    forward = read_spec(spec(*_GARDEN))
    backward = read_spec(spec(*reversed(_GARDEN)))

    for name, reading in forward.items():
        assert json.dumps(to_json(reading)) == json.dumps(to_json(backward[name]))
    assert list(backward) == list(reversed(list(forward)))


def test_names_beyond_all_habits_are_read() -> None:
    odd = spec(
        {"name": "x" * 200, "description": None, "inputSchema": None},
        {"name": "\u5929\u6c17\u3092\u53d6\u5f97", "inputSchema": {"properties": None}},
        {"name": "___", "description": "\U0001f680\u200b"},
        {"name": "123", "description": "[]()...", "inputSchema": {"type": "array"}},
        {
            "name": "\u0130stanbul",
            "inputSchema": {"properties": {"": {}, "\u00e9": True, "a b": 3}},
        },
        {"name": "loop", "inputSchema": {"$ref": "#"}},
        tool("wide", "", **{f"field_{number}": {"type": "string"} for number in range(300)}),
    )

    readings = read_spec(odd)

    assert set(readings) == set(odd.tools)
    assert len(readings["wide"].roles) == 300


def test_every_parameter_has_a_role() -> None:
    garden = spec(*_GARDEN)

    for name, reading in read_spec(garden).items():
        assert list(reading.roles) == list(garden.tools[name].input_schema["properties"])


def test_a_spec_of_one_tool_without_title_is_read() -> None:
    lone = ServiceSpec(service="lone", tools=FrozenDict({"ping": ToolSpec(name="ping")}))

    assert 0.0 <= read_spec(lone)["ping"].confidence <= 1.0


def test_shipped_weights_are_of_the_features_in_the_code() -> None:
    stored = json.loads(WEIGHTS.read_text(encoding="utf-8"))

    assert stored["feature_version"] == FEATURE_VERSION
    assert {name.partition("/")[0] for name in learned().operation.classes} == set(Operation)
    assert 0.0 < learned().external_threshold < 1.0
    assert WEIGHTS.stat().st_size < 2_000_000


def _mailbox(caller: str, needing: int) -> ServiceSpec:
    """Return a server of eight kinds of record, of whose tools some must be told who calls."""
    nouns = ("note", "plant", "book", "song", "film", "coin", "lamp", "boat")
    return spec(
        *(
            tool(f"get_{noun}", f"Get a {noun}.", f"{noun}_id", *[caller][: place < needing])
            for place, noun in enumerate(nouns)
        )
    )


@pytest.mark.parametrize(
    ("caller", "needing", "role"),
    [("user_email", 8, Role.AUTH), ("garden_id", 8, Role.PARENT), ("user_email", 3, None)],
)
def test_a_person_that_most_tools_must_be_told_is_who_calls(
    caller: str, needing: int, role: Role | None
) -> None:
    roles = read_spec(_mailbox(caller, needing))["get_note"].roles
    assert roles["note_id"] is Role.IDENTIFIER
    assert roles[caller] is not Role.AUTH if role is None else roles[caller] is role


def test_a_gate_expects_nothing_of_who_calls() -> None:
    promise = read_promises(_mailbox("user_email", 8))["get_note"]
    assert promise.callers == {"user_email"}
    assert promise.keys == ("note_id",)
    assert "user_email" not in promise.dependent
