"""A small world for tests of the engine: a desk of tickets, an agenda, reactions between them."""

from __future__ import annotations

from typing import Any

from components.environment.world import World, build_world
from components.records.blueprint import Blueprint, SeedData
from components.records.frozen import FrozenDict
from components.records.harness import HarnessSettings
from components.records.spec import ServiceSpec
from components.records.system import Environment, Reference, System
from components.records.world import Reaction, WorldSpec

NOW = "2026-01-01T09:00:00Z"
_TEXT = {"type": "string"}
# A world has no harness, but the system that it is built from does.
_HARNESS = HarnessSettings(
    system_prompt="", user_prompt="", observation="", invalid_call_feedback="", parsers=FrozenDict()
)


def schema(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """A closed object schema."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def service(
    name: str, tools: dict[str, tuple[dict[str, Any], dict[str, Any]]], entities: dict[str, Any]
) -> tuple[ServiceSpec, Blueprint]:
    """A spec and a blueprint from tool name -> (input schema, tool blueprint without classes)."""
    spec = {
        tool: {"name": tool, "input_schema": input_schema}
        for tool, (input_schema, _) in tools.items()
    }
    bodies = {
        tool: {"operation": "update", "functional": "write", **body}
        for tool, (_, body) in tools.items()
    }
    return (
        ServiceSpec.model_validate({"service": name, "tools": spec}),
        Blueprint.model_validate({"service": name, "entities": entities, "tools": bodies}),
    )


TICKET_FIELDS: dict[str, Any] = {
    "id": _TEXT,
    "subject": _TEXT,
    "status": {"type": "string", "enum": ["open", "closed"], "default": "open"},
    "count": {"type": "integer", "default": 0},
    "cost": {"type": "number", "default": 0},
    "tags": {"type": "array", "default": []},
    "extra": {"type": "object", "default": {}},
    "due": {"type": "timestamp", "nullable": True, "default": None},
}
TICKET_LOOKUP = {"ticket": {"table": "ticket", "equals": "$args.id"}}


def changer(fields: dict[str, Any]) -> dict[str, Any]:
    """A tool that changes fields of the ticket named by `id`."""
    effect = {"action": "update", "table": "ticket", "target": "ticket", "fields": fields}
    return {
        "lookups": TICKET_LOOKUP,
        "effects": {"changed": effect},
        "result": {"ticket": "$changed"},
    }


DESK_TOOLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "create": (
        schema(("subject",), subject={**_TEXT, "minLength": 1}, tags={"type": "array"}),
        {
            "effects": {
                "created": {
                    "action": "create",
                    "table": "ticket",
                    "fields": {"subject": "$args.subject", "tags": "$args.tags"},
                }
            },
            "result": {"ticket": "$created"},
        },
    ),
    "get": (schema(("id",), id=_TEXT), {"lookups": TICKET_LOOKUP, "result": "$ticket"}),
    "close": (
        schema(("id",), id=_TEXT),
        {
            **changer({"status": "closed"}),
            "checks": {
                "open": {"holds": {"@eq": ["$ticket.status", "open"]}, "message": "it is closed"}
            },
        },
    ),
    "count_up": (schema(("id",), id=_TEXT), changer({"count": {"@add": ["$item.count", 1]}})),
    "set": (schema(("id",), id=_TEXT, subject=_TEXT), changer({"subject": "$args.subject"})),
    "set_extra": (
        schema(("id", "extra"), id=_TEXT, extra={"type": "object"}),
        changer({"extra": "$args.extra"}),
    ),
    "set_cost": (
        schema(("id", "cost"), id=_TEXT, cost={"type": "number"}),
        changer({"cost": "$args.cost"}),
    ),
    "set_count": (
        schema(("id", "count"), id=_TEXT, count={"type": "integer"}),
        changer({"count": "$args.count"}),
    ),
    "delete": (
        schema(("id",), id=_TEXT),
        {
            "lookups": TICKET_LOOKUP,
            "effects": {"gone": {"action": "delete", "table": "ticket", "target": "ticket"}},
            "result": {"deleted": "$ticket.id"},
        },
    ),
    "list": (
        schema(status=_TEXT, limit={"type": "integer", "default": 2}, cursor=_TEXT),
        {
            "query": {
                "table": "ticket",
                "where": {
                    "status": {
                        "@if": [
                            {"@given": "status"},
                            {"@eq": ["$item.status", "$args.status"]},
                            None,
                        ]
                    }
                },
                "limit": "$args.limit",
                "cursor": "$args.cursor",
                "fields": ["id"],
            },
            "result": {"rows": "$rows", "total": "$total", "next": "$next_cursor"},
        },
    ),
    "close_all": (
        schema(),
        {
            "effects": {
                "closed": {
                    "action": "update",
                    "table": "ticket",
                    "where": {"@eq": ["$item.status", "open"]},
                    "fields": {"status": "closed"},
                }
            },
            "result": {"closed": {"@len": "$closed"}},
        },
    ),
}
DESK_ENTITIES: dict[str, Any] = {"ticket": {"prefix": "tkt", "fields": TICKET_FIELDS}}
AGENDA_ENTITIES: dict[str, Any] = {
    "item": {
        "prefix": "itm",
        "fields": {
            "id": _TEXT,
            "about": _TEXT,
            "state": {"type": "string", "default": "planned"},
            "steps": {"type": "integer", "default": 0},
        },
    }
}


def ticket(row_id: str, **values: Any) -> dict[str, Any]:
    """A ticket row."""
    row: dict[str, Any] = {"id": row_id, "subject": f"about {row_id}", "status": "open"}
    return {**row, "count": 0, "cost": 0, "tags": [], "extra": {}, "due": None, **values}


def world_of(
    *parts: tuple[ServiceSpec, Blueprint],
    rows: dict[str, dict[str, dict[str, Any]]] | None = None,
    reactions: dict[str, Any] | None = None,
    overrides: dict[str, Any] | None = None,
) -> World:
    """A world of services, with rows by service and table."""
    names = [spec.service for spec, _ in parts]
    system = System(
        environment=Environment(
            blueprints={spec.service: blueprint for spec, blueprint in parts},
            seeds={
                name: SeedData.model_validate(
                    {"service": name, "tables": (rows or {}).get(name, {})}
                )
                for name in names
            },
            reactions={
                name: Reaction.model_validate(body) for name, body in (reactions or {}).items()
            },
        ),
        harness=_HARNESS,
        reference=Reference(specs={spec.service: spec for spec, _ in parts}),
    )
    spec = WorldSpec.model_validate(
        {"services": sorted(names), "now": NOW, "overrides": overrides or {}}
    )
    return build_world(system, spec)


def desk_world(num_tickets: int = 3, **more: tuple[dict[str, Any], dict[str, Any]]) -> World:
    """A world of the desk alone, with tickets `t0`, `t1`, ... and further tools."""
    tickets = {f"t{place}": ticket(f"t{place}") for place in range(num_tickets)}
    part = service("desk", {**DESK_TOOLS, **more}, DESK_ENTITIES)
    return world_of(part, rows={"desk": {"ticket": tickets}})
