"""Tools whose arguments lie in one object work like those whose arguments lie at the top."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.compiler.compile import compile_spec
from components.environment.engine import execute
from components.environment.expressions import Scope, Vocabulary, compile_expression
from components.environment.gates.run import admit_service
from components.environment.reading.read import read_spec
from components.environment.reading.records import Role
from components.environment.world import build_service_world
from components.environment.wrapped import opened, wrapper_of
from components.records.frozen import freeze
from components.records.spec import ServiceSpec
from tests.environment.test_compiler import NOW, TEXT, spec_of, tool

NUMBER = {"type": "integer"}
PLAIN = (
    tool(
        "create_ticket", "title", description="Create a ticket.", title=TEXT,
        status={"type": "string", "enum": ["open", "done"], "default": "done"},
    ),
    tool("get_ticket", "ticket_id", description="Get a ticket.", ticket_id=TEXT),
    tool("list_tickets", description="List tickets.", status=TEXT, limit={**NUMBER, "default": 2}),
    tool("update_ticket", "ticket_id", description="Update a ticket.", ticket_id=TEXT, title=TEXT),
    tool("delete_ticket", "ticket_id", description="Delete a ticket.", ticket_id=TEXT),
)  # fmt: skip


def wrapped(wrapper: str = "request") -> ServiceSpec:
    return spec_of(
        *(
            {**item, "inputSchema": {
                "type": "object",
                "properties": {wrapper: {"$ref": "#/$defs/Held"}},
                "required": [wrapper],
                "$defs": {"Held": item["inputSchema"]},
            }}
            for item in PLAIN
        )
    )  # fmt: skip


def test_a_wrapped_service_answers_as_the_plain_one_does_and_passes_the_same_gates() -> None:
    answers = []
    for spec, inside in ((spec_of(*PLAIN), False), (wrapped(), True)):
        blueprint, seed, _ = compile_spec(spec)
        judged = admit_service(spec, blueprint, seed).blueprint
        assert set(judged.tools) == {item["name"] for item in PLAIN}
        world = build_service_world(spec, judged, seed, NOW)
        state = world.initial
        found: list[Any] = []
        ticket = next(iter(seed.tables["ticket"]))
        for name, given in (
            ("create_ticket", {"title": "Leak"}),
            ("list_tickets", {}),
            ("list_tickets", {"limit": 50, "status": "done"}),
            ("update_ticket", {"ticket_id": ticket, "title": "Leak again"}),
            ("get_ticket", {"ticket_id": ticket}),
            ("delete_ticket", {"ticket_id": ticket}),
            ("get_ticket", {"ticket_id": ticket}),
        ):
            outcome = execute(
                world, state, spec.service, name, {"request": given} if inside else given
            )
            state = outcome.state
            found.append((outcome.envelope, len(outcome.changes)))
        answers.append(found)

    assert answers[0] == answers[1]
    assert answers[0][1][0]["data"]["total"] > len(answers[0][1][0]["data"]["tickets"]) == 2


def test_what_is_wrong_is_named_where_it_lies() -> None:
    spec = wrapped()
    blueprint, seed, _ = compile_spec(spec)
    world = build_service_world(spec, blueprint, seed, NOW)

    def problem(arguments: dict[str, Any]) -> Any:
        return execute(world, world.initial, spec.service, "get_ticket", arguments).envelope

    assert (
        problem({"request": {"ticket_id": 3}})["error"]["details"]["path"] == "/request/ticket_id"
    )
    assert problem({"ticket_id": "a"})["error"]["code"] == "invalid_arguments"


def test_whether_an_inner_argument_was_given_can_be_asked() -> None:
    asked = compile_expression({"@given": "request.q"}, Vocabulary({"args"}, {}))

    def given(arguments: dict[str, Any]) -> Any:
        return asked(Scope({"args": freeze(arguments)}, {}, NOW))

    assert given({"request": {"q": None}}) is True
    assert given({"request": {}}) is given({"request": "q"}) is given({}) is False


def test_what_an_object_of_arguments_holds_has_roles() -> None:
    spec = wrapped("params")

    roles = read_spec(spec)["get_ticket"].roles

    assert dict(roles) == {"ticket_id": Role.IDENTIFIER}
    assert opened(spec).tools["get_ticket"].input_schema["required"] == ("ticket_id",)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"ticket": {"type": "object", "properties": {"id": TEXT}}},
         "required": ["ticket"]},
        {"properties": {"request": {"type": "object", "properties": {"id": TEXT}}}},
        {"properties": {"request": {"type": "object"}}, "required": ["request"]},
        {"properties": {"request": TEXT}, "required": ["request"]},
        {"properties": {"data": {"type": "object", "properties": {"id": TEXT}}, "dry": TEXT},
         "required": ["data"]},
        {"properties": {"data": {"type": "object", "properties": {"id": TEXT},
                                 "anyOf": [{"required": ["id"]}, {"required": ["url"]}]}},
         "required": ["data"]},
    ],
    ids=["noun", "optional", "free", "text", "one_of_two", "crossing"],
)  # fmt: skip
def test_other_objects_are_values(schema: dict[str, Any]) -> None:
    item = {"name": "send_ticket", "inputSchema": {"type": "object", **schema}}
    spec = spec_of(item)
    assert [wrapper_of(one) for one in spec.tools.values()] == [None]
    assert opened(spec) is spec
