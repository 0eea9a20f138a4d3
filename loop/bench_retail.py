"""A shop to measure in: users, orders and products, of any size, as benchmarks' shops have them.

Owns the world and the calls of one episode (find the user, read user and order, change the order's
address, read the order again). Nothing of this is offered to a policy.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from components.environment.world import World, build_service_world
from components.records.blueprint import Blueprint, SeedData
from components.records.spec import ServiceSpec

SERVICE = "shop"
NOW = "2026-01-15T09:00:00Z"
_ADDRESS = ("address1", "address2", "city", "country", "state", "zip")
_TEXT = {"type": "string"}
_OBJECT = {"type": "object"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopCall:
    """One call of an episode."""

    tool: str
    arguments: dict[str, Any]


def build_shop(num_users: int, seed: int) -> World:
    """Build a shop: 500 users (and twice as many orders) come to about 1.4 MB of JSON."""
    return build_service_world(_spec(), _blueprint(), _seed(num_users, seed), NOW)


def episode_calls(num_users: int, episode: int) -> tuple[ShopCall, ...]:
    """Return the five calls of one episode; episodes differ in user, order and address."""
    user = episode % num_users
    order = {"order_id": f"#W{2 * user:07d}"}
    address = {part: f"{part} {episode}" for part in _ADDRESS}
    return (
        ShopCall(tool="find_user_id_by_email", arguments={"email": _email(user)}),
        ShopCall(tool="get_user_details", arguments={"user_id": f"user_{user:05d}"}),
        ShopCall(tool="get_order_details", arguments=order),
        ShopCall(tool="modify_pending_order_address", arguments={**order, **address}),
        ShopCall(tool="get_order_details", arguments=order),
    )


def _schema(*names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict.fromkeys(names, _TEXT),
        "required": list(names),
        "additionalProperties": False,
    }


def _spec() -> ServiceSpec:
    schemas = {
        "find_user_id_by_email": _schema("email"),
        "get_user_details": _schema("user_id"),
        "get_order_details": _schema("order_id"),
        "modify_pending_order_address": _schema("order_id", *_ADDRESS),
    }
    tools = {name: {"name": name, "input_schema": schema} for name, schema in schemas.items()}
    return ServiceSpec.model_validate({"service": SERVICE, "tools": tools})


def _blueprint() -> Blueprint:
    user = {"user_id": _TEXT, "name": _OBJECT, "address": _OBJECT, "email": _TEXT}
    user |= {"payment_methods": _OBJECT, "orders": {"type": "array"}}
    order = {"order_id": _TEXT, "user_id": _TEXT, "address": _OBJECT, "items": {"type": "array"}}
    order |= {"status": _TEXT, "fulfillments": {"type": "array"}}
    order |= {"payment_history": {"type": "array"}}
    product = {"product_id": _TEXT, "name": _TEXT, "variants": _OBJECT}
    order_lookup = {"order": {"table": "order", "equals": "$args.order_id"}}
    return Blueprint.model_validate(
        {
            "service": SERVICE,
            "entities": {
                "user": {"key": "user_id", "generated_key": False, "fields": user},
                "order": {"key": "order_id", "generated_key": False, "fields": order},
                "product": {"key": "product_id", "generated_key": False, "fields": product},
            },
            "tools": {
                "find_user_id_by_email": _reader(
                    {"user": {"table": "user", "field": "email", "equals": "$args.email"}},
                    {"user_id": "$user.user_id"},
                ),
                "get_user_details": _reader(
                    {"user": {"table": "user", "equals": "$args.user_id"}}, {"user": "$user"}
                ),
                "get_order_details": _reader(order_lookup, {"order": "$order"}),
                "modify_pending_order_address": {
                    "operation": "update",
                    "functional": "write",
                    "lookups": order_lookup,
                    "checks": {
                        "pending": {
                            "holds": {"@eq": ["$order.status", "pending"]},
                            "message": "only pending orders can be changed",
                        }
                    },
                    "effects": {
                        "moved": {
                            "action": "update",
                            "table": "order",
                            "target": "order",
                            "fields": {"address": {part: f"$args.{part}" for part in _ADDRESS}},
                        }
                    },
                    "result": {"order": "$moved"},
                },
            },
        }
    )


def _reader(lookups: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    return {"operation": "get", "functional": "read", "lookups": lookups, "result": result}


def _seed(num_users: int, seed: int) -> SeedData:
    draw = random.Random(f"{seed}:shop")
    users, orders, products = {}, {}, {}
    for number in range(max(1, num_users // 10)):
        product_id = f"{number:010d}"
        products[product_id] = {
            "product_id": product_id,
            "name": f"Product {number}",
            "variants": {f"{number}{place:03d}": _variant(draw, place) for place in range(30)},
        }
    for number in range(num_users):
        user_id = f"user_{number:05d}"
        ids = [f"#W{2 * number + place:07d}" for place in (0, 1)]
        address = {part: f"{draw.randrange(10**6)} {part}" for part in _ADDRESS}
        users[user_id] = {
            "user_id": user_id,
            "name": {"first_name": f"First{number}", "last_name": f"Last{number}"},
            "address": address,
            "email": _email(number),
            "payment_methods": {"card_1": {"source": "credit_card", "id": "card_1"}},
            "orders": ids,
        }
        for place, order_id in enumerate(ids):
            orders[order_id] = {
                "order_id": order_id,
                "user_id": user_id,
                "address": address,
                "items": [_variant(draw, item) for item in range(4)],
                "status": "delivered" if place else "pending",
                "fulfillments": [],
                "payment_history": [{"transaction_type": "payment", "amount": 100 + number}],
            }
    tables = {"user": users, "order": orders, "product": products}
    return SeedData.model_validate({"service": SERVICE, "tables": tables})


def _variant(draw: random.Random, place: int) -> dict[str, Any]:
    return {
        "name": f"Variant {place}",
        "product_id": f"{draw.randrange(10**10):010d}",
        "item_id": f"{draw.randrange(10**10):010d}",
        "price": draw.randrange(1000, 99999) / 100,
        "options": {"color": draw.choice(["red", "blue"]), "size": str(place), "material": "steel"},
    }


def _email(number: int) -> str:
    return f"first{number}.last{number}@example.com"
