"""Reactions of the catalog touch the rows and fields that their sentences name, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.catalog_loader import load_reactions
from components.environment.reactions import services_named
from components.records.calls import RowChange
from tests.environment.catalog_parts import PARTS, service_of
from tests.environment.catalog_world import (
    address,
    catalog_world,
    done,
    person,
    team,
    thread,
    ticket,
)
from tests.environment.test_catalog_reactions import GROUPS, ripples

SWOLLEN = "Laptop battery swells and lifts the keyboard"
CONTACT = "callback_code followup_at last_contact_at status"
ON_CALL = (
    ("on_call_updates_alias", "mail.alias", "Data Platform", "deliver_to"),
    ("on_call_updates_queue", "helpdesk.queue", "Data Platform queue", "on_call_id on_call_pager"),
    (
        "on_call_updates_queue",
        "helpdesk.ticket",
        "Import of meter readings fails",
        "assignee_id",
    ),
    ("assignment_books_time", "directory.employee", "Anika Joshi", "time_code"),
)
REACH = {
    "assignment_books_time": (
        ("assignment_books_time", "directory.employee", "Dmitri Sokolov", "time_code"),
    ),
    "assignment_names_handler": (
        ("assignment_books_time", "directory.employee", "Ingrid Solheim", "time_code"),
        ("assignment_names_handler", "mail.thread", "Your swollen battery", "handler_address"),
    ),
    "closing_archives_threads": (
        (
            "closing_archives_threads",
            "mail.thread",
            "Lock of the bike cellar",
            "archive_reference status",
        ),
    ),
    "contact_books_time": (
        ("contact_books_time", "directory.employee", "Rosa Quintero", "time_code"),
        ("contact_marks_waiting", "helpdesk.ticket", SWOLLEN, CONTACT),
    ),
    "contact_marks_waiting": (
        ("contact_books_time", "directory.employee", "Marcus Okafor", "time_code"),
        ("contact_marks_waiting", "helpdesk.ticket", SWOLLEN, CONTACT),
    ),
    "contact_reopens_ticket": (
        ("contact_books_time", "directory.employee", "Marcus Okafor", "time_code"),
        (
            "contact_reopens_ticket",
            "helpdesk.ticket",
            "Bike cellar door does not lock",
            "assignee_id last_contact_at resolution status",
        ),
        ("assignment_books_time", "directory.employee", "Sipho Ndlovu", "time_code"),
        ("assignment_names_handler", "mail.thread", "Rota of next week", "handler_address"),
        ("assignment_names_handler", "mail.thread", "Lock of the bike cellar", "handler_address"),
    ),
    "forwarding_names_contact": (
        ("forwarding_names_contact", "directory.employee", "Marcus Okafor", "contact_id"),
    ),
    "leave_forwards_mail": (
        (
            "leave_forwards_mail",
            "mail.mailbox",
            "Dmitri Sokolov",
            "forward_reason forward_to",
        ),
        (
            "leave_moves_tickets",
            "helpdesk.profile",
            "dmitri.sokolov@harborline.example",
            "availability",
        ),
        (
            "leave_moves_tickets",
            "helpdesk.ticket",
            "Camera at the loading dock is offline",
            "assignee_id",
        ),
        ("assignment_books_time", "directory.employee", "Lucia Ferraro", "time_code"),
    ),
    "leave_moves_tickets": (
        (
            "leave_moves_tickets",
            "helpdesk.profile",
            "jonas.weber@harborline.example",
            "availability",
        ),
        (
            "leave_moves_tickets",
            "helpdesk.ticket",
            "Flickering light in the stairwell",
            "assignee_id",
        ),
        ("assignment_books_time", "directory.employee", "Sipho Ndlovu", "time_code"),
    ),
    "on_call_updates_alias": ON_CALL,
    "on_call_updates_queue": ON_CALL,
    "resolution_frees_time": (
        ("resolution_frees_time", "directory.employee", "Marcus Okafor", "time_code"),
    ),
    "urgency_opens_bridge": (
        (
            "urgency_notifies_on_call",
            "mail.message",
            "Urgent: HD-1038",
            "body from_address id kind reference sent_at subject thread_id ticket_id to_address",
        ),
        ("urgency_opens_bridge", "directory.team", "Workplace IT", "bridge_code"),
    ),
    **{name: rows for part in PARTS for name, rows in part.REACH.items()},
}
"""Ripple -> (reaction, table, what the row is called, changed fields), in any order."""


def _touched(change: RowChange) -> tuple[str, str, frozenset[str], str]:
    """Return reaction, table, texts that the row may be called by, and changed fields."""
    after, before = dict(change.after or {}), dict(change.before or {})
    texts = frozenset(value for value in after.values() if isinstance(value, str))
    fields = [field for field in sorted(after) if not before or before[field] != after[field]]
    cause = change.cause.removeprefix("reaction:")
    return cause, f"{change.service}.{change.table}", texts, " ".join(fields)


@pytest.mark.parametrize("name", sorted(REACH))
def test_reactions_to_one_call_change_exactly_these_fields(name: str) -> None:
    ripple = ripples()[name]
    state = catalog_world().initial
    for step in ripple.before:
        state = done(state, *step).state

    changes = done(state, *ripple.trigger).changes

    reacted = [_touched(change) for change in changes if change.cause.startswith("reaction:")]
    among = _services_around(name)
    told = [item for item in reacted if services_named(load_reactions()[item[0]]) <= among]
    for reaction, table, called, fields in REACH[name]:
        fitting = [item for item in told if item[::3] == (reaction, fields) and item[1] == table]
        told.remove(next(item for item in fitting if called in item[2]))
    assert told == []


def _services_around(name: str) -> set[str]:
    """Return the services among which a ripple's reach is written down: its group and the first."""
    owner = next((service_of(part) for part in PARTS if name in part.REACH), GROUPS[0][0])
    group = next(group for group in GROUPS if owner in group)
    return {*GROUPS[0], *group}


def test_the_reach_of_every_ripple_is_written_down() -> None:
    assert set(REACH) == set(ripples())


def quiet_calls() -> list[tuple[str, dict[str, Any]]]:
    """Return writes that no reaction listens to."""
    pair = {"from_address": address("Rosa Quintero"), "to_address": address("Amara Diallo")}
    closed = ticket("Printer on floor three prints grey pages")
    work = {"ticket_id": ticket(SWOLLEN), "time_code": "TC-9118", "minutes": 30}
    comment = {"author_id": person("Priya Raman"), "body": "Seen."}
    deputy = {"employee_id": person("Jonas Weber"), "deputy_id": person("Rosa Quintero")}
    duty = {"kind": "review", "reference": "BX-5128", "due_at": "2026-03-20T08:00:00Z"}
    mouse = {"ticket_id": ticket("Request for a left-handed mouse"), "priority": "high"}
    return [
        ("helpdesk.add_comment", {"ticket_id": ticket(SWOLLEN), **comment}),
        ("helpdesk.log_work", work),
        ("helpdesk.set_priority", mouse),
        ("helpdesk.set_records_reference", {"ticket_id": closed, "records_reference": "BX-2128"}),
        ("directory.set_deputy", deputy),
        ("directory.record_duty", {"employee_id": person("Jonas Weber"), **duty}),
        ("mail.create_draft", {**pair, "subject": "Rota of next week", "body": "Swap?"}),
        ("mail.send_message", {**pair, "subject": "Rota of next week", "body": "Swap?"}),
        ("mail.reply", {**pair, "thread_id": thread("Spring party budget"), "body": "Done."}),
        ("mail.move_thread", {"thread_id": thread("Your swollen battery"), "folder": "projects"}),
        ("mail.archive_thread", {"thread_id": thread("Spring party budget")}),
        *(step for part in PARTS for step in part.quiet_calls()),
    ]


@pytest.mark.parametrize("step", quiet_calls(), ids=lambda step: str(step[0]))
def test_other_writes_cause_no_reaction(step: tuple[str, dict[str, Any]]) -> None:
    outcome = done(catalog_world().initial, *step)

    assert {change.cause.partition(":")[0] for change in outcome.changes} == {"effect"}


def test_message_about_a_closed_ticket_leaves_it_closed() -> None:
    state = catalog_world().initial
    key = ticket("Printer on floor three prints grey pages")
    pair = {"from_address": address("Rosa Quintero"), "to_address": address("Marcus Okafor")}
    note = {"subject": "Grey again", "body": "The veil is back.", "ticket_id": key}

    outcome = done(state, "mail.send_message", {**pair, **note})

    assert not [change for change in outcome.changes if change.service == "helpdesk"]


def test_change_of_on_call_moves_no_ticket_that_somebody_holds() -> None:
    state = catalog_world().initial
    key = ticket(SWOLLEN)
    state = done(state, "helpdesk.set_priority", {"ticket_id": key, "priority": "urgent"}).state
    swap = {"team_id": team("Workplace IT"), "employee_id": person("Ingrid Solheim")}

    outcome = done(state, "directory.set_on_call", swap)

    moved = {change.row_id for change in outcome.changes if change.table == "ticket"}
    assert moved == {ticket("Video calls drop in room Fjord")}
