"""Admission: a sound service passes every gate, and each kind of planted defect fails one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from components.environment.compiler.compile import compile_spec
from components.environment.gates.run import admit_service
from components.environment.sources.listing import spec_from_listing
from components.records.blueprint import Blueprint, QuarantineReason, SeedData
from components.records.frozen import canonical_json
from components.records.spec import ServiceSpec
from tests.environment.gate_desk import desk, desk_blueprint, desk_seed
from tests.environment.gates.labelled import label_readings
from tests.servers.notes_server import FIRST_PAGE, SECOND_PAGE

Defect = Callable[[dict[str, Any]], None]


def put(path: str, value: Any) -> Defect:
    """Return a defect: one place of the blueprint's tools has another value."""

    def plant(tools: dict[str, Any]) -> None:
        *way, last = path.split("/")
        place = tools
        for part in way:
            place = place[part]
        place[last] = value

    return plant


TICKET_UPDATE = {"action": "update", "table": "ticket", "target": "ticket"}
OTHER_ROW = {"@row": {"table": "ticket", "equals": "tkt_1"}}

DEFECTS: dict[str, tuple[str, Defect]] = {
    "silent no-op": ("close_ticket", put("close_ticket/effects/close/when", False)),
    "half an effect": (
        "close_ticket",
        put("close_ticket/effects/close/fields", {"status": "closed"}),
    ),
    "wrong field written": (
        "close_ticket",
        put("close_ticket/effects/close/fields", {"status": "closed", "title": "$args.reason"}),
    ),
    "wrong value written": (
        "close_ticket",
        put("close_ticket/effects/close/fields/status", "open"),
    ),
    "effect without its check": ("close_ticket", put("close_ticket/checks", {})),
    "check turned round": (
        "close_ticket",
        put("close_ticket/checks/is_open/holds", {"@ne": ["$ticket.status", "open"]}),
    ),
    "wrong error code": ("close_ticket", put("close_ticket/checks/is_open/code", "conflict")),
    "check of the wrong row": (
        "assign_ticket",
        put("assign_ticket/checks/works/holds", {"@eq": ["$ticket.status", "open"]}),
    ),
    "unknown row accepted": (
        "assign_ticket",
        lambda tools: (
            put("assign_ticket/lookups/person/optional", True)(tools),
            put("assign_ticket/checks/works/holds", {"@ne": ["$person.active", False]})(tools),
        )[0],
    ),
    "needless check": (
        "update_ticket",
        put(
            "update_ticket/checks",
            {"no": {"holds": {"@eq": ["$ticket.status", "open"]}, "message": "No."}},
        ),
    ),
    "get by the wrong field": ("get_ticket", put("get_ticket/lookups/ticket/field", "title")),
    "get of the wrong row": ("get_ticket", put("get_ticket/result/ticket", OTHER_ROW)),
    "get under another name": ("get_ticket", put("get_ticket/result", {"item": "$ticket"})),
    "get of a changed field": (
        "get_ticket",
        put(
            "get_ticket/result/ticket",
            {"id": "$ticket.id", "title": "$ticket.reason", "status": "$ticket.status"},
        ),
    ),
    "get that writes": (
        "get_ticket",
        put("get_ticket/effects", {"seen": {**TICKET_UPDATE, "fields": {"title": "seen"}}}),
    ),
    "list without its filter": ("list_tickets", put("list_tickets/query/where", {})),
    "list with its filter turned round": (
        "list_tickets",
        put("list_tickets/query/where/status", {"@ne": ["$item.status", "$args.status"]}),
    ),
    "list that loses rows": ("list_tickets", put("list_tickets/query/limit", 2)),
    "create that creates nothing": ("create_ticket", put("create_ticket/effects/new/when", False)),
    "create with a constant": (
        "create_ticket",
        put("create_ticket/effects/new/fields/priority", "low"),
    ),
    "create that also changes": (
        "create_ticket",
        put(
            "create_ticket/effects/also",
            {"action": "delete", "table": "ticket", "where": {"@eq": ["$item.id", "tkt_4"]}},
        ),
    ),
    "update of every row": (
        "update_ticket",
        put(
            "update_ticket/effects/change",
            {
                "action": "update",
                "table": "ticket",
                "where": True,
                "fields": {"priority": {"@coalesce": ["$args.priority", "$item.priority"]}},
            },
        ),
    ),
    "update of a field that is not named": (
        "update_ticket",
        put("update_ticket/effects/change/fields/person_id", None),
    ),
    "update that ignores an argument": (
        "update_ticket",
        put("update_ticket/effects/change/fields/title", "$item.title"),
    ),
    "delete that does nothing": ("delete_ticket", put("delete_ticket/effects/gone/when", False)),
    "delete of too much": (
        "delete_ticket",
        put(
            "delete_ticket/effects/gone",
            {"action": "delete", "table": "ticket", "where": {"@eq": ["$item.status", "open"]}},
        ),
    ),
    "internal error": ("update_ticket", put("update_ticket/effects/change/fields/title", 7)),
}


def test_a_sound_service_passes_every_gate() -> None:
    spec, blueprint, seed = desk()

    admission = admit_service(spec, blueprint, seed)

    assert admission.failures == ()
    assert admission.admitted
    assert admission.reason == ""
    assert admission.blueprint == blueprint
    assert admission.tests_run > 300


@pytest.mark.parametrize("kind", sorted(DEFECTS))
def test_a_planted_defect_puts_its_tool_in_quarantine(kind: str) -> None:
    tool, plant = DEFECTS[kind]
    body = desk_blueprint()
    plant(body["tools"])
    spec, blueprint, seed = desk(body)

    admission = admit_service(spec, blueprint, seed)

    assert tool in admission.blueprint.quarantined
    assert tool not in admission.blueprint.tools
    failure = next(item for item in admission.failures if item.tool == tool)
    assert failure.expected
    assert failure.came
    assert len(canonical_json(failure.arguments)) < 2_000


def test_a_defect_costs_only_its_own_tool() -> None:
    body = desk_blueprint()
    put("close_ticket/checks", {})(body["tools"])

    admission = admit_service(*desk(body))

    assert sorted(admission.blueprint.quarantined) == ["close_ticket"]
    assert admission.blueprint.quarantined["close_ticket"].reason is (
        QuarantineReason.FAILED_ADVERSARIAL
    )
    assert "Only an open ticket can be closed." in (
        admission.blueprint.quarantined["close_ticket"].detail
    )
    assert admission.admitted


def notes() -> tuple[ServiceSpec, Blueprint, SeedData]:
    tools = [tool.model_dump(mode="json", by_alias=True) for tool in FIRST_PAGE + SECOND_PAGE]
    spec = spec_from_listing("notes", tools).spec
    blueprint, seed, _why = compile_spec(spec, label_readings(spec, NOTES))
    return spec, blueprint, seed


def note(operation: str, identifier: str = "", **more: str) -> dict[str, Any]:
    """Return the label of a tool on notes."""
    functional = "read" if operation in ("get", "list", "search") else "write"
    return {
        "operation": operation,
        "functional": functional,
        "deterministic": True,
        "entity": more.get("entity", "note"),
        "parent": more.get("parent"),
        "identifier": identifier.split(),
        "difficulty": 3,
    }


NOTES = {
    "create_note": note("create"),
    "get_note": note("get", "note_id"),
    "list_notes": note("list"),
    "search_notes": note("search"),
    "update_note": note("update", "note_id"),
    "add_tag": note("append", "note_id", entity="tag", parent="note"),
    "delete_note": note("delete", "note_id"),
}


LAW_DEFECTS: dict[str, tuple[str, Defect]] = {
    "delete that does nothing": ("delete_note", put("delete_note/effects", {})),
    "create that creates nothing": ("create_note", put("create_note/effects/make/when", False)),
    "create into the wrong field": (
        "create_note",
        put("create_note/effects/make/fields/body", "$args.title"),
    ),
    "update into the wrong field": (
        "update_note",
        put(
            "update_note/effects/set/fields",
            {"title": {"@coalesce": ["$args.body", "$item.title"]}},
        ),
    ),
    "update that does nothing": ("update_note", put("update_note/effects", {})),
    "get by the wrong field": ("get_note", put("get_note/lookups/found/field", "title")),
    "get that shows nothing": ("get_note", put("get_note/result", {})),
    "list that shows nothing": ("list_notes", put("list_notes/result", {"notes": []})),
    "get that writes": (
        "get_note",
        put(
            "get_note/effects",
            {
                "seen": {
                    "action": "update",
                    "table": "note",
                    "target": "found",
                    "fields": {"title": "x"},
                }
            },
        ),
    ),
    "list that writes": (
        "list_notes",
        put("list_notes/effects", {"all": {"action": "delete", "table": "note", "where": True}}),
    ),
    "delete of too much": (
        "delete_note",
        put("delete_note/effects/gone", {"action": "delete", "table": "note", "where": True}),
    ),
}


@pytest.mark.parametrize("kind", sorted(LAW_DEFECTS))
def test_laws_catch_defects_where_the_spec_writes_no_rule(kind: str) -> None:
    tool, plant = LAW_DEFECTS[kind]
    spec, blueprint, seed = notes()
    body = blueprint.model_dump(mode="json")
    plant(body["tools"])
    if kind.endswith("does nothing"):
        body["tools"][tool]["result"] = {}

    admission = admit_service(spec, Blueprint.model_validate(body), seed)

    assert tool in admission.blueprint.quarantined


def test_a_compiled_service_passes_its_gates() -> None:
    admission = admit_service(*notes())

    assert admission.failures == ()
    assert admission.admitted


def test_an_answer_that_does_not_fit_its_output_schema_fails() -> None:
    spec, blueprint, seed = desk()
    body = spec.model_dump(mode="json")
    body["tools"]["get_ticket"]["output_schema"] = {
        "type": "object",
        "properties": {"ticket": {"type": "object", "properties": {"reason": {"type": "string"}}}},
    }

    admission = admit_service(ServiceSpec.model_validate(body), blueprint, seed)

    assert [(item.tool, item.rule) for item in admission.failures] == [
        ("get_ticket", "output schema")
    ]


def test_ten_tools_take_less_than_a_second_of_cpu() -> None:
    service = desk()
    admit_service(*service)
    started = time.process_time()

    admit_service(*service)

    assert time.process_time() - started < 1.0


def test_a_service_with_too_few_tools_is_not_admitted() -> None:
    body = desk_blueprint()
    body["tools"] = {name: body["tools"][name] for name in ("get_ticket", "close_ticket")}

    admission = admit_service(*desk(body))

    assert not admission.admitted
    assert admission.reason == "only 2 of its tools work; 3 are needed"


def test_a_service_of_easy_tools_is_not_admitted() -> None:
    body = desk_blueprint()
    for tool in body["tools"].values():
        tool["difficulty"] = 2

    admission = admit_service(*desk(body))

    assert not admission.admitted
    assert admission.reason == "its hardest tool has difficulty 2; 3 is needed"


def test_a_seed_link_to_nowhere_is_the_services_own_fault() -> None:
    spec, blueprint, _ = desk()
    body = desk_seed()
    body["tables"]["ticket"]["tkt_2"]["person_id"] = "per_9"

    admission = admit_service(spec, blueprint, SeedData.model_validate(body))

    assert not admission.admitted
    assert "seed link ticket.person_id" in admission.reason
    assert "per_9" in admission.reason


@pytest.mark.parametrize(("name", "is_twin"), [("Problem 1", True), ("Problem 6", False)])
def test_a_row_that_is_there_twice_is_the_services_own_fault(name: str, is_twin: bool) -> None:
    body, seed = desk_blueprint(), desk_seed()
    by_title = {"table": "ticket", "field": "title", "equals": "$args.ticket_id"}
    body["tools"]["get_ticket"]["lookups"]["titled"] = {**by_title, "optional": True}
    tickets = seed["tables"]["ticket"]
    tickets["tkt_0"] = {**tickets["tkt_1"], "id": "tkt_0", "title": name}
    spec, blueprint, _ = desk(body)

    admission = admit_service(spec, blueprint, SeedData.model_validate(seed))

    failed = {failure.rule for failure in admission.failures if not failure.tool}
    assert failed == ({"seed rows of ticket"} if is_twin else set())
    assert admission.admitted is not is_twin


def test_a_tool_that_does_not_compile_costs_only_itself() -> None:
    body = desk_blueprint()
    body["tools"]["close_ticket"]["result"] = {"ticket": "$nobody"}

    admission = admit_service(*desk(body))

    assert list(admission.blueprint.quarantined) == ["close_ticket"]
    assert admission.blueprint.quarantined["close_ticket"].reason is (
        QuarantineReason.FAILED_SELF_TEST
    )
    assert admission.admitted


def test_a_seed_that_does_not_fit_is_a_reason_and_no_exception() -> None:
    spec, blueprint, _ = desk()
    body = desk_seed()
    body["tables"]["ticket"]["tkt_2"]["status"] = "lost"

    admission = admit_service(spec, blueprint, SeedData.model_validate(body))

    assert not admission.admitted
    assert "ticket/tkt_2" in admission.reason


def test_the_same_service_gets_the_same_verdict() -> None:
    body = desk_blueprint()
    put("delete_ticket/effects/gone/when", False)(body["tools"])

    first, second = admit_service(*desk(body)), admit_service(*desk(body))

    assert first == second
