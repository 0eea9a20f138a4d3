"""A small world of two services and one reaction, and keyword builders for what is scored in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.environment.engine import call_recorded
from components.environment.state import WorldState, state_hash
from components.environment.world import World, build_world
from components.records.blueprint import Blueprint, SeedData
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict, JsonObject, freeze
from components.records.harness import HarnessSettings
from components.records.rubric import EvaluatorSettings, Rubric
from components.records.spec import ServiceSpec
from components.records.system import Environment, Evaluator, Reference, System
from components.records.task import Task
from components.records.trajectory import (
    Failure,
    Observation,
    ParsedCall,
    StopReason,
    Trajectory,
    Turn,
)
from components.records.world import Reaction

NOW = "2025-03-01T09:00:00Z"
TEXT = {"type": "string"}
FIELD_TEXT = {"type": "string"}
FIELD_TIME = {"type": "timestamp", "generated": True, "required": False, "default": "$now"}


def schema(*names: str, **others: Any) -> dict[str, Any]:
    """Return a closed object schema; `names` are required texts."""
    properties = {**dict.fromkeys(names, TEXT), **others}
    return {
        "type": "object",
        "properties": properties,
        "required": list(names),
        "additionalProperties": False,
    }


def key_lookup(table: str, argument: str) -> dict[str, Any]:
    return {table: {"table": table, "equals": f"$args.{argument}"}}


DESK_SPEC = {
    "service": "desk",
    "tools": {
        "get_ticket": {"name": "get_ticket", "input_schema": schema("ticket_id")},
        "create_ticket": {
            "name": "create_ticket",
            "input_schema": schema("subject", "priority", notes=TEXT, hours={"type": "integer"}),
        },
        "update_ticket": {
            "name": "update_ticket",
            "input_schema": schema("ticket_id", status=TEXT, priority=TEXT),
        },
        "append_notes": {"name": "append_notes", "input_schema": schema("ticket_id", "notes")},
        "add_comment": {"name": "add_comment", "input_schema": schema("ticket_id", "body")},
        "delete_ticket": {"name": "delete_ticket", "input_schema": schema("ticket_id")},
        "set_tags": {
            "name": "set_tags",
            "input_schema": schema("ticket_id", tags={"type": "array", "items": TEXT}),
        },
    },
}

DESK = {
    "service": "desk",
    "entities": {
        "ticket": {
            "prefix": "tkt",
            "fields": {
                "id": FIELD_TEXT,
                "subject": FIELD_TEXT,
                "status": {
                    "type": "string",
                    "enum": ["open", "pending", "closed"],
                    "required": False,
                    "default": "open",
                },
                "priority": {"type": "string", "enum": ["low", "normal", "high"]},
                "notes": {"type": "string", "free_text": True, "required": False, "default": ""},
                "tags": {"type": "array", "required": False, "default": []},
                "hours": {"type": "integer", "required": False, "default": 0},
                "updated_at": FIELD_TIME,
            },
        },
        "comment": {
            "prefix": "com",
            "fields": {
                "id": FIELD_TEXT,
                "ticket_id": {"type": "string", "link": "desk.ticket"},
                "body": {"type": "string", "free_text": True},
                "created_at": FIELD_TIME,
            },
        },
    },
    "tools": {
        "get_ticket": {
            "operation": "get",
            "functional": "read",
            "lookups": key_lookup("ticket", "ticket_id"),
            "result": "$ticket",
        },
        "create_ticket": {
            "operation": "create",
            "functional": "write",
            "effects": {
                "created": {
                    "action": "create",
                    "table": "ticket",
                    "fields": {
                        "subject": "$args.subject",
                        "priority": "$args.priority",
                        "notes": "$args.notes",
                        "hours": "$args.hours",
                    },
                }
            },
            "result": "$created",
        },
        "update_ticket": {
            "operation": "update",
            "functional": "write",
            "lookups": key_lookup("ticket", "ticket_id"),
            "effects": {
                "updated": {
                    "action": "update",
                    "table": "ticket",
                    "target": "ticket",
                    "fields": {
                        "status": {"@coalesce": ["$args.status", "$ticket.status"]},
                        "priority": {"@coalesce": ["$args.priority", "$ticket.priority"]},
                        "updated_at": "$now",
                    },
                }
            },
            "result": "$updated",
        },
        "append_notes": {
            "operation": "append",
            "functional": "write",
            "lookups": key_lookup("ticket", "ticket_id"),
            "effects": {
                "updated": {
                    "action": "update",
                    "table": "ticket",
                    "target": "ticket",
                    "fields": {"notes": {"@concat": ["$ticket.notes", "\n", "$args.notes"]}},
                }
            },
            "result": "$updated",
        },
        "add_comment": {
            "operation": "create",
            "functional": "write",
            "lookups": key_lookup("ticket", "ticket_id"),
            "effects": {
                "created": {
                    "action": "create",
                    "table": "comment",
                    "fields": {"ticket_id": "$ticket.id", "body": "$args.body"},
                }
            },
            "result": "$created",
        },
        "delete_ticket": {
            "operation": "delete",
            "functional": "write",
            "lookups": key_lookup("ticket", "ticket_id"),
            "effects": {"gone": {"action": "delete", "table": "ticket", "target": "ticket"}},
        },
        "set_tags": {
            "operation": "update",
            "functional": "write",
            "lookups": key_lookup("ticket", "ticket_id"),
            "effects": {
                "updated": {
                    "action": "update",
                    "table": "ticket",
                    "target": "ticket",
                    "fields": {"tags": "$args.tags"},
                }
            },
        },
    },
}

MAIL_SPEC = {
    "service": "mail",
    "tools": {
        "send": {"name": "send", "input_schema": schema("to", "subject", "body")},
        "list_messages": {"name": "list_messages", "input_schema": schema()},
    },
}

MAIL = {
    "service": "mail",
    "entities": {
        "message": {
            "prefix": "msg",
            "fields": {
                "id": FIELD_TEXT,
                "to": FIELD_TEXT,
                "subject": FIELD_TEXT,
                "about": {"type": "string", "nullable": True, "required": False, "default": None},
                "body": {"type": "string", "free_text": True},
                "sent_at": FIELD_TIME,
            },
        }
    },
    "tools": {
        "send": {
            "operation": "create",
            "functional": "write",
            "effects": {
                "sent": {
                    "action": "create",
                    "table": "message",
                    "fields": {"to": "$args.to", "subject": "$args.subject", "body": "$args.body"},
                }
            },
            "result": "$sent",
        },
        "list_messages": {
            "operation": "list",
            "functional": "read",
            "query": {"table": "message"},
            "result": {"messages": "$rows"},
        },
    },
}

CLOSED_NOTICE = {
    "text": "When a ticket is closed, the desk mails a notice.",
    "on": {
        "service": "desk",
        "table": "ticket",
        "event": "update",
        "when": {
            "@and": [
                {"@ne": ["$before.status", "closed"]},
                {"@eq": ["$after.status", "closed"]},
            ]
        },
    },
    "writes": {
        "notice": {
            "service": "mail",
            "table": "message",
            "action": "create",
            "fields": {
                "to": "desk@example.com",
                "subject": {"@concat": ["Closed: ", "$after.subject"]},
                "about": "$after.id",
                "body": {"@concat": ["Ticket ", "$after.id", " was closed."]},
            },
        }
    },
}


def ticket(row_id: str, subject: str, **others: Any) -> dict[str, Any]:
    return {
        "id": row_id,
        "subject": subject,
        "status": "open",
        "priority": "normal",
        "notes": "",
        "tags": [],
        "hours": 0,
        "updated_at": "2025-02-01T00:00:00Z",
        **others,
    }


SEED = {
    "desk": {
        "ticket": {
            "tkt_1": ticket("tkt_1", "Printer jam", notes="Seen by Ana."),
            "tkt_2": ticket("tkt_2", "Slow network", tags=["lan", "slow"]),
            "tkt_3": ticket("tkt_3", "Lost badge", priority="low"),
        },
        "comment": {},
    },
    "mail": {"message": {}},
}


def system(rubric: Rubric | None = None, **settings: Any) -> System:
    """Return the two services with their reaction, and the rubric of task `t_1`."""
    specs = {"desk": DESK_SPEC, "mail": MAIL_SPEC}
    blueprints = {"desk": DESK, "mail": MAIL}
    environment = Environment(
        blueprints=FrozenDict(
            {name: Blueprint.model_validate(item) for name, item in blueprints.items()}
        ),
        seeds=FrozenDict(
            {
                name: SeedData.model_validate({"service": name, "tables": tables})
                for name, tables in SEED.items()
            }
        ),
        reactions=FrozenDict({"closed_notice": Reaction.model_validate(CLOSED_NOTICE)}),
    )
    return System(
        environment=environment,
        harness=HarnessSettings(
            system_prompt="",
            user_prompt="",
            observation="",
            invalid_call_feedback="",
            parsers=FrozenDict(),
        ),
        evaluator=Evaluator(
            settings=EvaluatorSettings.model_validate(settings),
            rubrics=FrozenDict({} if rubric is None else {rubric.task_id: rubric}),
        ),
        reference=Reference(
            specs=FrozenDict(
                {name: ServiceSpec.model_validate(item) for name, item in specs.items()}
            )
        ),
    )


@dataclass(frozen=True)
class Call:
    """One call to be made."""

    tool: str
    arguments: dict[str, Any]


def call(tool: str, **arguments: Any) -> Call:
    """Return one call, with the tool's name as `service.tool`."""
    return Call(tool, arguments)


def task(
    gold: Mapping[str, tuple[str, Mapping[str, Any]]] | None = None,
    instruction: str = "Do it.",
    **others: Any,
) -> Task:
    """Return task `t_1`. `gold`: step -> (`service.tool`, pointer -> provenance)."""
    steps = {}
    for name, (tool, arguments) in (gold or {}).items():
        service, _, short = tool.partition(".")
        steps[name] = {"service": service, "tool": short, "arguments": arguments}
    body = {
        "task_id": "t_1",
        "seed": 1,
        "instruction": instruction,
        "demands": {},
        "world": {"services": ["desk", "mail"], "now": NOW},
        "gold": steps,
        "answer_schema": {"type": "object"},
    }
    return Task.model_validate({**body, **others})


def world() -> World:
    """Return the world of task `t_1`."""
    return build_world(system(), task().world)


@dataclass(frozen=True)
class Played:
    """What a list of calls did."""

    records: tuple[CallRecord, ...]
    final: WorldState


def play(*calls: Call) -> Played:
    """Execute calls on the world of task `t_1`; `#n.field` is a field of the nth answer's data."""
    here = world()
    state = here.initial
    records: list[CallRecord] = []
    for item in calls:
        arguments = {key: _filled(value, records) for key, value in item.arguments.items()}
        service, _, tool = item.tool.partition(".")
        state, record = call_recorded(here, state, service, tool, freeze(arguments))
        assert record.envelope["ok"], record.envelope
        records.append(record)
    return Played(tuple(records), state)


def _filled(value: Any, records: Sequence[CallRecord]) -> Any:
    if not isinstance(value, str) or not value.startswith("#"):
        return value
    number, _, field = value[1:].partition(".")
    return records[int(number)].envelope["data"][field]


def trajectory(
    *calls: Call,
    answer: Mapping[str, Any] | None = None,
    rollout_id: str = "r_1",
    failure: Failure | None = None,
    **others: Any,
) -> Trajectory:
    """Return the record of an episode that made these calls, one a turn, and finished."""
    played = play(*calls)
    turns = tuple(
        Turn(
            index=index,
            raw_text="",
            policy_version="scripted",
            calls=(
                ParsedCall(
                    call_id=f"c{index}",
                    name=f"{record.service}__{record.tool}",
                    arguments=record.arguments,
                    parser="hermes",
                ),
            ),
            observations=(Observation(call_id=f"c{index}", call=record, shown=""),),
        )
        for index, record in enumerate(played.records)
    )
    body: dict[str, Any] = {
        "rollout_id": rollout_id,
        "task_id": "t_1",
        "group_index": 0,
        "seed": 1,
        "simulated": True,
        "component_hashes": {},
        "system_text": "",
        "user_text": "",
        "turns": turns,
        "stop_reason": StopReason.FINISHED if failure is None else StopReason.FAILURE,
        "failure": failure,
        "answer": None if answer is None else json_object(answer),
        "initial_state": state_hash(world().initial),
        "final_state": state_hash(played.final),
    }
    return Trajectory.model_validate({**body, **others})


def json_object(values: Mapping[str, Any]) -> JsonObject:
    """Return a frozen JSON object."""
    frozen: JsonObject = freeze(values)
    return frozen
