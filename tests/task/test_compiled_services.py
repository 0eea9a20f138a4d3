"""A service without links or reactions takes part through writes that state what was observed."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from components.records.blueprint import Blueprint, SeedData, ToolBlueprint
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec, ToolSpec
from components.records.system import System
from components.records.task import FromExpression, Task
from components.task.compose import ComposedTask, compose_task
from components.task.graph import Parameter, Place, Role, ToolShape
from components.task.phrases import phrases
from components.task.provenance import observations_of
from components.task.senses import own_name, row_for, sense, stated, takes
from tests.task.builders import Settings, builtin_system

TEXT = {"type": "string"}


def schema(*names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict.fromkeys(names, TEXT),
        "required": list(names),
        "additionalProperties": False,
    }


SPEC = ServiceSpec.model_validate(
    {
        "service": "notes",
        "title": "Notes",
        "tools": {
            "create_note": {"name": "create_note", "input_schema": schema("title", "body")},
            "get_note": {"name": "get_note", "input_schema": schema("note_id")},
        },
    }
)
BLUEPRINT = Blueprint.model_validate(
    {
        "service": "notes",
        "inferred": True,
        "entities": {
            "note": {
                "title_field": "title",
                "fields": {
                    "id": {"type": "string", "generated": True},
                    "title": {"type": "string"},
                    "body": {"type": "string", "free_text": True},
                },
            }
        },
        "tools": {
            "create_note": {
                "operation": "create",
                "functional": "write",
                "entity": "note",
                "effects": {
                    "note": {
                        "action": "create",
                        "table": "note",
                        "fields": {"title": "$args.title", "body": "$args.body"},
                    }
                },
                "result": {"note": "$note"},
            },
            "get_note": {
                "operation": "get",
                "functional": "read",
                "entity": "note",
                "lookups": {"note": {"table": "note", "equals": "$args.note_id"}},
                "result": {"note": "$note"},
            },
        },
    }
)


def system_with_notes() -> System:
    base = builtin_system()
    environment = base.environment.model_copy(
        update={
            "blueprints": FrozenDict({**base.environment.blueprints, "notes": BLUEPRINT}),
            "seeds": FrozenDict(
                {
                    **base.environment.seeds,
                    "notes": SeedData(service="notes", tables=FrozenDict(note=FrozenDict())),
                }
            ),
        }
    )
    specs = FrozenDict({**base.reference.specs, "notes": SPEC})
    reference = base.reference.model_copy(update={"specs": specs})
    return base.model_copy(update={"environment": environment, "reference": reference})


@cache
def tasks_with_notes() -> tuple[Task, ...]:
    settings = Settings(k=3, walk_length=6, domains=("directory", "mail", "notes"))
    system = system_with_notes()
    drawn = [compose_task(system, settings, seed) for seed in range(6)]
    return tuple(item.task for item in drawn if isinstance(item, ComposedTask))


def test_an_inferred_service_is_written_to_with_observed_values() -> None:
    made = tasks_with_notes()

    assert made
    for task in made:
        assert task.world.services == ("directory", "mail", "notes")
        (write,) = [step for step in task.gold.values() if step.tool == "create_note"]
        assert isinstance(write.arguments["/body"], FromExpression)
        assert "create a note in notes, with " in task.instruction.lower()
    titles = [
        step.arguments["/title"]
        for task in made
        for step in task.gold.values()
        if step.tool == "create_note"
    ]
    assert any(observations_of(title) for title in titles)


def test_the_words_of_an_unknown_tool_come_from_its_names() -> None:
    said = tasks_with_notes()[0].instruction

    assert "a text that gives" in said
    assert " as the body and " in said
    assert " as the title." in said


def shape_of(name: str, title: str, entity: str, operation: str, *pointers: str) -> ToolShape:
    """Return the shape of a compiled tool that takes texts under `properties`."""
    names = [pointer.rpartition("/")[2] for pointer in pointers]
    tool = ToolBlueprint.model_validate(
        {"operation": operation, "functional": "write", "entity": entity, "result": {}}
    )
    spec = ToolSpec.model_validate(
        {"name": name, "input_schema": schema() | {"properties": {"properties": schema(*names)}}}
    )
    return ToolShape(
        service="s", title=title, name=name, spec=spec, blueprint=tool,
        parameters=tuple(text_parameter(pointer) for pointer in pointers), shown=(),
    )  # fmt: skip


def text_parameter(pointer: str) -> Parameter:
    return Parameter(
        pointer=pointer, schema=FrozenDict(TEXT), required=True, role=Role.SETS, place=None,
        means=None, is_free_text=False, is_exact=True, names_row=False, is_natural=False,
    )  # fmt: skip


EMAIL = shape_of(
    "emails_create", "HubSpot CRM API Server", "email", "create",
    "/properties/hs_email_subject", "/properties/hs_email_from_email", "/properties/hs_timestamp",
)  # fmt: skip


def test_an_argument_is_called_by_what_is_its_own() -> None:
    assert [own_name(EMAIL, item.pointer) for item in EMAIL.parameters] == [
        "subject",
        "from_email",
        "timestamp",
    ]
    slots = {"/properties/hs_email_subject": "x"}
    said = phrases().sentences(EMAIL, list(slots))
    assert said == [
        "Create an email in HubSpot CRM, with {properties_hs_email_subject} as the subject."
    ]


@pytest.mark.parametrize(
    ("argument", "field", "is_taken"),
    [
        ("/properties/hs_email_subject", ("mail", "message", "subject"), True),
        ("/properties/hs_email_subject", ("directory", "employee", "email"), False),
        ("/properties/hs_email_from_email", ("directory", "employee", "email"), True),
        ("/properties/hs_email_from_email", ("mail", "message", "subject"), False),
    ],
)
def test_an_observed_value_goes_where_its_kind_is_asked_for(
    argument: str, field: tuple[str, str, str], is_taken: bool
) -> None:
    item = next(item for item in EMAIL.parameters if item.pointer == argument)
    blueprint = builtin_system().environment.blueprints[field[0]]

    assert takes(sense(EMAIL, item), blueprint, Place(*field)) is is_taken


def test_nobody_states_a_value_whose_schema_points_out_of_itself() -> None:
    shape = shape_of("things_create", "Things", "thing", "create", "/properties/title")
    (item,) = shape.parameters
    broken = replace(item, schema=FrozenDict({"$ref": "#/$defs/Note"}))
    row = row_for(shape, "2026-03-02T09:00:00Z", random.Random(1))

    assert stated(shape, item, row) is not None
    assert stated(shape, broken, row) is None


@pytest.mark.parametrize("name", ["association_type_id", "session_id", "created_at", "xyzzy"])
def test_nobody_states_what_only_the_service_knows(name: str) -> None:
    shape = shape_of("things_create", "Things", "thing", "create", f"/properties/{name}")

    row = row_for(shape, "2026-03-02T09:00:00Z", random.Random(1))
    assert stated(shape, shape.parameters[0], row) is None


def test_an_end_is_after_its_start() -> None:
    shape = shape_of(
        "meetings_create", "Meetings", "meeting", "create",
        "/properties/start_time", "/properties/end_time",
    )  # fmt: skip
    for seed in range(20):
        row = row_for(shape, "2026-03-02T09:00:00Z", random.Random(seed))
        start, end = (stated(shape, item, row) for item in shape.parameters)
        assert "2026-03-02" < start < end
