from __future__ import annotations

from typing import Any

import orjson
import pytest

from components.environment.engine import (
    MAX_ANSWER_BYTES,
    MAX_ARGUMENT_BYTES,
    call_recorded,
    execute,
    replay,
)
from components.environment.entities import new_id
from components.environment.state import (
    WorldState,
    recomputed_digest,
    rows_of,
    state_hash,
)
from components.environment.world import World
from components.errors import SynthesisError
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict
from tests.environment.engine_desk import (
    TICKET_LOOKUP,
    changer,
    desk_world,
    schema,
    service,
    ticket,
    world_of,
)

ID = {"type": "string"}


def run(world: World, state: WorldState, *calls: tuple[str, dict[str, Any]]) -> WorldState:
    for tool, arguments in calls:
        state = execute(world, state, "desk", tool, arguments).state
    return state


def code(world: World, tool: str, arguments: Any) -> str:
    """The error code of a call that must change nothing."""
    outcome = execute(world, world.initial, "desk", tool, arguments)
    assert outcome.state is world.initial
    assert outcome.changes == ()
    assert outcome.envelope["ok"] is False
    assert set(outcome.envelope["error"]) == {"code", "message", "details"}
    return str(outcome.envelope["error"]["code"])


def test_a_write_answers_with_the_row_after_and_names_its_change() -> None:
    world = desk_world()

    outcome = execute(world, world.initial, "desk", "close", {"id": "t1"})

    assert outcome.envelope == {
        "ok": True,
        "data": {"ticket": ticket("t1", status="closed", tags=(), extra={})},
    }
    (change,) = outcome.changes
    assert (change.service, change.table, change.row_id, change.cause) == (
        "desk",
        "ticket",
        "t1",
        "effect:changed",
    )
    assert change.before == ticket("t1", tags=())
    assert change.after == ticket("t1", tags=(), status="closed")
    assert rows_of(world.initial, "desk", "ticket")["t1"]["status"] == "open"


def test_a_read_leaves_the_very_same_state() -> None:
    world = desk_world()

    outcome = execute(world, world.initial, "desk", "get", {"id": "t0"})

    assert outcome.state is world.initial
    assert outcome.envelope["data"]["subject"] == "about t0"


def test_a_write_that_changes_nothing_is_no_change() -> None:
    world = desk_world()

    outcome = execute(world, world.initial, "desk", "set", {"id": "t0", "subject": "about t0"})

    assert outcome.envelope["ok"] is True
    assert outcome.changes == ()
    assert outcome.state is world.initial


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("nothing", {}, "unknown_tool"),
        ("get", {}, "invalid_arguments"),
        ("get", {"id": 3}, "invalid_arguments"),
        ("get", {"id": "t0", "more": 1}, "invalid_arguments"),
        ("get", {"id": "nobody"}, "not_found"),
        ("create", {"subject": ""}, "invalid_arguments"),
        ("create", {"subject": "\ud800"}, "invalid_arguments"),
        ("set_cost", {"id": "t0", "cost": float("nan")}, "invalid_arguments"),
        ("set_cost", {"id": "t0", "cost": float("-inf")}, "invalid_arguments"),
        ("set_count", {"id": "t0", "count": 2**63}, "invalid_arguments"),
        ("set_count", {"id": "t0", "count": 10**400}, "invalid_arguments"),
        ("set_count", {"id": "t0", "count": True}, "invalid_arguments"),
        ("set_extra", {"id": "t0", "extra": {1: 2}}, "invalid_arguments"),
        ("set_extra", {"id": "t0", "extra": {"\ud800": 2}}, "invalid_arguments"),
        ("set_extra", {"id": "t0", "extra": {"a": object()}}, "invalid_arguments"),
        ("set_extra", {"id": "t0", "extra": {"a": "x" * MAX_ARGUMENT_BYTES}}, "invalid_arguments"),
        ("get", {1: "t0"}, "invalid_arguments"),
        ("get", ["t0"], "invalid_arguments"),
        ("get", None, "invalid_arguments"),
        ("get", "t0", "invalid_arguments"),
        ("list", {"cursor": "t9"}, "invalid_arguments"),
        ("list", {"limit": -1}, "invalid_arguments"),
    ],
)
def test_what_a_caller_does_wrong_is_an_answer_and_changes_nothing(
    tool: str, arguments: Any, expected: str
) -> None:
    assert code(desk_world(), tool, arguments) == expected


def test_an_unknown_service_is_an_unknown_tool() -> None:
    world = desk_world()

    outcome = execute(world, world.initial, "shop", "get", {"id": "t0"})

    assert outcome.envelope["error"]["code"] == "unknown_tool"


def test_arguments_nested_too_deep_are_refused() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}

    assert code(desk_world(), "set_extra", {"id": "t0", "extra": deep}) == "invalid_arguments"


def test_arguments_that_are_no_json_are_refused_by_an_open_schema_too() -> None:
    world = desk_world(1, anything=({}, {"result": "$args"}))

    assert code(world, "anything", {"x": float("nan")}) == "invalid_arguments"
    assert code(world, "anything", [1]) == "invalid_arguments"
    answer = execute(world, world.initial, "desk", "anything", {"x": 1}).envelope
    assert answer == {"ok": True, "data": {"x": 1}}


def test_a_message_does_not_repeat_a_long_argument() -> None:
    world = desk_world()

    outcome = execute(world, world.initial, "desk", "get", {"id": "x" * 100_000})

    assert outcome.envelope["error"]["code"] == "not_found"
    assert len(outcome.body) < 1000


def test_a_whole_float_is_an_integer() -> None:
    world = desk_world()

    state = run(world, world.initial, ("set_count", {"id": "t0", "count": 2.0}))
    same_state = run(world, world.initial, ("set_count", {"id": "t0", "count": 2}))

    assert rows_of(state, "desk", "ticket")["t0"]["count"] == 2
    assert state_hash(state) == state_hash(same_state)


def test_a_failed_rule_changes_nothing_and_says_which_rule() -> None:
    world = desk_world()
    closed = run(world, world.initial, ("close", {"id": "t0"}))

    outcome = execute(world, closed, "desk", "close", {"id": "t0"})

    assert outcome.state is closed
    assert outcome.envelope["error"] == {
        "code": "precondition_failed",
        "message": "it is closed",
        "details": {"rule": "open"},
    }


BROKEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "wrong_type": (schema(("id",), id=ID), changer({"count": "$item.subject"})),
    "wrong_enum": (schema(("id",), id=ID), changer({"status": "lost"})),
    "wrong_math": (schema(("id",), id=ID), changer({"count": {"@mul": ["$item.subject", 2]}})),
    "overflow": (schema(("id",), id=ID), changer({"count": {"@mul": [2**62, 2]}})),
    "endless": (schema(("id",), id=ID), changer({"cost": {"@mul": [1e308, 1e308]}})),
    "new_key": (schema(("id",), id=ID), changer({"id": "t9"})),
    "wrong_time": (schema(("id",), id=ID), changer({"due": "tomorrow"})),
    "no_length": (schema(), {"result": {"@len": {"@add": [1, 1]}}}),
    "not_a_list": (schema(), {"result": {"@each": ["text", "$element"]}}),
    "second_is_wrong": (
        schema(("id",), id=ID),
        {
            "lookups": TICKET_LOOKUP,
            "effects": {
                "a_right": {
                    "action": "create",
                    "table": "ticket",
                    "fields": {"subject": "new"},
                },
                "b_wrong": {
                    "action": "update",
                    "table": "ticket",
                    "target": "ticket",
                    "fields": {"tags": "none"},
                },
            },
        },
    ),
    "delete_and_update": (
        schema(("id",), id=ID),
        {
            "lookups": TICKET_LOOKUP,
            "effects": {
                "a_gone": {"action": "delete", "table": "ticket", "target": "ticket"},
                "b_back": {
                    "action": "update",
                    "table": "ticket",
                    "target": "ticket",
                    "fields": {"count": 1},
                },
            },
        },
    ),
    "float_limit": (schema(), {"query": {"table": "ticket", "limit": 1.5}, "result": "$rows"}),
    "wrong_result": (schema(), {"result": {"@add": ["$now", 1]}}),
}


@pytest.mark.parametrize("tool", sorted(BROKEN))
def test_a_blueprint_that_breaks_its_own_rules_answers_internal_and_changes_nothing(
    tool: str,
) -> None:
    world = desk_world(3, **BROKEN)
    arguments = (
        {"id": "t0"} if world.services["desk"].spec.tools[tool].input_schema["required"] else {}
    )

    assert code(world, tool, arguments) == "internal"


def test_an_answer_that_is_too_large_is_refused_and_changes_nothing() -> None:
    # Every doubling is a legal row; the answer holds the row eight times.
    grow = changer({"subject": {"@concat": ["$item.subject", "$item.subject"]}})
    grow = {**grow, "result": ["$changed"] * 8}
    world = desk_world(1, grow=(schema(("id",), id=ID), grow))
    state = world.initial

    answers = []
    for _ in range(25):
        outcome = execute(world, state, "desk", "grow", {"id": "t0"})
        state = outcome.state
        answers.append(outcome.envelope)

    codes = [answer["error"]["code"] for answer in answers if not answer["ok"]]
    assert codes
    assert codes[0] == "unsupported"
    assert len(rows_of(state, "desk", "ticket")["t0"]["subject"]) * 8 < MAX_ANSWER_BYTES


def test_nothing_that_goes_in_or_comes_out_can_change_the_state() -> None:
    world = desk_world()
    extra = {"list": [1, 2], "inner": {"k": ["v"]}}
    arguments = FrozenDict({"id": "t0", "extra": extra})  # frozen outside, not inside
    state, record = call_recorded(world, world.initial, "desk", "set_extra", arguments)
    digest = state_hash(state)

    extra["list"].append(3)  # type: ignore[attr-defined]
    extra["inner"] = {}

    row = rows_of(state, "desk", "ticket")["t0"]
    assert row["extra"] == {"list": (1, 2), "inner": {"k": ("v",)}}
    assert record.arguments["extra"] == {"list": (1, 2), "inner": {"k": ("v",)}}
    for value in (record.envelope, record.arguments, record.changes[0].after, row):
        assert_frozen(value)
    assert state_hash(state) == digest == f"{recomputed_digest(state.services):032x}"


def assert_frozen(value: Any) -> None:
    if isinstance(value, dict):
        assert type(value) is FrozenDict
        for item in value.values():
            assert_frozen(item)
    elif isinstance(value, (list, tuple)):
        assert type(value) is tuple
        for item in value:
            assert_frozen(item)


def test_all_rows_that_any_expression_hands_out_are_frozen() -> None:
    tool = {
        "lookups": TICKET_LOOKUP,
        "query": {"table": "ticket"},
        "result": {
            "lookup": "$ticket",
            "rows": "$rows",
            "all": {"@rows": {"table": "ticket"}},
            "each": {"@each": ["$rows", "$element"]},
            "row": {"@row": {"table": "ticket", "field": "subject", "equals": "about t1"}},
            "args": "$args",
        },
    }
    world = desk_world(3, everything=(schema(("id",), id=ID), tool))

    outcome = execute(world, world.initial, "desk", "everything", {"id": "t0"})

    assert outcome.envelope["ok"] is True
    assert_frozen(outcome.envelope)


def test_pages_follow_each_other_and_survive_a_new_row() -> None:
    world = desk_world(5)

    first = execute(world, world.initial, "desk", "list", {}).envelope["data"]
    grown = run(world, world.initial, ("create", {"subject": "new"}))
    second = execute(world, grown, "desk", "list", {"cursor": first["next"], "limit": 9}).envelope[
        "data"
    ]

    assert [row["id"] for row in first["rows"]] == ["t0", "t1"]
    assert (first["total"], first["next"]) == (5, "t1")
    assert [row["id"] for row in second["rows"]][:3] == ["t2", "t3", "t4"]
    assert (second["total"], second["next"]) == (6, None)


def test_defaults_come_from_the_schema_and_from_the_entity() -> None:
    world = desk_world(0)

    outcome = execute(world, world.initial, "desk", "create", {"subject": "hi"})
    row = outcome.envelope["data"]["ticket"]

    assert (row["status"], row["count"], row["tags"], row["due"]) == ("open", 0, (), None)
    assert outcome.arguments == {"subject": "hi"}


def test_an_update_of_many_binds_the_list_of_rows() -> None:
    world = desk_world(3)
    state = run(world, world.initial, ("close", {"id": "t1"}))

    outcome = execute(world, state, "desk", "close_all", {})

    assert outcome.envelope["data"] == {"closed": 2}
    assert [change.row_id for change in outcome.changes] == ["t0", "t2"]


def test_two_effects_on_one_row_add_up_and_see_the_row_before() -> None:
    effect = {"action": "update", "table": "ticket", "target": "ticket"}
    tool = {
        "lookups": TICKET_LOOKUP,
        "effects": {
            "a": {**effect, "fields": {"count": {"@add": ["$item.count", 1]}}},
            "b": {**effect, "fields": {"cost": {"@add": ["$item.count", 10]}}},
        },
        "result": "$b",
    }
    world = desk_world(1, both=(schema(("id",), id=ID), tool))

    outcome = execute(world, world.initial, "desk", "both", {"id": "t0"})

    assert (outcome.envelope["data"]["count"], outcome.envelope["data"]["cost"]) == (1, 10)
    assert len(outcome.changes) == 1


def test_one_row_for_each_element_of_a_list() -> None:
    effect = {
        "action": "create",
        "table": "ticket",
        "each": "$args.subjects",
        "fields": {"subject": "$element"},
    }
    tool = {"effects": {"made": effect}, "result": {"ids": {"@each": ["$made", "$element.id"]}}}
    world = desk_world(0, many=(schema(("subjects",), subjects={"type": "array"}), tool))

    outcome = execute(world, world.initial, "desk", "many", {"subjects": ["a", "b", "a"]})
    ids = outcome.envelope["data"]["ids"]

    assert len(set(ids)) == 3
    assert all(row_id.startswith("tkt_") for row_id in ids)


def test_a_key_given_twice_is_a_conflict() -> None:
    entities = {"file": {"key": "path", "generated_key": False, "fields": {"path": ID}}}
    make = {
        "effects": {
            "made": {"action": "create", "table": "file", "fields": {"path": "$args.path"}}
        },
        "result": "$made",
    }
    world = world_of(service("disk", {"make": (schema(path={}), make)}, entities))
    first = execute(world, world.initial, "disk", "make", {"path": "/a"})

    second = execute(world, first.state, "disk", "make", {"path": "/a"})
    third = execute(world, first.state, "disk", "make", {"path": 5})

    assert second.envelope["error"]["code"] == "conflict"
    assert third.envelope["error"]["code"] == "internal"


def test_new_ids_are_the_same_in_every_order_of_calls() -> None:
    world = desk_world(1)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("create", {"subject": "one"}),
        ("create", {"subject": "two"}),
        ("create", {"subject": "two"}),
        ("count_up", {"id": "t0"}),
    ]

    forward = run(world, world.initial, *calls)
    backward = run(world, world.initial, *reversed(calls))

    assert len(rows_of(forward, "desk", "ticket")) == 4
    assert rows_of(forward, "desk", "ticket") == rows_of(backward, "desk", "ticket")
    assert state_hash(forward) == state_hash(backward)


def test_ids_of_a_large_table_do_not_collide() -> None:
    # With six digits, some of these contents would share an id, and the order of calls decide it.
    rows = [{"subject": f"ticket {number}"} for number in range(20_000)]

    first = {new_id("ticket", "tkt", row, ()) for row in rows}

    assert len(first) == 20_000
    assert len({row_id[:10] for row_id in first}) < 20_000


@pytest.mark.parametrize("name", ["args", "element", "item", "now", "rows", "total"])
@pytest.mark.parametrize("part", ["lookups", "effects"])
def test_a_name_that_the_language_binds_is_no_name_of_a_lookup_or_effect(
    name: str, part: str
) -> None:
    parts: dict[str, Any] = {
        "lookups": {name: TICKET_LOOKUP["ticket"]},
        "effects": {name: {"action": "create", "table": "ticket", "fields": {"subject": "x"}}},
    }

    with pytest.raises(SynthesisError, match="may be called"):
        desk_world(1, odd=(schema(("id",), id=ID), {part: parts[part]}))


def test_rows_that_hold_one_another_many_times_over_are_refused_early() -> None:
    create: dict[str, Any] = {"action": "create", "table": "ticket"}
    effects: dict[str, Any] = {"e00": {**create, "fields": {"subject": "x" * 100}}}
    for number in range(1, 40):
        twice = [f"$e{number - 1:02d}"] * 2
        effects[f"e{number:02d}"] = {**create, "fields": {"subject": "x", "tags": twice}}
    world = desk_world(1, double=(schema(), {"effects": effects}))

    assert code(world, "double", {}) == "internal"


def test_a_replay_gives_the_same_records_even_after_a_round_trip_through_json() -> None:
    world = desk_world()
    calls: list[tuple[str, Any]] = [
        ("create", {"subject": "one", "tags": ["a", {"b": 1}]}),
        ("set_cost", {"id": "t0", "cost": float("nan")}),
        ("set_extra", {"id": "t0", "extra": {"\udc00": 1}}),
        ("get", {2: "t0"}),
        ("nothing", {"n": 10**30}),
        ("close", {"id": "t1"}),
    ]
    state, records = world.initial, []
    for tool, arguments in calls:
        state, record = call_recorded(world, state, "desk", tool, arguments)
        records.append(CallRecord.model_validate_json(orjson.dumps(record.model_dump(mode="json"))))

    final, again = replay(world, world.initial, records)

    assert state_hash(final) == state_hash(state)
    assert [record.model_dump_json() for record in again] == [
        record.model_dump_json() for record in records
    ]
    assert records[0].state_before == state_hash(world.initial)
    assert records[-1].state_after == state_hash(state)
