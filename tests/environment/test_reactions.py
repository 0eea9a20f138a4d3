from __future__ import annotations

from typing import Any

import pytest

from components.environment.engine import execute
from components.environment.state import rows_of, state_hash
from components.environment.world import World
from components.errors import SynthesisError
from tests.environment.engine_desk import (
    AGENDA_ENTITIES,
    DESK_ENTITIES,
    DESK_TOOLS,
    schema,
    service,
    ticket,
    world_of,
)

CLOSED = {
    "service": "desk",
    "table": "ticket",
    "event": "update",
    "when": {"@and": [{"@eq": ["$after.status", "closed"]}, {"@ne": ["$before.status", "closed"]}]},
}
MINE = {"@eq": ["$item.about", "$after.id"]}
DONE: dict[str, Any] = {
    "text": "When a ticket is closed, its agenda items are done.",
    "on": CLOSED,
    "writes": {
        "done": {
            "service": "agenda",
            "table": "item",
            "action": "update",
            "where": MINE,
            "fields": {"state": "done"},
        }
    },
}
ITEM_UPDATED = {"service": "agenda", "table": "item", "event": "update"}


def items(*about: str, steps: int = 0) -> dict[str, dict[str, Any]]:
    return {
        f"i{place}": {"id": f"i{place}", "about": name, "state": "planned", "steps": steps}
        for place, name in enumerate(about)
    }


def linked_world(reactions: dict[str, Any], *, agenda: bool = True, steps: int = 0) -> World:
    step = {
        "lookups": {"found": {"table": "item", "equals": "$args.id"}},
        "effects": {
            "stepped": {
                "action": "update",
                "table": "item",
                "target": "found",
                "fields": {"steps": {"@sub": ["$item.steps", 1]}},
            }
        },
    }
    parts = [service("desk", DESK_TOOLS, DESK_ENTITIES)]
    if agenda:
        tools = {"step": (schema(("id",), id={"type": "string"}), step)}
        parts.append(service("agenda", tools, AGENDA_ENTITIES))
    rows: dict[str, Any] = {"desk": {"ticket": {"t0": ticket("t0"), "t1": ticket("t1")}}}
    if agenda:
        rows["agenda"] = {"item": items("t0", "t1", "t0", steps=steps)}
    return world_of(*parts, rows=rows, reactions=reactions)


def test_an_event_in_one_service_writes_in_another_in_the_same_call() -> None:
    world = linked_world({"done": DONE})

    outcome = execute(world, world.initial, "desk", "close", {"id": "t0"})

    assert [(c.service, c.row_id, c.cause) for c in outcome.changes] == [
        ("desk", "t0", "effect:changed"),
        ("agenda", "i0", "reaction:done"),
        ("agenda", "i2", "reaction:done"),
    ]
    states = {key: row["state"] for key, row in rows_of(outcome.state, "agenda", "item").items()}
    assert states == {"i0": "done", "i1": "planned", "i2": "done"}


def test_a_condition_that_does_not_hold_starts_nothing() -> None:
    world = linked_world({"done": DONE})

    outcome = execute(world, world.initial, "desk", "count_up", {"id": "t0"})

    assert [change.service for change in outcome.changes] == ["desk"]


def test_a_reaction_with_an_absent_service_is_not_active() -> None:
    world = linked_world({"done": DONE}, agenda=False)

    outcome = execute(world, world.initial, "desk", "close", {"id": "t0"})

    assert world.reactions == {}
    assert len(outcome.changes) == 1


def test_a_reaction_creates_a_row_with_defaults_and_an_id() -> None:
    remind = {
        "text": "A new ticket is planned.",
        "on": {"service": "desk", "table": "ticket", "event": "create"},
        "writes": {
            "plan": {
                "service": "agenda",
                "table": "item",
                "action": "create",
                "fields": {"about": "$after.id", "state": None},
            }
        },
    }
    world = linked_world({"remind": remind})

    outcome = execute(world, world.initial, "desk", "create", {"subject": "hi"})
    created, planned = outcome.changes

    assert planned.before is None
    assert planned.after == {
        "id": planned.row_id,
        "about": created.row_id,
        "state": "planned",
        "steps": 0,
    }


def test_a_reaction_cannot_create_a_row_that_exists() -> None:
    entities = {"note": {"generated_key": False, "fields": {"id": {"type": "string"}}}}
    write = {"service": "notes", "table": "note", "action": "create", "fields": {"id": "$after.id"}}
    note = {"text": "A closed ticket is noted.", "on": CLOSED, "writes": {"note": write}}
    parts = [service("desk", DESK_TOOLS, DESK_ENTITIES), service("notes", {}, entities)]
    rows: dict[str, Any] = {
        "desk": {"ticket": {"t0": ticket("t0"), "t1": ticket("t1")}},
        "notes": {"note": {"t0": {"id": "t0"}}},
    }
    world = world_of(*parts, rows=rows, reactions={"note": note})

    twice = execute(world, world.initial, "desk", "close", {"id": "t0"})
    once = execute(world, world.initial, "desk", "close", {"id": "t1"})

    assert twice.envelope["error"]["code"] == "internal"
    assert twice.state is world.initial
    assert list(rows_of(once.state, "notes", "note")) == ["t0", "t1"]


def test_a_reaction_deletes_rows() -> None:
    forget = {
        "text": "A deleted ticket leaves the agenda.",
        "on": {"service": "desk", "table": "ticket", "event": "delete"},
        "writes": {
            "drop": {
                "service": "agenda",
                "table": "item",
                "action": "delete",
                "where": {"@eq": ["$item.about", "$before.id"]},
            }
        },
    }
    world = linked_world({"forget": forget})

    outcome = execute(world, world.initial, "desk", "delete", {"id": "t0"})

    assert list(rows_of(outcome.state, "agenda", "item")) == ["i1"]
    assert [change.after for change in outcome.changes] == [None, None, None]


def countdown(write: dict[str, Any]) -> dict[str, Any]:
    return {
        "text": "An item goes on.",
        "on": ITEM_UPDATED,
        "writes": {
            "next": {
                "service": "agenda",
                "table": "item",
                "action": "update",
                "where": {"@eq": ["$item.id", "$after.id"]},
                "fields": write,
            }
        },
    }


def test_a_chain_of_reactions_ends_when_nothing_changes_any_more() -> None:
    step = countdown({"steps": {"@max": [0, {"@sub": ["$item.steps", 1]}]}})
    world = linked_world({"step": step}, steps=5)

    outcome = execute(world, world.initial, "agenda", "step", {"id": "i0"})

    assert outcome.envelope["ok"] is True
    assert [change.after["steps"] for change in outcome.changes if change.after] == [4, 3, 2, 1, 0]


def test_an_endless_chain_is_an_internal_answer_and_changes_nothing() -> None:
    world = linked_world({"on": countdown({"steps": {"@add": ["$item.steps", 1]}})})

    outcome = execute(world, world.initial, "agenda", "step", {"id": "i0"})

    assert outcome.envelope["error"]["code"] == "internal"
    assert "reactions" in outcome.envelope["error"]["details"]["problem"]
    assert outcome.state is world.initial
    assert outcome.changes == ()


def test_two_reactions_that_undo_each_other_do_not_run_for_ever() -> None:
    flip = countdown({"state": {"@if": [{"@eq": ["$item.state", "a"]}, "b", "a"]}})
    world = linked_world({"flip": flip})

    outcome = execute(world, world.initial, "agenda", "step", {"id": "i0"})

    assert outcome.envelope["error"]["code"] == "internal"


@pytest.mark.parametrize(
    "fields",
    [
        {"steps": "many"},
        {"id": "i9"},
        {"steps": {"@add": ["$after.subject", 1]}},
        {"steps": {"@len": {"@add": [1, 1]}}},
    ],
)
def test_a_reaction_that_breaks_a_rule_takes_the_whole_call_back(fields: dict[str, Any]) -> None:
    writes = {"done": {**DONE["writes"]["done"], "fields": fields}}
    world = linked_world({"done": {**DONE, "writes": writes}})

    outcome = execute(world, world.initial, "desk", "close", {"id": "t0"})

    assert outcome.envelope["error"]["code"] == "internal"
    assert outcome.state is world.initial
    assert outcome.changes == ()


@pytest.mark.parametrize(
    "write",
    [
        {**DONE["writes"]["done"], "table": "items"},
        {**DONE["writes"]["done"], "fields": {"no": 1}},
        {**DONE["writes"]["done"], "where": None},
        {**DONE["writes"]["done"], "fields": {"state": "$nobody"}},
        {**DONE["writes"]["done"], "action": "create", "fields": {"state": "$item.state"}},
    ],
)
def test_a_slip_in_a_reaction_is_found_when_the_world_is_built(write: dict[str, Any]) -> None:
    with pytest.raises(SynthesisError, match="reaction 'done'"):
        linked_world({"done": {**DONE, "writes": {"done": write}}})


def test_the_order_in_which_reactions_were_given_changes_nothing() -> None:
    second = {
        **DONE,
        "writes": {
            "more": {**DONE["writes"]["done"], "fields": {"steps": {"@add": ["$item.steps", 2]}}}
        },
    }
    one = linked_world({"a": DONE, "b": second})
    other = linked_world({"b": second, "a": DONE})

    left = execute(one, one.initial, "desk", "close", {"id": "t0"})
    right = execute(other, other.initial, "desk", "close", {"id": "t0"})

    assert left.body == right.body
    assert left.changes == right.changes
    assert state_hash(left.state) == state_hash(right.state)
