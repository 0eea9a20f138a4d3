"""The built-in services keep what their specs write: rules, effects and answers."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from components.environment.catalog_loader import builtin_services, load_service
from components.environment.state import rows_of, state_hash
from components.records.calls import ErrorCode
from tests.environment.catalog_cases import Case, all_cases
from tests.environment.catalog_parts import PARTS, service_of
from tests.environment.catalog_world import broken_invariants, call, catalog_world
from tests.environment.spec_laws import Judge

CASES = [*all_cases(), *(case for part in PARTS for case in part.cases())]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.tool}-{case.breaks or 'normal'}")
def test_call_answers_as_its_spec_writes(case: Case) -> None:
    world = catalog_world()
    service, _, tool = case.tool.partition(".")
    judge = Judge(world, service, tool, world.initial, case.arguments)

    outcome = call(world.initial, case.tool, case.arguments)

    breaches = judge.breaches()
    if ErrorCode.NOT_FOUND in breaches.values():
        assert case.breaks in breaches  # a missing row breaks every rule that speaks of it
    else:
        assert list(breaches) == ([case.breaks] if case.breaks else [])
    assert judge.problems(outcome) == []
    assert list(broken_invariants(outcome.state)) == []
    if case.breaks:
        assert outcome.state is world.initial


def test_every_tool_has_a_normal_case_and_every_rule_a_breach() -> None:
    wanted = set()
    for service in builtin_services():
        for name, tool in load_service(service).spec.tools.items():
            wanted.add((f"{service}.{name}", ""))
            wanted |= {(f"{service}.{name}", rule) for rule in tool.rules}

    found = {(case.tool, case.breaks) for case in CASES}

    assert found == wanted


def test_unexpected_missing_and_malformed_arguments_are_refused() -> None:
    world = catalog_world()

    for case in CASES:
        required = load_service(case.tool.partition(".")[0]).spec.tools[case.tool.partition(".")[2]]
        breaches: list[dict[str, Any]] = [{**case.arguments, "surplus": 1}]
        for name in required.input_schema["required"]:
            breaches.append({key: value for key, value in case.arguments.items() if key != name})
            breaches.append({**case.arguments, name: ""})
        for arguments in breaches:
            outcome = call(world.initial, case.tool, arguments)

            assert outcome.envelope["error"]["code"] == ErrorCode.INVALID_ARGUMENTS.value
            assert outcome.state is world.initial


def test_random_calls_keep_the_specs_and_the_contract() -> None:
    world, source = catalog_world(), random.Random("catalog walk")
    tools = [
        (service, name)
        for service in builtin_services()
        for name in load_service(service).spec.tools
    ]
    state = world.initial
    accepted: set[str] = set()
    refused: set[str] = set()

    for step in range(27 * len(tools)):
        service, tool = tools[step % len(tools)]
        schema = world.services[service].spec.tools[tool].input_schema
        arguments = _drawn(source, service, schema, state)
        judge = Judge(world, service, tool, state, arguments)
        outcome = call(state, f"{service}.{tool}", arguments)
        if outcome.envelope["ok"] or outcome.envelope["error"]["code"] != "invalid_arguments":
            assert judge.problems(outcome) == [], (tool, arguments)
        (accepted if outcome.envelope["ok"] else refused).add(tool)
        if outcome.changes:
            assert list(broken_invariants(outcome.state)) == [], (tool, arguments)
        state = outcome.state

    assert accepted == {name for _service, name in tools}
    assert len(refused) > 25
    assert state_hash(state) != state_hash(world.initial)


def _drawn(
    source: random.Random, service: str, schema: Mapping[str, Any], state: Any
) -> dict[str, Any]:
    """Draw arguments from the rows of the state, by the shape that the schema asks for."""
    arguments = {}
    for name, item in sorted(schema["properties"].items()):
        if name == "cursor" or (name not in schema["required"] and source.random() < 0.6):
            continue
        arguments[name] = _value(source, service, name, item, state)
    return arguments


def _value(
    source: random.Random, service: str, name: str, item: Mapping[str, Any], state: Any
) -> Any:
    if "enum" in item:
        return source.choice(item["enum"])
    if item["type"] == "integer":
        return source.randint(item["minimum"], item["maximum"])
    pattern = item.get("pattern", "")
    if "@harborline" in pattern:
        table = ("directory", "team" if name == "address" and source.random() < 0.3 else "employee")
        return source.choice([row["email"] for row in rows_of(state, *table).values()])
    if pattern.startswith("^[0-9]{4}-"):
        return source.choice(
            ["2026-02-01T08:00:00Z", "2026-04-01T08:00:00Z", "2026-05-02T10:30:00Z"]
        )
    for prefix, place in _TABLES.items():
        if pattern.startswith(f"^{prefix}_"):
            return source.choice([*rows_of(state, *place), f"{prefix}_000000"])
    known = _texts_like(service, pattern) if pattern else ()
    if known and source.random() < 0.6:
        return source.choice(known)
    for start, code in (
        *_CODES.get(service, {}).items(),
        ("^TC", "TC-5388"),
        ("^BX", "BX-2128"),
        ("^HD", "HD-1012"),
        ("^[A-Z]", "CB-TERN-5"),
    ):
        if pattern.startswith(start):
            return code
    return source.choice(["re", "9.0.1", "plan of the door", "Text that says enough"])


@cache
def _texts_like(service: str, pattern: str) -> tuple[str, ...]:
    """Return the texts of a service's seed rows that fit a pattern."""
    tables = catalog_world().initial.services[service]
    values = {
        value
        for table in sorted(tables)
        for row in rows_of(catalog_world().initial, service, table).values()
        for value in row.values()
        if isinstance(value, str) and re.search(pattern, value)
    }
    return tuple(sorted(values))


_CODES = {service_of(part): part.CODES for part in PARTS}
_TABLES = {
    "emp": ("directory", "employee"),
    "team": ("directory", "team"),
    "tkt": ("helpdesk", "ticket"),
    "que": ("helpdesk", "queue"),
    "thr": ("mail", "thread"),
    "msg": ("mail", "message"),
    **{prefix: place for part in PARTS for prefix, place in part.TABLES.items()},
}
