"""The public memory server (`@modelcontextprotocol/server-memory`): its listing compiled, and held
against the real one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.environment.compiler.compile import compile_spec
from components.environment.engine import execute
from components.environment.gates.run import admit_service
from components.environment.sources.live import list_servers
from components.environment.sources.server_calls import call_server
from components.environment.world import build_service_world
from components.records.blueprint import Operation, QuarantineReason, SeedData
from components.records.frozen import FrozenDict, canonical_json
from components.records.spec import ServiceSpec

NOW = "2026-03-02T09:00:00Z"
PACKAGE = "@modelcontextprotocol/server-memory"

ADA = {"name": "Ada", "entityType": "person", "observations": ["likes looms", "lives in London"]}
LOOM = {"name": "Loom", "entityType": "machine", "observations": ["made of oak"]}
INN = {"name": "Inn", "entityType": "place", "observations": []}
OWNS = {"from": "Ada", "to": "Loom", "relationType": "owns"}
STAYS = {"from": "Ada", "to": "Inn", "relationType": "stays_at"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("create_entities", {"entities": [ADA, LOOM, INN]}),
    ("create_relations", {"relations": [OWNS, STAYS]}),
    ("read_graph", {}),
    ("search_nodes", {"query": "LOOM"}),
    ("search_nodes", {"query": "oak"}),
    ("search_nodes", {"query": "machine"}),
    ("search_nodes", {"query": "nothing like it"}),
    ("open_nodes", {"names": ["Inn", "nobody"]}),
    ("delete_relations", {"relations": [STAYS, {**OWNS, "relationType": "sells"}]}),
    ("read_graph", {}),
    ("delete_entities", {"entityNames": ["Loom", "nobody"]}),
    ("read_graph", {}),
    ("delete_entities", {"entityNames": ["Ada", "Inn"]}),
    ("read_graph", {}),
]


@pytest.fixture
def server_list(tmp_path: Path) -> Path:
    """An `mcpServers` file with the memory server, which npx fetches where it is not cached."""
    if shutil.which("npx") is None:
        pytest.skip("needs Node: npx is not there")
    path = tmp_path / "mcp.json"
    env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    server = {"command": "npx", "args": ["--prefer-offline", "-y", PACKAGE], "env": env}
    path.write_text(json.dumps({"mcpServers": {"memory": server}}), encoding="utf-8")
    return path


async def listed_spec(path: Path) -> ServiceSpec:
    (listed,) = await list_servers(path, 60)
    if listed.spec is None:
        pytest.skip(f"{PACKAGE} cannot be started here: {listed.error}")
    return listed.spec


def sorted_rows(answer: Mapping[str, Any]) -> dict[str, list[bytes]]:
    """Order is no promise of either: compare rows as sets."""
    return {
        key: sorted(canonical_json(row) for row in rows)
        for key, rows in answer.items()
        if isinstance(rows, (list, tuple))
    }


@pytest.mark.network
async def test_seven_of_its_nine_tools_compile_and_pass_the_gates(server_list: Path) -> None:
    spec = await listed_spec(server_list)

    blueprint, seed, why = compile_spec(spec)
    admission = admit_service(spec, blueprint, seed)

    assert {name: tool.operation for name, tool in blueprint.tools.items()} == {
        "create_entities": Operation.CREATE,
        "create_relations": Operation.LINK,
        "delete_entities": Operation.DELETE,
        "delete_relations": Operation.DETACH,
        "open_nodes": Operation.LIST,
        "read_graph": Operation.LIST,
        "search_nodes": Operation.SEARCH,
    }
    assert {name: item.reason for name, item in blueprint.quarantined.items()} == {
        "add_observations": QuarantineReason.UNCLEAR,
        "delete_observations": QuarantineReason.UNCLEAR,
    }
    assert admission.failures == ()
    assert admission.admitted
    assert blueprint.entities["relation"].fields["from"].link == "memory.entity"
    assert why["search_nodes"] == "'query' is looked for in all texts"


@pytest.mark.network
async def test_compiled_tools_answer_as_the_real_server(server_list: Path) -> None:
    spec = await listed_spec(server_list)
    allowed = frozenset(f"memory.{tool}" for tool, _ in CALLS)

    real = await call_server(server_list, "memory", CALLS, 60, allow_calls=allowed)

    blueprint, _, _ = compile_spec(spec)
    empty = SeedData(service="memory", tables=FrozenDict())
    world = build_service_world(spec, blueprint, empty, NOW)
    state = world.initial
    for (tool, arguments), answer in zip(CALLS, real, strict=True):
        outcome = execute(world, state, "memory", tool, arguments)
        state = outcome.state
        assert outcome.envelope["ok"] is True, tool
        assert answer["is_error"] is False
        data = outcome.envelope["data"]
        assert set(data) == set(answer["structured"]), tool
        assert sorted_rows(data) == sorted_rows(answer["structured"]), (tool, arguments)
