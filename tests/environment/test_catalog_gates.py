"""Defects planted in the built-in services that only a second call, a page or an option shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from components.environment.catalog_loader import builtin_services, load_service
from components.environment.gates.run import admit_service
from components.records.base import to_json
from components.records.blueprint import Blueprint
from components.records.frozen import thaw

Defect = Callable[[dict[str, Any]], object]

DEFECTS: dict[str, tuple[str, str, Defect]] = {
    "a cursor is not looked at": (
        "directory",
        "find_employees",
        lambda tool: tool["query"].pop("cursor"),
    ),
    "no cursor is given": (
        "helpdesk",
        "list_queue_tickets",
        lambda tool: tool["result"].pop("next_cursor"),
    ),
    "an option is not written": (
        "mail",
        "reply",
        lambda tool: tool["effects"]["message"]["fields"].pop("reference"),
    ),
    "an option that names a row is not written": (
        "mail",
        "send_message",
        lambda tool: tool["effects"]["message"]["fields"].pop("ticket_id"),
    ),
    "the rule of an option is not checked": (
        "mail",
        "send_message",
        lambda tool: tool["checks"].pop("ticket"),
    ),
    "the same is recorded twice": (
        "directory",
        "record_duty",
        lambda tool: tool["checks"].pop("new"),
    ),
    "a past time is taken": (
        "directory",
        "set_leave",
        lambda tool: tool["checks"].pop("future"),
    ),
    "a past time has another code": (
        "directory",
        "set_leave",
        lambda tool: tool["checks"]["future"].update(code="conflict"),
    ),
}


@pytest.mark.parametrize("kind", sorted(DEFECTS))
def test_a_defect_planted_in_the_catalog_is_found(kind: str) -> None:
    service, name, plant = DEFECTS[kind]
    loaded = load_service(service)
    body = thaw(to_json(loaded.blueprint))
    plant(body["tools"][name])

    admission = admit_service(loaded.spec, Blueprint.model_validate(body), loaded.seed)

    assert sorted(admission.blueprint.quarantined) == [name]


@pytest.mark.parametrize("service", builtin_services())
def test_the_catalog_passes_its_gates(service: str) -> None:
    loaded = load_service(service)

    admission = admit_service(loaded.spec, loaded.blueprint, loaded.seed)

    assert admission.failures == ()
    assert admission.admitted
