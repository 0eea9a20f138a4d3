"""What is refused before a world exists: slips in blueprints, schemas, seeds and overrides."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.state import rows_of
from components.errors import SynthesisError
from tests.environment.engine_desk import (
    DESK_ENTITIES,
    DESK_TOOLS,
    desk_world,
    schema,
    service,
    ticket,
    world_of,
)


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ({"lookups": {"x": {"table": "tickets", "equals": 1}}}, "unknown table"),
        ({"lookups": {"x": {"table": "ticket", "field": "no", "equals": 1}}}, "no field"),
        ({"result": "$ticket"}, "unknown name"),
        ({"result": "$item"}, "unknown name"),
        ({"effects": {"a": {"action": "update", "table": "ticket", "fields": {}}}}, "target"),
        (
            {"effects": {"a": {"action": "delete", "table": "ticket", "target": "args"}}},
            "no lookup",
        ),
        (
            {"effects": {"a": {"action": "create", "table": "ticket", "fields": {"no": 1}}}},
            "no field",
        ),
        (
            {
                "effects": {
                    "a": {"action": "create", "table": "ticket", "fields": {"subject": "$item.id"}}
                }
            },
            "unknown name",
        ),
        ({"query": {"table": "ticket", "sort_by": "no"}}, "no field"),
        ({"result": {"@lit": float("inf")}}, "not JSON"),
    ],
)
def test_a_slip_in_a_blueprint_is_found_when_it_is_compiled(
    tool: dict[str, Any], message: str
) -> None:
    with pytest.raises(SynthesisError, match=message):
        desk_world(1, broken=(schema(), tool))


def test_a_schema_never_leaves_the_machine() -> None:
    remote = {"$ref": "http://127.0.0.1:9/schema.json"}

    with pytest.raises(SynthesisError, match="schema"):
        desk_world(1, remote=(remote, {"result": 1}))


@pytest.mark.parametrize(
    "row",
    [
        ticket("other"),
        ticket("t0", count="many"),
        ticket("t0", cost=float("nan")),
        ticket("t0", extra={"a": float("inf")}),
        ticket("t0", subject="\ud800"),
        ticket("t0", due="2026-1-1"),
        {**ticket("t0"), "more": 1},
        {"id": "t0"},
    ],
)
def test_a_seed_row_or_override_that_does_not_fit_is_refused(row: dict[str, Any]) -> None:
    part = service("desk", DESK_TOOLS, DESK_ENTITIES)

    with pytest.raises(SynthesisError, match="t0"):
        world_of(part, rows={"desk": {"ticket": {"t0": row}}})
    with pytest.raises(SynthesisError, match="t0"):
        world_of(part, overrides={"desk/ticket/t0": row})


def test_overrides_put_and_remove_rows() -> None:
    part = service("desk", DESK_TOOLS, DESK_ENTITIES)
    rows = {"desk": {"ticket": {"t0": ticket("t0"), "t1": ticket("t1")}}}
    world = world_of(
        part,
        rows=rows,
        overrides={
            "desk/ticket/t0": None,
            "desk/ticket/t2": ticket("t2", count=5),
            "desk/ticket/t9": None,
        },
    )

    assert list(rows_of(world.initial, "desk", "ticket")) == ["t1", "t2"]
    with pytest.raises(SynthesisError, match="no such"):
        world_of(part, rows=rows, overrides={"desk/tickets/t0": None})
