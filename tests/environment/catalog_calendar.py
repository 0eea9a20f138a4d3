"""Calls and ripples of the calendar service, for the shared tests of the catalog."""

from __future__ import annotations

from typing import Any

from tests.environment.catalog_cases import Case, case
from tests.environment.catalog_ripples import Ripple
from tests.environment.catalog_world import person, row_id

TABLES = {"cal": ("calendar", "event")}
"""Prefix of ids -> table, for drawn arguments."""
CODES = {"^AK": "AK-1199", "^EV": "EV-2052", "^HU": "HU-1199", "^[A-Z][a-z]": "Firth"}
"""Start of a pattern -> a value that fits it, for drawn arguments."""
OTHERS: tuple[str, ...] = ()
"""Reactions whose row no `get` tool shows by a known id."""
BANNED = ("channel", "document", "director", "mail")
"""Words that would disclose a reaction in the sentences of a tool."""


def event(subject: str) -> str:
    """Return an event's id."""
    return row_id("calendar", "event", "subject", subject)


def cases() -> list[Case]:
    """Return a normal call of every tool, and for each rule a call that breaks it."""
    nothing, nobody = "cal_000000", "emp_000000"
    wing, tour = event("Walkthrough of the new wing"), event("Blinds and shades tour")
    cancelled, past = event("Reading group kickoff"), event("Nightly report retrospective")
    briefing, welcome = event("Family leave briefing"), event("Onboarding day in Leith")
    agenda, bridge = {"access_key": "AK-1199"}, {"huddle_code": "HU-1199"}
    priya, helene = person("Priya Raman"), person("Helene Dubois")
    return [
        case("calendar.search_events", text="review"),
        case("calendar.search_events", number="EV-2052"),
        case("calendar.search_events", organizer_id=helene, status="planned", limit=2),
        case("calendar.search_events", organizer_id=helene),
        case("calendar.search_events", room="Skerry"),
        case("calendar.search_events", status="confirmed"),
        case("calendar.get_event", event_id=tour),
        case("calendar.get_event", "exists", event_id=nothing),
        case("calendar.get_event_by_number", number="EV-2031"),
        case("calendar.get_event_by_number", "exists", number="EV-9999"),
        case("calendar.get_room", room="Tarn"),
        case("calendar.get_room", "exists", room="Nowhere"),
        case("calendar.confirm_event", event_id=wing),
        case("calendar.confirm_event", "exists", event_id=nothing),
        case("calendar.confirm_event", "planned", event_id=tour),
        case("calendar.confirm_event", "room", event_id=event("Pension question hour")),
        case("calendar.confirm_event", "guests", event_id=event("Fire drill review")),
        case("calendar.book_room", event_id=wing, room="Moor"),
        case("calendar.book_room", "exist", event_id=nothing, room="Moor"),
        case("calendar.book_room", "exist", event_id=wing, room="Nowhere"),
        case("calendar.book_room", "not_cancelled", event_id=cancelled, room="Moor"),
        case("calendar.book_room", "change", event_id=wing, room="Fjord"),
        case("calendar.book_room", "free", event_id=briefing, room="Bothy"),
        case("calendar.book_room", "seats", event_id=welcome, room="Tarn"),
        case("calendar.invite_attendee", event_id=wing, employee_id=person("Lucia Ferraro")),
        case("calendar.invite_attendee", "exist", event_id=nothing, employee_id=priya),
        case("calendar.invite_attendee", "exist", event_id=wing, employee_id=nobody),
        case("calendar.invite_attendee", "not_cancelled", event_id=cancelled, employee_id=priya),
        case("calendar.invite_attendee", "coming", event_id=past, employee_id=priya),
        case("calendar.invite_attendee", "new", event_id=wing, employee_id=priya),
        case("calendar.attach_agenda", event_id=wing, **agenda),
        case("calendar.attach_agenda", "exists", event_id=nothing, **agenda),
        case("calendar.attach_agenda", "not_cancelled", event_id=cancelled, **agenda),
        case("calendar.attach_agenda", "new", event_id=wing, access_key="AK-8002"),
        case("calendar.add_bridge", event_id=tour, **bridge),
        case("calendar.add_bridge", "exists", event_id=nothing, **bridge),
        case("calendar.add_bridge", "confirmed", event_id=wing, **bridge),
        case("calendar.add_bridge", "new", event_id=tour, huddle_code="HU-6739"),
    ]


def ripples() -> dict[str, Ripple]:
    """Return, for each reaction that events start, a trigger and what is then read elsewhere."""
    wing = event("Walkthrough of the new wing")
    channel = {"channel_id": row_id("chat", "channel", "name", "wing-moves")}
    plan = row_id("documents", "document", "title", "Floor plan for wing C")
    confirming = ("calendar.confirm_event", {"event_id": wing})
    moving = ("calendar.book_room", {"event_id": wing, "room": "Moor"})
    asking = {"event_id": wing, "employee_id": person("Lucia Ferraro")}
    rosa = {"employee_id": person("Rosa Quintero"), "until": "2026-03-20T08:00:00Z"}
    return {
        "confirmation_assigns_huddle": Ripple(
            trigger=confirming,
            read=("chat.get_channel", channel),
            expected={"huddle_code": "HU-8888"},
        ),
        "room_change_renews_topic_code": Ripple(
            trigger=moving,
            read=("chat.get_channel", channel),
            expected={"topic_code": "TP-3672"},
        ),
        "confirmation_releases_agenda": Ripple(
            trigger=confirming,
            read=("documents.get_document", {"document_id": plan}),
            expected={"access_key": "AK-3467"},
        ),
        "room_change_renews_key": Ripple(
            trigger=moving,
            read=("documents.get_document", {"document_id": plan}),
            expected={"access_key": "AK-8172"},
        ),
        "invitation_books_time": Ripple(
            trigger=("calendar.invite_attendee", asking),
            read=("directory.get_employee", {"employee_id": person("Lucia Ferraro")}),
            expected={"time_code": "TC-4354"},
        ),
        "leave_passes_events": Ripple(
            trigger=("directory.set_leave", rosa),
            read=("calendar.get_event", {"event_id": wing}),
            expected={"organizer_id": person("Helene Dubois"), "entry_code": "EN-3420"},
        ),
    }


REACH: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "confirmation_assigns_huddle": (
        ("confirmation_assigns_huddle", "chat.channel", "wing-moves", "huddle_code"),
        (
            "confirmation_releases_agenda",
            "documents.document",
            "Floor plan for wing C",
            "access_key",
        ),
    ),
    "confirmation_releases_agenda": (
        ("confirmation_assigns_huddle", "chat.channel", "wing-moves", "huddle_code"),
        (
            "confirmation_releases_agenda",
            "documents.document",
            "Floor plan for wing C",
            "access_key",
        ),
    ),
    "invitation_books_time": (
        ("invitation_books_time", "directory.employee", "Lucia Ferraro", "time_code"),
    ),
    "leave_passes_events": (
        ("assignment_books_time", "directory.employee", "Helene Dubois", "time_code"),
        (
            "assignment_names_handler",
            "mail.thread",
            "Plan of the reporting corner",
            "handler_address",
        ),
        ("leave_forwards_mail", "mail.mailbox", "Rosa Quintero", "forward_reason forward_to"),
        (
            "leave_moves_tickets",
            "helpdesk.profile",
            "rosa.quintero@harborline.example",
            "availability",
        ),
        (
            "leave_moves_tickets",
            "helpdesk.ticket",
            "Desk move for the reporting corner",
            "assignee_id",
        ),
        ("leave_passes_channels", "chat.channel", "badge-desk", "owner_id topic_code"),
        ("leave_passes_channels", "chat.channel", "spring-party", "owner_id topic_code"),
        (
            "leave_passes_documents",
            "documents.document",
            "Checklist for radiators",
            "access_key owner_id",
        ),
        (
            "leave_passes_documents",
            "documents.document",
            "Evacuation map of Nantes",
            "access_key owner_id",
        ),
        (
            "leave_passes_events",
            "calendar.event",
            "Blinds and shades tour",
            "entry_code organizer_id",
        ),
        (
            "leave_passes_events",
            "calendar.event",
            "Walkthrough of the new wing",
            "entry_code organizer_id",
        ),
    ),
    "room_change_renews_key": (
        ("room_change_renews_key", "documents.document", "Floor plan for wing C", "access_key"),
        ("room_change_renews_topic_code", "chat.channel", "wing-moves", "topic_code"),
    ),
    "room_change_renews_topic_code": (
        ("room_change_renews_key", "documents.document", "Floor plan for wing C", "access_key"),
        ("room_change_renews_topic_code", "chat.channel", "wing-moves", "topic_code"),
    ),
}
"""Ripple -> (reaction, table, what the row is called, changed fields), in any order."""


def quiet_calls() -> list[tuple[str, dict[str, Any]]]:
    """Return writes that no reaction listens to."""
    wing, tour = event("Walkthrough of the new wing"), event("Blinds and shades tour")
    return [
        ("calendar.attach_agenda", {"event_id": wing, "access_key": "AK-1199"}),
        ("calendar.add_bridge", {"event_id": tour, "huddle_code": "HU-1199"}),
    ]
