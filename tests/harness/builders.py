"""A tiny world of two services, one task in it, and fakes for the seams of the harness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.environment.engine import call_recorded
from components.environment.state import WorldState
from components.environment.world import World, build_world
from components.harness.defaults import default_harness
from components.harness.episode import run_rollout
from components.harness.policy import Policy, PolicyReply, PolicyRequest, RolloutPlan
from components.records.blueprint import Blueprint, SeedData
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict
from components.records.harness import HarnessSettings, Limits
from components.records.spec import ServiceSpec
from components.records.system import Environment, Reference, System
from components.records.task import Task
from components.records.trajectory import Trajectory
from components.records.world import Reaction

NOW = "2026-03-02T09:00:00Z"
INSTRUCTION = (
    "Tell the customer of order ord_a1 by mail that it is 'ready & waiting', then read the "
    "order's note again, set the order to done, and report the note and the customer."
)


def _schema(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


_TEXT = {"type": "string"}
_ORDER_FIELDS: dict[str, Any] = {
    "id": {"type": "string"},
    "customer": {"type": "string"},
    "status": {"type": "string", "enum": ("open", "done", "lost")},
    "quantity": {"type": "integer"},
    "note": {"type": "string"},
}
_FIND_ORDER = {"order": {"table": "order", "equals": "$args.order_id"}}

SHOP_SPEC = ServiceSpec.model_validate(
    {
        "service": "shop",
        "tools": {
            "get_order": {
                "name": "get_order",
                "description": "Read one order.",
                "input_schema": _schema(("order_id",), order_id=_TEXT),
            },
            "list_orders": {
                "name": "list_orders",
                "description": "Read all orders.",
                "input_schema": _schema((), limit={"type": "integer", "default": 20}),
            },
            "set_status": {
                "name": "set_status",
                "description": "Set an order's status.",
                "input_schema": _schema(
                    ("order_id", "status"),
                    order_id=_TEXT,
                    status={"enum": ("open", "done", "lost")},
                    tags={"type": "array", "items": _TEXT},
                ),
            },
        },
    }
)
SHOP_BLUEPRINT = Blueprint.model_validate(
    {
        "service": "shop",
        "entities": {"order": {"prefix": "ord", "fields": _ORDER_FIELDS}},
        "tools": {
            "get_order": {
                "operation": "get",
                "functional": "read",
                "lookups": _FIND_ORDER,
                "result": {"order": "$order"},
            },
            "list_orders": {
                "operation": "list",
                "functional": "read",
                "query": {"table": "order", "limit": "$args.limit"},
                "result": {"orders": "$rows"},
            },
            "set_status": {
                "operation": "update",
                "functional": "write",
                "lookups": _FIND_ORDER,
                "effects": {
                    "set": {
                        "action": "update",
                        "table": "order",
                        "target": "order",
                        "fields": {"status": "$args.status"},
                    }
                },
                "result": {"order": "$set"},
            },
        },
    }
)
MAIL_SPEC = ServiceSpec.model_validate(
    {
        "service": "mail",
        "tools": {
            "send": {
                "name": "send",
                "description": "Send a mail about an order.",
                "input_schema": _schema(
                    ("to", "order_id", "body"), to=_TEXT, order_id=_TEXT, body=_TEXT
                ),
            }
        },
    }
)
MAIL_BLUEPRINT = Blueprint.model_validate(
    {
        "service": "mail",
        "entities": {
            "message": {
                "prefix": "msg",
                "fields": {name: {"type": "string"} for name in ("id", "to", "order_id", "body")},
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
                        "fields": {
                            "to": "$args.to",
                            "order_id": "$args.order_id",
                            "body": "$args.body",
                        },
                    }
                },
                "result": {"message": "$sent"},
            }
        },
    }
)
_REACTION = Reaction.model_validate(
    {
        "text": "A mail about an order is noted on the order.",
        "on": {"service": "mail", "table": "message", "event": "create"},
        "writes": {
            "note": {
                "service": "shop",
                "table": "order",
                "action": "update",
                "where": {"@eq": ["$item.id", "$after.order_id"]},
                "fields": {"note": {"@concat": ["mailed ", "$after.to"]}},
            }
        },
    }
)


def _order(row_id: str, customer: str) -> dict[str, Any]:
    return {
        "id": row_id,
        "customer": customer,
        "status": "open",
        "quantity": 3,
        "note": "no news",
    }


SHOP_SEED = SeedData.model_validate(
    {
        "service": "shop",
        "tables": {
            "order": {
                "ord_a1": _order("ord_a1", "ann@example.com"),
                "ord_b2": _order("ord_b2", "bob@example.com"),
            }
        },
    }
)
MAIL_SEED = SeedData.model_validate({"service": "mail", "tables": {}})


def span(words: str, instruction: str = INSTRUCTION) -> dict[str, Any]:
    """Provenance of words of the instruction."""
    start = instruction.index(words)
    return {"kind": "instruction", "start": start, "end": start + len(words)}


def seen(step: str, *path: str | int) -> dict[str, Any]:
    """Provenance of a value in an earlier answer."""
    return {"kind": "observation", "step": step, "path": path}


def make_task(**changes: Any) -> Task:
    """The task: write a mail, read the order again, close it, answer."""
    body: dict[str, Any] = {
        "task_id": "t_ready",
        "seed": 1,
        "instruction": INSTRUCTION,
        "demands": {},
        "world": {"services": ("mail", "shop"), "now": NOW},
        "gold": {
            "s01": {
                "service": "shop",
                "tool": "get_order",
                "arguments": {"/order_id": span("ord_a1")},
            },
            "s02": {
                "service": "mail",
                "tool": "send",
                "arguments": {
                    "/to": seen("s01", "order", "customer"),
                    "/order_id": span("ord_a1"),
                    "/body": span("ready & waiting"),
                },
            },
            "s03": {
                "service": "shop",
                "tool": "get_order",
                "arguments": {"/order_id": span("ord_a1")},
                "revisit_of": "s01",
            },
            "s04": {
                "service": "shop",
                "tool": "set_status",
                "arguments": {"/order_id": span("ord_a1"), "/status": span("done")},
            },
        },
        "answer": {
            "note": seen("s03", "order", "note"),
            "customer": seen("s01", "order", "customer"),
        },
        "answer_schema": {
            **_schema(("note", "customer"), note=_TEXT, customer=_TEXT),
            "additionalProperties": False,
        },
    }
    return Task.model_validate({**body, **changes})


def make_system(settings: HarnessSettings | None = None, task: Task | None = None) -> System:
    """The system around the task."""
    found = task or make_task()
    return System(
        environment=Environment(
            blueprints=FrozenDict({"shop": SHOP_BLUEPRINT, "mail": MAIL_BLUEPRINT}),
            seeds=FrozenDict({"shop": SHOP_SEED, "mail": MAIL_SEED}),
            reactions=FrozenDict({"noted": _REACTION}),
        ),
        tasks=FrozenDict({found.task_id: found}),
        harness=settings or default_harness(),
        reference=Reference(specs=FrozenDict({"shop": SHOP_SPEC, "mail": MAIL_SPEC})),
    )


def make_settings(*, limits: Mapping[str, int] | None = None, **changes: Any) -> HarnessSettings:
    """The seed harness with other limits or settings."""
    base = default_harness()
    new_limits = Limits.model_validate({**base.limits.model_dump(), **(limits or {})})
    return base.model_copy(update={"limits": new_limits, **changes})


class PlainSession:
    """A session in memory: no journal, no deadline."""

    def __init__(self, world: World) -> None:
        """Args: world, whose initial state this begins with."""
        self.world = world
        self.state: WorldState = world.initial
        self.keys: list[str | None] = []

    def call(
        self, service: str, tool: str, arguments: Mapping[str, Any], key: str | None = None
    ) -> CallRecord:
        """Execute one call."""
        self.keys.append(key)
        self.state, record = call_recorded(self.world, self.state, service, tool, arguments)
        return record


class Says:
    """A policy that says given texts, the last one for ever."""

    version = "says-v1"
    simulated = True

    def __init__(self, *texts: str) -> None:
        """Args: texts, one a turn."""
        self.texts = texts
        self.requests: list[PolicyRequest] = []

    async def act(self, request: PolicyRequest) -> PolicyReply:
        """Say the text of this turn."""
        self.requests.append(request)
        return PolicyReply(text=self.texts[min(request.turn_index, len(self.texts) - 1)])


async def play(
    policy: Policy,
    *,
    settings: HarnessSettings | None = None,
    task: Task | None = None,
    seed: int = 0,
    session: Any = None,
) -> Trajectory:
    """Run one rollout of the task."""
    found = task or make_task()
    system = make_system(settings, found)
    world = build_world(system, found.world)
    plan = RolloutPlan(
        rollout_id="r1", group_index=0, seed=seed, component_hashes=FrozenDict({"harness": "h"})
    )
    return await run_rollout(system, world, found, policy, plan, session or PlainSession(world))
