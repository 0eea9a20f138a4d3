"""What compiled writes change: fields of an object, elements of a list, parts of a whole."""

from __future__ import annotations

from typing import Any

from components.environment.compiler.compile import compile_spec
from components.environment.engine import execute
from components.environment.gates.run import admit_service
from components.environment.reading.read import read_spec
from components.environment.reading.records import Role
from components.environment.state import WorldState, rows_of
from components.environment.world import World, build_service_world
from components.records.blueprint import FunctionalClass, Operation
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec
from tests.environment.test_compiler import TEXT, spec_of, tool, world_of

OBJECT: dict[str, Any] = {"type": "object"}
GET = tool("get_contact", "contact_id", description="Get a contact by id.", contact_id=TEXT)
LIST = tool("list_contacts", description="List all contacts.")


def of_elements(**properties: Any) -> dict[str, Any]:
    inner = {"type": "object", "properties": properties, "required": sorted(properties)}
    return {"type": "array", "items": inner}


def call(world: World, tool_name: str, state: WorldState | None = None, /, **arguments: Any) -> Any:
    """Return the state afterwards, and the answer's data or its error's code."""
    outcome = execute(world, state or world.initial, "things", tool_name, arguments)
    envelope = outcome.envelope
    said = envelope["data"] if envelope["ok"] else envelope["error"]["code"]
    return outcome.state, said


def rows(state: WorldState, table: str) -> dict[str, Any]:
    return dict(rows_of(state, "things", table))


def failures(spec: ServiceSpec) -> list[str]:
    blueprint, seed, _ = compile_spec(spec)
    return [f"{item.tool}: {item.rule}" for item in admit_service(spec, blueprint, seed).failures]


def test_what_an_object_names_reaches_the_fields_of_the_row() -> None:
    update = tool(
        "update_contact", "contact_id", "data", description="Update a contact.",
        contact_id=TEXT, data=OBJECT,
    )  # fmt: skip
    spec = spec_of(GET, LIST, update)
    world = world_of(spec)
    row_id, row = next(iter(rows(world.initial, "contact").items()))

    data = {"email": "ada@example.com", "shoe_size": 41}
    state, _ = call(world, "update_contact", contact_id=row_id, data=data)
    _, refused = call(world, "update_contact", contact_id=row_id, data={"email": 7})

    after = rows(state, "contact")[row_id]
    assert after["email"] == "ada@example.com"
    assert after["data"] == {"shoe_size": 41}
    assert after["name"] == row["name"]
    assert refused == "invalid_arguments"
    assert not failures(spec)


def test_the_gates_see_an_object_that_is_stored_and_names_nothing() -> None:
    update = tool(
        "update_contact", "contact_id", "data", description="Update a contact.",
        contact_id=TEXT, data=OBJECT,
    )  # fmt: skip
    spec = spec_of(GET, LIST, update)
    blueprint, seed, _ = compile_spec(spec)
    broken = blueprint.tools["update_contact"]
    effect = broken.effects["set"]
    only = FrozenDict({"data": {"@merge": ["$item.data", "$args.data"]}})
    effect = effect.model_copy(update={"fields": only})
    broken = broken.model_copy(update={"effects": FrozenDict({"set": effect})})
    tools = FrozenDict({**blueprint.tools, "update_contact": broken})

    found = admit_service(spec, blueprint.model_copy(update={"tools": tools}), seed)

    assert "a change keeps what is given" in {item.rule for item in found.failures}


def test_an_object_with_declared_fields_is_its_fields() -> None:
    fields = {"type": "object", "properties": {"email": TEXT, "nickname": TEXT}}
    create = tool(
        "create_contact", "properties", description="Create a contact.", properties=fields
    )
    world = world_of(spec_of(GET, LIST, create))

    state, said = call(world, "create_contact", properties={"nickname": "Ada"})

    row = rows(state, "contact")[said["contact"]["id"]]
    assert row["nickname"] == "Ada"
    assert "properties" not in row


def test_each_of_a_list_is_acted_on_whatever_is_given_beside_it() -> None:
    create = tool(
        "batch_create_contacts", "source", "inputs", description="Create several contacts.",
        source=TEXT, inputs=of_elements(properties=OBJECT),
    )  # fmt: skip
    world = world_of(spec_of(GET, LIST, create))

    inputs = [{"properties": {"email": "a@example.com"}}, {"properties": {"email": "b@c.example"}}]
    state, said = call(world, "batch_create_contacts", source="fair", inputs=inputs)

    made = [rows(state, "contact")[row["id"]] for row in said["contacts"]]
    assert [(row["email"], row["source"]) for row in made] == [
        ("a@example.com", "fair"),
        ("b@c.example", "fair"),
    ]


def test_a_list_of_copies_takes_over_what_each_names() -> None:
    copy = tool(
        "batch_copy_contacts", "operations", description="Copy several contacts.",
        operations=of_elements(contact_id=TEXT, new_name=TEXT),
    )  # fmt: skip
    world = world_of(spec_of(GET, LIST, copy))
    row_id, row = next(iter(rows(world.initial, "contact").items()))

    one = {"contact_id": row_id, "new_name": "Twin"}
    state, said = call(world, "batch_copy_contacts", operations=[one])
    _, unknown = call(
        world, "batch_copy_contacts", operations=[{"contact_id": "none", "new_name": "Twin"}]
    )

    (made,) = said["contacts"]
    assert made["id"] != row_id
    assert (made["name"], made["email"]) == ("Twin", row["email"])
    assert rows(state, "contact")[row_id] == row
    assert unknown == "not_found"


def test_a_share_makes_a_permission_and_leaves_the_others_alone() -> None:
    spec = spec_of(
        tool("list_permissions", description="List permissions of a file.", file_id=TEXT),
        tool("list_files", description="List files."),
        tool("share", "file_id", "role", description="Share a file.", file_id=TEXT, role=TEXT),
    )
    readings = dict(read_spec(spec))
    roles = FrozenDict({"file_id": Role.IDENTIFIER, "role": Role.VALUE})
    told: dict[str, Any] = {
        "operation": Operation.LINK,
        "entity": "permission",
        "parent": "file",
        "roles": roles,
    }
    told |= {"functional": FunctionalClass.WRITE, "deterministic": True}
    readings["share"] = readings["share"].model_copy(update=told)
    blueprint, seed, _ = compile_spec(spec, readings)
    world = build_service_world(spec, blueprint, seed, "2026-03-02T09:00:00Z")
    before = rows(world.initial, "permission")
    file_id = next(iter(rows(world.initial, "file")))

    state, said = call(world, "share", file_id=file_id, role="reader")

    after = rows(state, "permission")
    assert {key: after[key] for key in before} == before
    assert after[said["permission"]["id"]]["file_id"] == file_id
    assert len(after) == len(before) + 1


def test_a_property_of_a_kind_of_thing_is_no_such_thing() -> None:
    create = tool(
        "create_contact_property", "name", "label", description="Create a new contact property.",
        name=TEXT, label=TEXT,
    )  # fmt: skip
    listing = tool("get_contact_properties", description="Get all properties for contacts.")
    world = world_of(spec_of(GET, LIST, create, listing))

    state, _ = call(world, "create_contact_property", name="size", label="Size")

    assert rows(state, "contact") == rows(world.initial, "contact")
    assert len(rows(state, "contact_property")) == len(rows(world.initial, "contact_property")) + 1


def test_text_that_is_added_to_a_file_is_the_files() -> None:
    append = tool(
        "append_text", "file_id", "text", description="Append plain text to an existing file.",
        file_id={"type": "string", "description": "ID of the file to append to"}, text=TEXT,
    )  # fmt: skip
    get = tool("get_file", "file_id", description="Get a file.", file_id=TEXT)
    create = tool(
        "create_file", "name", "content", description="Create a file.", name=TEXT, content=TEXT
    )
    world = world_of(spec_of(append, get, create, tool("list_files", description="List files.")))
    row_id, row = next(iter(rows(world.initial, "file").items()))

    state, _ = call(world, "append_text", file_id=row_id, text="the end")

    assert rows(state, "file")[row_id]["content"].startswith(row["content"] or "")
    assert rows(state, "file")[row_id]["content"].endswith("the end")


def test_what_a_name_calls_is_moved_and_not_renamed() -> None:
    launch = tool("launch_app", "name", description="Launch an application.", name=TEXT)
    world = world_of(spec_of(launch, tool("list_apps", description="List applications.")))
    row_id, row = next(iter(rows(world.initial, "app").items()))

    state, _ = call(world, "launch_app", name=row["name"])
    _, unknown = call(world, "launch_app", name="No such application")

    assert rows(state, "app")[row_id]["name"] == row["name"]
    assert rows(state, "app")[row_id]["status"] == "running"
    assert unknown == "not_found"


def test_one_is_current_and_that_one_is_shown() -> None:
    tools = [
        tool("set_profile", "name", description="Set the active profile by its name.", name=TEXT),
        tool("get_current_profile", description="Get the current profile."),
        tool("list_profiles", description="List profiles."),
    ]
    spec = spec_of(*tools)
    world = world_of(spec)
    first, *_, last = rows(world.initial, "profile").values()

    state, _ = call(world, "set_profile", name=last["name"])
    state, _ = call(world, "set_profile", state, name=first["name"])

    current = [row["name"] for row in rows(state, "profile").values() if row["is_current"]]
    assert current == [first["name"]]
    _, said = call(world, "get_current_profile", state)
    assert said["profile"]["name"] == first["name"]
    assert not failures(spec)


def test_what_is_added_is_a_row_of_its_own() -> None:
    add = tool(
        "add_layer", "path", description="Add a layer to the project.", path=TEXT, opacity=TEXT
    )
    world = world_of(spec_of(add, tool("get_layers", description="Get all layers.")))
    before = rows(world.initial, "layer")

    state, said = call(world, "add_layer", path="/maps/rivers.shp")

    assert isinstance(said, dict)
    assert {key: rows(state, "layer")[key] for key in before} == before
    assert len(rows(state, "layer")) == len(before) + 1


def test_a_message_that_is_sent_knows_when() -> None:
    send = tool("send_email", "to", "subject", description="Send an email.", to=TEXT, subject=TEXT)
    world = world_of(spec_of(send, tool("list_emails", description="List emails.")))

    _, said = call(world, "send_email", to="ada@example.com", subject="Tea")

    assert said["email"]["sent_at"] == world.initial.now
