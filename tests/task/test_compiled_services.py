"""A service without links or reactions takes part through writes that state what was observed."""

from __future__ import annotations

from functools import cache
from typing import Any

from components.records.blueprint import Blueprint, SeedData
from components.records.frozen import FrozenDict
from components.records.spec import ServiceSpec
from components.records.system import System
from components.records.task import FromExpression, Task
from components.task.compose import ComposedTask, compose_task
from components.task.provenance import observations_of
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
        assert observations_of(write.arguments["/title"])
        assert isinstance(write.arguments["/body"], FromExpression)
        assert "create a note" in task.instruction


def test_the_words_of_an_unknown_tool_come_from_its_names() -> None:
    made = tasks_with_notes()

    assert "the body is a text that gives" in made[0].instruction
    assert "the title is" in made[0].instruction
