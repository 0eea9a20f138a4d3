"""The engine beside a dict that does the same by hand, and its bytes on machines set up
otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from components.environment.engine import execute
from components.environment.state import diff_states, net_changes, rows_of, state_hash
from components.environment.world import build_service_world
from components.records.blueprint import SeedData
from tests.environment.engine_desk import (
    DESK_ENTITIES,
    DESK_TOOLS,
    NOW,
    desk_world,
    service,
    ticket,
)

_HASHES = """
import json, sys
from tests.environment.engine_desk import desk_world
from components.environment.engine import call_recorded
world = desk_world(40)
state, out = world.initial, []
calls = [("create", {"subject": f"s{n}", "tags": [{"b": n, "a": "\\u00e9"}]}) for n in range(20)]
calls += [("close", {"id": f"t{n}"}) for n in range(0, 40, 3)] + [("list", {"status": "open"})]
calls += [("set", {"id": 1, "x": 2, "y": 3}), ("get", {}), ("close_all", {})]
calls += [("delete", {"id": "t5"})]
for tool, arguments in calls:
    state, record = call_recorded(world, state, "desk", tool, arguments)
    out.append(record.model_dump(mode="json"))
print(json.dumps(out))
"""


def test_hash_seed_locale_and_time_zone_change_no_byte() -> None:
    root = Path(__file__).parents[2]

    outputs = []
    for seed, locale, zone in (("0", "C", "UTC"), ("4711", "tr_TR.UTF-8", "Asia/Kolkata")):
        environment = {
            **os.environ,
            "PYTHONPATH": str(root),
            "PYTHONHASHSEED": seed,
            "LC_ALL": locale,
            "TZ": zone,
        }
        found = subprocess.run(
            [sys.executable, "-c", _HASHES], env=environment, capture_output=True, check=True
        )
        outputs.append(found.stdout)

    assert outputs[0] == outputs[1]
    assert len(json.loads(outputs[0])) == 39


class DeskMachine(RuleBasedStateMachine):
    """The engine beside a dict that does the same by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.world = desk_world(3)
        self.state = self.world.initial
        self.rows: dict[str, dict[str, Any]] = {f"t{n}": ticket(f"t{n}") for n in range(3)}
        self.changes: list[Any] = []

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        outcome = execute(self.world, self.state, "desk", tool, arguments)
        self.state = outcome.state
        self.changes.extend(outcome.changes)
        return outcome.envelope

    def pick(self, place: int) -> str:
        known = sorted(self.rows)
        return known[place % len(known)] if known and place % 5 else "nobody"

    @rule(subject=st.text(max_size=5))
    def create(self, subject: str) -> None:
        envelope = self.call("create", {"subject": subject})
        if not subject:
            assert envelope["error"]["code"] == "invalid_arguments"
            return
        row_id = envelope["data"]["ticket"]["id"]
        assert row_id not in self.rows
        self.rows[row_id] = ticket(row_id, subject=subject)

    @rule(place=st.integers(0, 50))
    def close(self, place: int) -> None:
        row_id = self.pick(place)
        envelope = self.call("close", {"id": row_id})
        if row_id not in self.rows:
            assert envelope["error"]["code"] == "not_found"
        elif self.rows[row_id]["status"] == "closed":
            assert envelope["error"]["code"] == "precondition_failed"
        else:
            self.rows[row_id]["status"] = "closed"

    @rule(place=st.integers(0, 50))
    def count_up(self, place: int) -> None:
        row_id = self.pick(place)
        envelope = self.call("count_up", {"id": row_id})
        if row_id in self.rows:
            self.rows[row_id]["count"] += 1
            assert envelope["data"]["ticket"]["count"] == self.rows[row_id]["count"]

    @rule(place=st.integers(0, 50), cost=st.floats() | st.integers())
    def set_cost(self, place: int, cost: float) -> None:
        row_id = self.pick(place)
        envelope = self.call("set_cost", {"id": row_id, "cost": cost})
        if envelope["ok"]:
            self.rows[row_id]["cost"] = cost

    @rule(place=st.integers(0, 50))
    def delete(self, place: int) -> None:
        row_id = self.pick(place)
        envelope = self.call("delete", {"id": row_id})
        assert envelope["ok"] is (row_id in self.rows)
        self.rows.pop(row_id, None)

    @rule()
    def close_all(self) -> None:
        envelope = self.call("close_all", {})
        still_open = [row for row in self.rows.values() if row["status"] == "open"]
        assert envelope["data"]["closed"] == len(still_open)
        for row in still_open:
            row["status"] = "closed"

    @rule(status=st.sampled_from(["open", "closed"]), limit=st.integers(0, 4))
    def list_them(self, status: str, limit: int) -> None:
        envelope = self.call("list", {"status": status, "limit": limit})
        wanted = sorted(key for key, row in self.rows.items() if row["status"] == status)
        assert [row["id"] for row in envelope["data"]["rows"]] == wanted[:limit]
        assert envelope["data"]["total"] == len(wanted)

    @invariant()
    def rows_are_the_model_s(self) -> None:
        found = rows_of(self.state, "desk", "ticket")
        assert json.loads(orjson.dumps(found)) == {key: self.rows[key] for key in sorted(self.rows)}
        assert list(found) == sorted(self.rows)

    @invariant()
    def the_digest_is_the_recomputed_one(self) -> None:
        part = service("desk", DESK_TOOLS, DESK_ENTITIES)
        seed = SeedData.model_validate({"service": "desk", "tables": {"ticket": self.rows}})
        rebuilt = build_service_world(*part, seed, NOW)
        assert state_hash(self.state) == state_hash(rebuilt.initial)

    @invariant()
    def the_changes_are_the_difference(self) -> None:
        net = net_changes(self.changes)
        diff = diff_states(self.world.initial, self.state)
        assert [(c.row_id, c.before, c.after) for c in net] == [
            (c.row_id, c.before, c.after) for c in diff
        ]


TestDeskMachine = DeskMachine.TestCase
TestDeskMachine.settings = settings(
    max_examples=12, stateful_step_count=15, deadline=None, derandomize=True
)
