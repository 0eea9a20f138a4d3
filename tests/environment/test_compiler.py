"""Specs compiled without a model: what is plain works, the rest is quarantined, nothing raises."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from components.environment.compiler.compile import compile_spec
from components.environment.engine import execute
from components.environment.gates.run import admit_service
from components.environment.names import plural, singular, tokens
from components.environment.seeds.sample_values import SchemaSampler
from components.environment.sources.listing import spec_from_listing
from components.environment.sources.names import service_name
from components.environment.state import rows_of
from components.environment.world import World, build_service_world
from components.errors import SpecError
from components.records.base import to_json
from components.records.blueprint import Blueprint, Operation, Quarantine, QuarantineReason
from components.records.frozen import canonical_json, thaw
from components.records.spec import ServiceSpec
from tests.servers.notes_server import FIRST_PAGE, SECOND_PAGE

NOW = "2026-03-02T09:00:00Z"
SHARED = Path(
    os.environ.get("SELVAGE_SHARED_DATA") or Path(__file__).parents[2].parent / "shared" / "data"
)
TEXT = {"type": "string"}


def tool(name: str, /, *required: str, description: str = "", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema}


def spec_of(*tools: dict[str, Any]) -> ServiceSpec:
    return spec_from_listing("things", list(tools)).spec


def notes() -> ServiceSpec:
    tools = [item.model_dump(mode="json", by_alias=True) for item in FIRST_PAGE + SECOND_PAGE]
    return spec_from_listing("notes", tools).spec


def world_of(spec: ServiceSpec) -> World:
    blueprint, seed, _ = compile_spec(spec)
    return build_service_world(spec, blueprint, seed, NOW)


def quarantine_of(name: str, *tools: dict[str, Any]) -> Quarantine:
    blueprint, _, why = compile_spec(spec_of(*tools))
    assert name not in blueprint.tools
    assert why[name].startswith("quarantined")
    return blueprint.quarantined[name]


CREATE = tool("create_item", "title", title=TEXT, status={"type": "string", "enum": ["a", "b"]})
GET = tool("get_item", "item_id", item_id=TEXT)
LIST = tool("list_items")


def test_tools_of_the_notes_server_become_what_they_are() -> None:
    blueprint, seed, why = compile_spec(notes())

    assert blueprint.inferred
    kept = {name: item.operation for name, item in blueprint.tools.items() if not item.simulated}
    assert kept == {
        "create_note": Operation.CREATE,
        "get_note": Operation.GET,
        "list_notes": Operation.LIST,
        "search_notes": Operation.SEARCH,
        "update_note": Operation.UPDATE,
        "delete_note": Operation.DELETE,
        "add_tag": Operation.APPEND,
        "import_notes_tree": Operation.CREATE,
    }
    assert blueprint.tools["search_web"].simulated
    assert sorted(why) == sorted(notes().tools)
    assert why["get_note"] == "'note_id' names the note"
    assert why["search_web"].startswith("simulated: ")
    assert len(seed.tables["note"]) == 8


def test_compiled_tools_do_what_their_names_say() -> None:
    world = world_of(notes())
    arguments = {"title": "Bread", "body": "Flour and water", "tags": ["kitchen"]}

    made = execute(world, world.initial, "notes", "create_note", arguments)
    note_id = made.envelope["data"]["note"]["id"]
    tagged = execute(world, made.state, "notes", "add_tag", {"note_id": note_id, "tag": "slow"})
    again = execute(world, tagged.state, "notes", "add_tag", {"note_id": note_id, "tag": "slow"})
    renamed = execute(
        world, again.state, "notes", "update_note", {"note_id": note_id, "title": "Rye"}
    )
    found = execute(world, renamed.state, "notes", "search_notes", {"query": "water FLOUR"})
    drafts = execute(world, renamed.state, "notes", "list_notes", {"status": "final", "limit": 2})
    gone = execute(world, renamed.state, "notes", "delete_note", {"note_id": note_id})
    lost = execute(world, gone.state, "notes", "get_note", {"note_id": note_id})

    assert [row["title"] for row in found.envelope["data"]["notes"]] == ["Rye"]
    row = found.envelope["data"]["notes"][0]
    assert row["tags"] == ("kitchen", "slow")
    assert row["status"] == "draft"
    assert row["body"] == "Flour and water"
    assert drafts.envelope["data"]["total"] > 2
    assert [item["status"] for item in drafts.envelope["data"]["notes"]] == ["final"] * 2
    assert lost.envelope["error"]["code"] == "not_found"


def test_counted_ids_go_on_counting() -> None:
    number = {"type": "integer"}
    spec = spec_of(
        CREATE, LIST, tool("get_item", "id", id=number), tool("delete_item", "id", id=number)
    )
    world = world_of(spec)

    made = execute(world, world.initial, "things", "create_item", {"title": "x"})
    got = execute(world, made.state, "things", "get_item", {"id": 9})

    item = made.envelope["data"]["item"]
    assert (item["id"], item["title"], item["status"]) == (9, "x", None)
    assert "row_key" not in item
    assert got.envelope["data"]["item"]["title"] == "x"


def test_rows_named_by_id_must_exist() -> None:
    spec = spec_of(
        tool("create_project", "name", name=TEXT),
        tool("get_project", "project_id", project_id=TEXT),
        tool("list_projects"),
        tool("create_task", "project_id", "title", project_id=TEXT, title=TEXT),
        tool("list_tasks", project_id=TEXT),
    )
    blueprint, seed, _ = compile_spec(spec)
    world = build_service_world(spec, blueprint, seed, NOW)

    bad = execute(world, world.initial, "things", "create_task", {"project_id": "?", "title": "t"})

    assert bad.envelope["error"]["code"] == "not_found"
    assert blueprint.entities["task"].fields["project_id"].link == "things.project"
    projects = set(seed.tables["project"])
    assert {row["project_id"] for row in seed.tables["task"].values()} <= projects


def test_a_natural_key_is_given_and_unique() -> None:
    spec = spec_of(
        tool("create_page", "path", "content", path=TEXT, content=TEXT),
        tool("read_page", "path", path=TEXT),
        tool("list_pages"),
    )
    blueprint, _, _ = compile_spec(spec)
    world = world_of(spec)
    arguments = {"path": "/a", "content": "x"}

    made = execute(world, world.initial, "things", "create_page", arguments)
    again = execute(world, made.state, "things", "create_page", arguments)

    assert blueprint.entities["page"].key == "path"
    assert again.envelope["error"]["code"] == "conflict"


def test_a_tool_that_says_nothing_of_what_to_write_is_quarantined() -> None:
    for name, extra in (
        ("update_item", tool("update_item")),
        ("update_item", tool("update_item", "force", force={"type": "boolean"})),
    ):
        found = quarantine_of(name, CREATE, GET, LIST, extra)

        assert found.reason is QuarantineReason.UNCLEAR
        assert found.detail.endswith(".")


def test_what_depends_on_a_world_outside_is_simulated_and_says_so() -> None:
    description = "Search the web with a live search engine and return the results."
    query = tool("web_search", "query", query=TEXT, description=description)
    spec = spec_of(CREATE, GET, LIST, query)
    world = world_of(spec)

    first = execute(world, world.initial, "things", "web_search", {"query": "looms"})
    again = execute(world, world.initial, "things", "web_search", {"query": "looms"})
    other = execute(world, world.initial, "things", "web_search", {"query": "inns"})

    assert first.envelope["data"]["simulated"] is True
    assert first.envelope == again.envelope
    assert first.envelope != other.envelope
    assert not first.changes


def test_a_transition_moves_and_refuses_to_move_again() -> None:
    spec = spec_of(CREATE, GET, LIST, tool("archive_item", "item_id", item_id=TEXT))
    world = world_of(spec)
    made = execute(world, world.initial, "things", "create_item", {"title": "x"})
    arguments = {"item_id": made.envelope["data"]["item"]["id"]}

    moved = execute(world, made.state, "things", "archive_item", arguments)
    again = execute(world, moved.state, "things", "archive_item", arguments)

    assert moved.envelope["data"]["item"]["archived"] is True
    assert again.envelope["error"]["code"] == "precondition_failed"


def test_what_belongs_to_a_row_is_shown_with_it_and_goes_with_it() -> None:
    comment = tool("add_comment", "item_id", "text", item_id=TEXT, text=TEXT)
    spec = spec_of(CREATE, GET, LIST, comment, tool("delete_item", "item_id", item_id=TEXT))
    world = world_of(spec)
    made = execute(world, world.initial, "things", "create_item", {"title": "x"})
    arguments = {"item_id": made.envelope["data"]["item"]["id"]}

    said = execute(world, made.state, "things", "add_comment", {**arguments, "text": "well"})
    got = execute(world, said.state, "things", "get_item", arguments)
    gone = execute(world, said.state, "things", "delete_item", arguments)
    lost = execute(world, said.state, "things", "add_comment", {"item_id": "?", "text": "well"})

    assert [row["text"] for row in got.envelope["data"]["item"]["comments"]] == ["well"]
    assert sorted(change.table for change in gone.changes) == ["comment", "item"]
    assert lost.envelope["error"]["code"] == "not_found"


def test_pages_bounds_and_order_are_those_of_the_arguments() -> None:
    number = {"type": "integer"}
    listing = tool(
        "list_items", page=number, limit=number, sort_by=TEXT, order=TEXT, created_after=TEXT
    )
    spec = spec_of(tool("create_item", "name", name=TEXT), GET, listing)
    world = world_of(spec)

    def names(**arguments: Any) -> list[str]:
        found = execute(world, world.initial, "things", "list_items", arguments)
        return [row["name"] for row in found.envelope["data"]["items"]]

    everything = names(sort_by="name")
    assert everything == sorted(everything)
    assert names(sort_by="name", order="desc") == everything[::-1]
    assert names(sort_by="name", page=2, limit=3) == everything[3:6]
    assert names(created_after="2099-01-01") == []
    assert sorted(names(created_after="2000-01-01")) == everything


def test_a_composite_key_names_one_row() -> None:
    number = {"type": "integer"}
    place: dict[str, Any] = {"owner": TEXT, "repo": TEXT}
    spec = spec_of(
        tool("create_issue", "owner", "repo", "title", title=TEXT, **place),
        tool("get_issue", "owner", "repo", "issue_number", issue_number=number, **place),
        tool("list_issues", "owner", "repo", **place),
    )
    world = world_of(spec)
    where = {"owner": "ada", "repo": "loom"}
    made = execute(world, world.initial, "things", "create_issue", {**where, "title": "x"})
    issue = made.envelope["data"]["issue"]
    number_of = next(value for name, value in issue.items() if "number" in name)

    got = execute(world, made.state, "things", "get_issue", {**where, "issue_number": number_of})
    other = {**where, "repo": "inn", "issue_number": number_of}
    lost = execute(world, made.state, "things", "get_issue", other)
    listed = execute(world, made.state, "things", "list_issues", where)

    assert got.envelope["data"]["issue"]["title"] == "x"
    assert lost.envelope["error"]["code"] == "not_found"
    assert [row["title"] for row in listed.envelope["data"]["issues"]] == ["x"]


def test_a_nullable_field_is_cleared_only_by_an_explicit_null() -> None:
    nullable = {"anyOf": [TEXT, {"type": "null"}]}
    update = tool("update_item", "item_id", item_id=TEXT, owner=nullable, title=TEXT)
    spec = spec_of(tool("create_item", "title", title=TEXT, owner=nullable), GET, LIST, update)
    world = world_of(spec)
    made = execute(world, world.initial, "things", "create_item", {"title": "x", "owner": "ada"})
    item_id = made.envelope["data"]["item"]["id"]

    kept = execute(world, made.state, "things", "update_item", {"item_id": item_id, "title": "y"})
    cleared = execute(
        world, made.state, "things", "update_item", {"item_id": item_id, "owner": None}
    )

    assert kept.envelope["data"]["item"]["owner"] == "ada"
    assert cleared.envelope["data"]["item"]["owner"] is None


def test_the_same_spec_compiles_to_the_same_bytes() -> None:
    first, second = compile_spec(notes()), compile_spec(notes())

    for left, right in zip(first[:2], second[:2], strict=True):
        assert canonical_json(to_json(left)) == canonical_json(to_json(right))
    assert first[2] == second[2]


def test_no_real_listing_raises_and_no_tool_is_lost() -> None:
    path = SHARED / "mcp_specs.jsonl.gz"
    if not path.exists():
        pytest.skip(f"no {path}: set SELVAGE_SHARED_DATA to the folder of the recorded listings")
    servers = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    compiled = 0

    for server in servers[::10]:
        try:
            spec = spec_from_listing(service_name(server["server"]), server["tools"]).spec
        except SpecError:
            continue
        blueprint, seed, why = compile_spec(spec)
        build_service_world(spec, blueprint, seed, NOW)
        assert set(blueprint.tools) | set(blueprint.quarantined) == set(spec.tools) == set(why)
        assert not set(blueprint.tools) & set(blueprint.quarantined)
        compiled += 1

    assert compiled > 40


def test_hostile_schemas_never_raise() -> None:
    rng = random.Random("hostile")
    parts: list[Any] = [
        None, True, False, {}, [], "string", {"$ref": "#"}, {"$ref": "#/properties/a"},
        {"type": "array"}, {"type": ["string", "null"]}, {"anyOf": []}, {"enum": [None, 1, {}]},
        {"type": "object", "properties": None}, {"allOf": [{"$ref": "#"}]}, {"const": {"a": [1]}},
        {"type": "string", "pattern": "(?!x)y", "default": 3}, {"not": {}},
        {"type": "integer", "default": "x"},
    ]  # fmt: skip
    names = (
        "a", "item_id", "from", "class", "x-y", "a.b", "$now", "query", "limit", "title", "", "_id",
        "model_config", "copy", "id", "row_key",
    )  # fmt: skip
    verbs = ("create_item", "get_item", "list_items", "update_item", "delete_item", "search_items")

    for _ in range(150):
        tools = []
        for verb in verbs:
            picked = rng.sample(names, 3)
            properties = {name: rng.choice(parts) for name in picked}
            schema = {"type": "object", "properties": properties, "required": picked[:1]}
            tools.append({"name": verb, "inputSchema": schema})
        spec = spec_from_listing("hostile", tools).spec
        blueprint, seed, _ = compile_spec(spec)
        admission = admit_service(spec, blueprint, seed)
        for failure in admission.failures:
            assert "crashed" not in failure.came


def test_names_are_read_as_words() -> None:
    assert tokens("HTTPServer2_x") == ("http", "server", "2", "x")
    for one, many in [
        ("entity", "entities"),
        ("box", "boxes"),
        ("person", "people"),
        ("status", "statuses"),
        ("database", "databases"),
        ("class", "classes"),
        ("size", "sizes"),
        ("house", "houses"),
    ]:
        assert plural(one) == many
        assert singular(many) == one


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": r"^[A-Z]{2,4}-\d{3}(?:-v\d+)?$"},
        {"type": "string", "pattern": r"^(high|low)$"},
        {"type": "string", "minLength": 30},
        {"type": "string", "maxLength": 3},
        {"type": "string", "format": "date-time"},
        {"type": "integer", "minimum": 5, "maximum": 6},
        {"type": "integer", "exclusiveMinimum": 10, "multipleOf": 7},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 3},
        {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True, "minItems": 2},
        {"type": ["null", "string"]},
        {"anyOf": [{"type": "null"}, {"type": "integer"}]},
        {
            "allOf": [
                {"properties": {"a": {"type": "string"}}},
                {"required": ["a"], "type": "object"},
            ]
        },
        {"const": 4},
        {
            "$defs": {"t": {"type": "object", "properties": {"k": {"$ref": "#/$defs/t"}}}},
            "$ref": "#/$defs/t",
        },
    ],
)
def test_drawn_values_fit_their_schema(schema: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(schema)

    for seed in range(20):
        value = SchemaSampler(schema, random.Random(seed)).value(schema)
        assert validator.is_valid(thaw(value)), value


def test_seed_rows_fit_the_schemas_that_write_them() -> None:
    code = {"type": "string", "pattern": r"^[A-Z]{3}\d{4}$"}
    spec = spec_of(
        tool("create_item", "code", "size", code=code, size={"type": "integer", "minimum": 90}),
        tool("get_item", "item_id", item_id=TEXT),
        tool("list_items"),
    )
    blueprint, seed, _ = compile_spec(spec)
    world = build_service_world(spec, blueprint, seed, NOW)
    validator = jsonschema_rs.validator_for(thaw(spec.tools["create_item"].input_schema))

    for row in rows_of(world.initial, "things", "item").values():
        assert validator.is_valid({"code": row["code"], "size": row["size"]})


def test_a_blueprint_survives_json() -> None:
    blueprint, _, _ = compile_spec(notes())

    assert Blueprint.model_validate_json(blueprint.model_dump_json()) == blueprint
