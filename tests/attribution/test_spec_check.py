"""The documentation of a tool against what one call did."""

from __future__ import annotations

from typing import Any

import pytest

from attribution.spec_check import Violation, check_call
from components.environment.engine import call_recorded
from components.environment.world import World, build_world
from components.records.frozen import FrozenDict
from components.records.system import System
from components.records.world import WorldSpec
from tests.attribution.hand_made import NOW, bare_system
from tests.attribution.playing import with_defect

TICKET, PERSON = "tkt_04630f", "emp_1132bd"
ASSIGN = {"ticket_id": TICKET, "assignee_id": PERSON}
AWAY = "emp_192e9a"


def world_of(system: System) -> World:
    names = tuple(sorted(system.environment.blueprints))
    return build_world(system, WorldSpec(services=names, now=NOW))


def violations(
    system: System, service: str, tool: str, arguments: dict[str, Any]
) -> tuple[Violation, ...]:
    world = world_of(system)
    after, call = call_recorded(world, world.initial, service, tool, FrozenDict(arguments))
    return check_call(world.services[service], world.initial, after, call)


@pytest.mark.parametrize(
    ("service", "tool", "arguments"),
    [
        ("helpdesk", "assign_ticket", ASSIGN),
        ("helpdesk", "assign_ticket", {"ticket_id": TICKET, "assignee_id": AWAY}),
        ("helpdesk", "assign_ticket", {"ticket_id": "tkt_none", "assignee_id": PERSON}),
        ("helpdesk", "assign_ticket", {"ticket_id": 7, "assignee_id": PERSON}),
        ("helpdesk", "search_tickets", {}),
        ("helpdesk", "search_tickets", {"limit": 3, "text": "the"}),
        ("helpdesk", "search_tickets", {"cursor": "nowhere"}),
        ("helpdesk", "add_comment", {"ticket_id": TICKET, "author_id": PERSON, "body": "x"}),
        ("directory", "get_employee", {"employee_id": PERSON}),
        ("directory", "find_employees", {"name": "a"}),
        ("mail", "list_threads", {}),
    ],
)
def test_the_built_in_tools_keep_their_documentation(
    service: str, tool: str, arguments: dict[str, Any]
) -> None:
    assert violations(bare_system(), service, tool, arguments) == ()


@pytest.mark.parametrize(
    ("pointer", "value", "part", "rule"),
    [
        ("/effects/assignment/when", False, "effects", "assignment"),
        ("/effects/assignment/fields/status", "waiting", "effects", "assignment"),
        ("/checks/available/holds", False, "checks", ""),
        ("/lookups/assignee/equals", "nobody", "lookups", ""),
    ],
)
def test_a_broken_write_is_told_by_its_part(
    pointer: str, value: object, part: str, rule: str
) -> None:
    at = f"/tools/assign_ticket{pointer}"
    system = with_defect(bare_system(), "blueprint/helpdesk", ("replace", at, value))

    found = violations(system, "helpdesk", "assign_ticket", ASSIGN)

    assert [(item.part, item.rule) for item in found] == [(part, rule)]


def test_a_rule_that_is_not_kept_is_named() -> None:
    at = "/tools/assign_ticket/checks/available"
    system = with_defect(bare_system(), "blueprint/helpdesk", ("remove", at, None))

    found = violations(
        system, "helpdesk", "assign_ticket", {"ticket_id": TICKET, "assignee_id": AWAY}
    )

    assert [(item.part, item.rule) for item in found] == [("checks", "available")]


def test_a_change_that_nothing_writes_is_a_breach_where_the_spec_is_complete() -> None:
    at = "/tools/assign_ticket/effects/assignment/fields/priority"
    system = with_defect(bare_system(), "blueprint/helpdesk", ("add", at, "urgent"))

    found = violations(system, "helpdesk", "assign_ticket", ASSIGN)

    assert [item.found for item in found] == [
        {"cause": "effect:assignment", "fields": ["priority"]}
    ]


def test_silence_is_no_evidence_where_the_spec_is_not_complete() -> None:
    at = "/tools/assign_ticket/effects/assignment/fields/priority"
    system = with_defect(bare_system(), "blueprint/helpdesk", ("add", at, "urgent"))
    spec = system.reference.specs["helpdesk"]
    tool = spec.tools["assign_ticket"].model_copy(update={"complete": False})
    spec = spec.model_copy(update={"tools": FrozenDict({**spec.tools, "assign_ticket": tool})})
    specs = FrozenDict({**system.reference.specs, "helpdesk": spec})
    reference = system.reference.model_copy(update={"specs": specs})
    system = system.model_copy(update={"reference": reference})

    assert violations(system, "helpdesk", "assign_ticket", ASSIGN) == ()


@pytest.mark.parametrize(
    ("pointer", "value", "part"),
    [
        ("/query/where/number", None, "query"),
        ("/query/where/number", {"@eq": ["$item.id", "$args.number"]}, "query"),
        ("/result/tickets", None, "result"),
    ],
)
def test_a_search_that_shows_other_rows_is_found(pointer: str, value: object, part: str) -> None:
    at = f"/tools/search_tickets{pointer}"
    system = with_defect(bare_system(), "blueprint/helpdesk", ("replace", at, value))

    found = violations(system, "helpdesk", "search_tickets", {"number": "HD-1038"})

    assert [item.part for item in found] == [part]


def test_an_answer_that_shows_another_row_is_found() -> None:
    at = "/tools/get_employee/lookups/employee/equals"
    system = with_defect(bare_system(), "blueprint/directory", ("replace", at, AWAY))

    found = violations(system, "directory", "get_employee", {"employee_id": PERSON})

    assert [item.part for item in found] == ["result"]
