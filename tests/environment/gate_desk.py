"""A small service with written rules, on which tests plant defects."""

from __future__ import annotations

from typing import Any

from components.records.blueprint import Blueprint, SeedData
from components.records.spec import ServiceSpec

TICKET = {"table": "ticket", "equals": "$args.ticket_id"}
ID = {"type": "string"}
PRIORITY = {"type": "string", "enum": ["low", "high"]}


def _schema(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _returned(**more: Any) -> dict[str, Any]:
    return {"ticket": {"text": "The ticket.", "key": "ticket", "table": "ticket", **more}}


def desk_spec() -> dict[str, Any]:
    """Return the spec as JSON."""
    exists = {"text": "The ticket must exist.", "rows": {"ticket": TICKET}}
    is_open = {
        "text": "Only an open ticket can be closed.",
        "rows": {"ticket": TICKET},
        "requires": {"@eq": ["$ticket.status", "open"]},
    }
    works = {
        "text": "The person must work here.",
        "rows": {"person": {"table": "person", "equals": "$args.person_id"}},
        "requires": {"@eq": ["$person.active", True]},
        "code": "permission_denied",
    }
    tools: dict[str, Any] = {
        "create_ticket": {
            "input_schema": _schema(["title", "priority"], title=ID, priority=PRIORITY),
            "effects": {
                "new": {
                    "text": "A new open ticket with that title and priority.",
                    "action": "create",
                    "table": "ticket",
                    "fields": {
                        "title": "$args.title",
                        "priority": "$args.priority",
                        "status": "open",
                    },
                }
            },
        },
        "get_ticket": {
            "input_schema": _schema(["ticket_id"], ticket_id=ID),
            "rules": {"exists": exists},
            "returns": _returned(row=TICKET),
        },
        "list_tickets": {
            "input_schema": _schema([], status={"type": "string", "enum": ["open", "closed"]}),
            "returns": {
                "tickets": {
                    "text": "All tickets, or those with the given status.",
                    "key": "tickets",
                    "table": "ticket",
                    "where": {
                        "status": {
                            "@or": [
                                {"@is_null": "$args.status"},
                                {"@eq": ["$item.status", "$args.status"]},
                            ]
                        }
                    },
                }
            },
        },
        "update_ticket": {
            "input_schema": _schema(["ticket_id"], ticket_id=ID, title=ID, priority=PRIORITY),
            "rules": {"exists": exists},
            "effects": {
                "change": {
                    "text": "Title and priority become what is given.",
                    "action": "update",
                    "table": "ticket",
                    "row": TICKET,
                    "fields": {
                        "title": {"@coalesce": ["$args.title", "$row.title"]},
                        "priority": {"@coalesce": ["$args.priority", "$row.priority"]},
                    },
                }
            },
        },
        "close_ticket": {
            "input_schema": _schema(["ticket_id", "reason"], ticket_id=ID, reason=ID),
            "rules": {"is_open": is_open},
            "effects": {
                "close": {
                    "text": "The ticket is closed for that reason.",
                    "action": "update",
                    "table": "ticket",
                    "row": TICKET,
                    "fields": {"status": "closed", "reason": "$args.reason"},
                }
            },
        },
        "assign_ticket": {
            "input_schema": _schema(["ticket_id", "person_id"], ticket_id=ID, person_id=ID),
            "rules": {"exists": exists, "works": works},
            "effects": {
                "assign": {
                    "text": "The ticket belongs to the person.",
                    "action": "update",
                    "table": "ticket",
                    "row": TICKET,
                    "fields": {"person_id": "$args.person_id"},
                }
            },
        },
        "delete_ticket": {
            "input_schema": _schema(["ticket_id"], ticket_id=ID),
            "rules": {"exists": exists},
            "effects": {
                "gone": {
                    "text": "The ticket is gone.",
                    "action": "delete",
                    "table": "ticket",
                    "row": TICKET,
                }
            },
        },
    }
    for name, tool in tools.items():
        tool.update(name=name, complete=True)
    return {"service": "desk", "tools": tools}


def desk_blueprint() -> dict[str, Any]:
    """Return a blueprint that keeps every rule of the spec, as JSON."""
    ticket = {"ticket": {"table": "ticket", "equals": "$args.ticket_id"}}
    person = {"person": {"table": "person", "equals": "$args.person_id"}}

    def update(**fields: Any) -> dict[str, Any]:
        return {"action": "update", "table": "ticket", "target": "ticket", "fields": fields}

    def tool(operation: str, functional: str, difficulty: int, **parts: Any) -> dict[str, Any]:
        return {
            "operation": operation,
            "functional": functional,
            "entity": "ticket",
            "difficulty": difficulty,
            **parts,
        }

    text = {"type": "string"}
    fields = {
        "id": text,
        "title": text,
        "priority": {"type": "string", "enum": ["low", "high"]},
        "status": {"type": "string", "enum": ["open", "closed"], "default": "open"},
        "reason": {"type": "string", "nullable": True},
        "person_id": {"type": "string", "nullable": True, "link": "desk.person"},
    }
    people = {"id": text, "name": text, "active": {"type": "boolean"}}
    new = {"title": "$args.title", "priority": "$args.priority", "status": "open"}
    tools = {
        "create_ticket": tool(
            "create",
            "write",
            2,
            effects={"new": {"action": "create", "table": "ticket", "fields": new}},
            result={"ticket": "$new"},
        ),
        "get_ticket": tool("get", "read", 2, lookups=ticket, result={"ticket": "$ticket"}),
        "list_tickets": tool(
            "list",
            "read",
            2,
            query={
                "table": "ticket",
                "where": {
                    "status": {
                        "@if": [
                            {"@is_null": "$args.status"},
                            None,
                            {"@eq": ["$item.status", "$args.status"]},
                        ]
                    }
                },
            },
            result={"tickets": "$rows"},
        ),
        "update_ticket": tool(
            "update",
            "write",
            3,
            lookups=ticket,
            effects={
                "change": update(
                    title={"@coalesce": ["$args.title", "$item.title"]},
                    priority={"@coalesce": ["$args.priority", "$item.priority"]},
                )
            },
            result={"ticket": "$change"},
        ),
        "close_ticket": tool(
            "transition",
            "write",
            3,
            lookups=ticket,
            checks={
                "is_open": {
                    "holds": {"@eq": ["$ticket.status", "open"]},
                    "message": "Only an open ticket can be closed.",
                }
            },
            effects={"close": update(status="closed", reason="$args.reason")},
            result={"ticket": "$close"},
        ),
        "assign_ticket": tool(
            "link",
            "write",
            4,
            lookups={**ticket, **person},
            checks={
                "works": {
                    "holds": {"@eq": ["$person.active", True]},
                    "code": "permission_denied",
                    "message": "The person must work here.",
                }
            },
            effects={"assign": update(person_id="$args.person_id")},
            result={"ticket": "$assign"},
        ),
        "delete_ticket": tool(
            "delete",
            "write",
            2,
            lookups=ticket,
            effects={"gone": {"action": "delete", "table": "ticket", "target": "ticket"}},
            result={"id": "$args.ticket_id"},
        ),
    }
    return {
        "service": "desk",
        "entities": {
            "ticket": {"prefix": "tkt", "title_field": "title", "fields": fields},
            "person": {"prefix": "per", "fields": people},
        },
        "tools": tools,
    }


def desk_seed() -> dict[str, Any]:
    """Return seed rows, as JSON. All tickets but one are open: a breach has to be looked for."""
    people = {
        f"per_{i}": {"id": f"per_{i}", "name": name, "active": i != 3}
        for i, name in enumerate(("Ada", "Ben", "Chloe", "Dev"), 1)
    }
    tickets = {
        f"tkt_{i}": {
            "id": f"tkt_{i}",
            "title": f"Problem {i}",
            "priority": "low" if i % 2 else "high",
            "status": "closed" if i == 4 else "open",
            "reason": "done" if i == 4 else None,
            "person_id": "per_1" if i == 2 else None,
        }
        for i in range(1, 6)
    }
    return {"service": "desk", "tables": {"ticket": tickets, "person": people}}


def desk(blueprint: dict[str, Any] | None = None) -> tuple[ServiceSpec, Blueprint, SeedData]:
    """Return the service as records."""
    return (
        ServiceSpec.model_validate(desk_spec()),
        Blueprint.model_validate(blueprint or desk_blueprint()),
        SeedData.model_validate(desk_seed()),
    )
