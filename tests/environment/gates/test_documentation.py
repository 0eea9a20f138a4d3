"""The documentation gate: it lets sound services through and finds tools that belie their words."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.gates.run import admit_service
from components.records.base import to_json
from components.records.blueprint import Blueprint, QuarantineReason
from components.records.frozen import thaw
from tests.environment.gates.handmade import SERVERS, compiled

GONE = {"action": "delete", "table": "note", "target": "found"}


@pytest.mark.parametrize("name", sorted(SERVERS))
def test_a_sound_service_keeps_its_promises(name: str) -> None:
    spec, blueprint, seed = compiled(name)

    admission = admit_service(spec, blueprint, seed)

    assert admission.failures == ()
    assert sorted(admission.blueprint.tools) == sorted(spec.tools)


LIES: dict[str, tuple[str, dict[str, Any]]] = {
    "a get that deletes": ("get_note", {"effects": {"gone": GONE}}),
    "a list of another table": ("list_comments", {"query": {"table": "note"}}),
    "a create that makes nothing": ("create_note", {"effects": {}, "result": {"made": True}}),
    "a delete that updates": (
        "delete_note",
        {"effects": {"set": {**GONE, "action": "update", "fields": {"title": "gone"}}}},
    ),
    "a get of whatever is first": (
        "get_note",
        {"lookups": {"found": {"table": "note", "where": {"first": True}}}},
    ),
    "a search that finds everything": ("search_notes", {"query": {"table": "note"}}),
    "a list that shows one": (
        "list_notes",
        {
            "query": None,
            "lookups": {"found": {"table": "note", "where": {"first": True}}},
            "result": {"note": "$found"},
        },
    ),
}


@pytest.mark.parametrize("lie", sorted(LIES))
def test_a_tool_that_belies_its_words_is_found(lie: str) -> None:
    name, parts = LIES[lie]
    spec, blueprint, seed = compiled("notes")
    body = thaw(to_json(blueprint))
    body["tools"][name].update(parts)

    admission = admit_service(spec, Blueprint.model_validate(body), seed)

    gates = {failure.gate for failure in admission.failures if failure.tool == name}
    assert "documentation" in gates
    assert name in admission.blueprint.quarantined


def test_its_quarantine_has_a_reason_of_its_own() -> None:
    spec, blueprint, seed = compiled("notes")
    body = thaw(to_json(blueprint))
    body["tools"]["list_comments"]["query"] = {"table": "note"}
    body["tools"]["list_comments"]["result"] = {"notes": "$rows"}

    admission = admit_service(spec, Blueprint.model_validate(body), seed)

    reason = admission.blueprint.quarantined["list_comments"].reason
    assert reason is QuarantineReason.FAILED_DOCUMENTATION


def test_a_simulated_tool_promises_nothing() -> None:
    spec, blueprint, seed = compiled("notes")
    body = thaw(to_json(blueprint))
    body["tools"]["get_note"] = {
        "operation": "external",
        "functional": "read",
        "simulated": True,
        "result": {"simulated": True, "note": {"title": "x"}},
    }

    admission = admit_service(spec, Blueprint.model_validate(body), seed)

    assert "get_note" in admission.blueprint.tools
