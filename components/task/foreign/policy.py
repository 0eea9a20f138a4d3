"""Sentences of a stated policy, as rules over a call and the records that it is about.

The rules are data (`policies/<name>.json`): a sentence, the tools that it is about, and a condition
that must hold. A condition speaks of `args`, `order`, `reservation`, `user` as they are before the
call, and of what `_derived` works out from them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from components.task.foreign.worker import Call


@cache
def _policy(name: str) -> dict[str, Any]:
    path = Path(__file__).parent / "policies" / f"{name}.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def broken_rules(
    name: str | None, calls: Sequence[Call], answers: Sequence[dict[str, Any]]
) -> Iterator[tuple[str, int]]:
    """Yield each sentence that calls break, with the position of the call.

    Args:
        name: the policy; None: there is none.
        calls: what was called, in order.
        answers: what came of each, as the benchmark gave it.
    """
    if name is None:
        return
    policy = _policy(name)
    owners: set[str] = set()
    for at, (call, answer) in enumerate(zip(calls, answers, strict=True)):
        if answer["error"] or not answer.get("wrote"):
            continue
        seen = {"args": call["arguments"], **answer["facts"]}
        seen |= _derived(policy, seen)
        if seen.get("user"):
            owners.add(seen["user"]["user_id"])
        seen["owners"] = len(owners)
        for rule in policy["rules"]:
            if call["tool"] in rule["tools"] and _holds(rule["must"], seen) is False:
                yield rule["sentence"], at


def _holds(condition: dict[str, Any], seen: dict[str, Any]) -> bool | None:
    """Return whether a condition holds; None where what it speaks of is not there."""
    if "any" in condition:
        found = [_holds(item, seen) for item in condition["any"]]
        return True if True in found else None if None in found else False
    if "all" in condition:
        found = [_holds(item, seen) for item in condition["all"]]
        return False if False in found else None if None in found else True
    value: Any = seen
    for part in condition["of"].split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return None
    if "is" in condition:
        return bool(value == condition["is"])
    if "in" in condition:
        return value in condition["in"]
    if "most" in condition:
        return bool(value <= condition["most"])
    return bool(value >= condition["least"])


def _derived(policy: dict[str, Any], seen: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    args, order, reservation, user = (
        seen["args"], seen.get("order"), seen.get("reservation"), seen.get("user"),
    )  # fmt: skip
    if "new_item_ids" in args:
        pairs = zip(args["item_ids"], args["new_item_ids"], strict=False)
        found["same_items"] = sum(old == new for old, new in pairs)
    methods = (user or {}).get("payment_methods", {})
    if order and "payment_method_id" in args:
        paid = {item["payment_method_id"] for item in order["payment_history"]}
        chosen = args["payment_method_id"]
        found["is_original"] = chosen in paid
        found["is_gift_card"] = (methods.get(chosen) or {}).get("source") == "gift_card"
    if reservation:
        found |= _flown(policy, seen, reservation)
    if user and "cabin" in args | (reservation or {}) and "free_bags" in policy:
        found |= _bags(policy, args, reservation or {}, user)
    if "payment_methods" in args:
        kinds = Counter(
            (methods.get(item["payment_id"]) or {}).get("source")
            for item in args["payment_methods"]
        )
        found["paid_with"] = {
            kind: kinds[kind] for kind in ("certificate", "credit_card", "gift_card")
        }
    if "passengers" in args:
        found["passengers"] = len(args["passengers"])
    return found


def _flown(
    policy: dict[str, Any], seen: dict[str, Any], reservation: dict[str, Any]
) -> dict[str, Any]:
    now = datetime.fromisoformat(policy["now"])
    made = datetime.fromisoformat(reservation["created_at"])
    legs = [f"{leg['flight_number']} {leg['date']}" for leg in reservation["flights"]]
    states = [(seen["flights"].get(leg) or {}).get("status") for leg in legs]
    found: dict[str, Any] = {
        "hours_since_booking": (now - made).total_seconds() / 3600,
        "flown": sum(state in ("landed", "flying") for state in states),
        "cancelled": sum(state == "cancelled" for state in states),
    }
    wanted = seen["args"].get("flights")
    if wanted:
        new = [f"{leg['flight_number']} {leg['date']}" for leg in wanted]
        found["same_flights"] = sorted(new) == sorted(legs)
        found["same_cabin"] = seen["args"].get("cabin") == reservation["cabin"]
        first, last = (seen["flights"].get(new[at]) or {} for at in (0, -1))
        goals = [(seen["flights"].get(leg) or {}).get("destination") for leg in new]
        home = reservation["origin"]
        is_round = reservation["flight_type"] == "round_trip"
        found["same_ends"] = (
            first.get("origin") == home
            and reservation["destination"] in goals
            and last.get("destination") == (home if is_round else reservation["destination"])
        )
    return found


def _bags(
    policy: dict[str, Any], args: dict[str, Any], reservation: dict[str, Any], user: dict[str, Any]
) -> dict[str, Any]:
    if "total_baggages" not in args:
        return {}
    cabin = args.get("cabin") or reservation["cabin"]
    people = len(args.get("passengers") or reservation["passengers"])
    free = policy["free_bags"][user["membership"]][cabin] * people
    due = max(0, args["total_baggages"] - free)
    return {
        "bags_as_due": args["nonfree_baggages"] == due,
        "bags_removed": args["total_baggages"] < reservation.get("total_baggages", 0),
    }
