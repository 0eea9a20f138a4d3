"""Calls and ripples of the documents service, for the shared tests of the catalog."""

from __future__ import annotations

from typing import Any

from tests.environment.catalog_cases import Case, case
from tests.environment.catalog_ripples import Ripple
from tests.environment.catalog_world import address, person, row_id, ticket

TABLES = {"doc": ("documents", "document")}
"""Prefix of ids -> table, for drawn arguments."""
CODES = {"^KB": "KB-4152", "^TP": "TP-1199"}
"""Start of a pattern -> a value that fits it, for drawn arguments."""
OTHERS: tuple[str, ...] = ()
"""Reactions whose row no `get` tool shows by a known id."""
BANNED = ("event", "channel", "ticket", "director")
"""Words that would disclose a reaction in the sentences of a tool."""


def document(title: str) -> str:
    """Return a document's id."""
    return row_id("documents", "document", "title", title)


def cases() -> list[Case]:
    """Return a normal call of every tool, and for each rule a call that breaks it."""
    nothing = "doc_000000"
    plan, letter = document("Floor plan for wing C"), document("Pension letter template")
    leaflet, old = document("Leaflet on family allowances"), document("Summary of chapter four")
    due, past = {"due_at": "2026-03-27T08:00:00Z"}, {"due_at": "2026-02-20T08:00:00Z"}
    helene, rosa, marcus = map(person, ("Helene Dubois", "Rosa Quintero", "Marcus Okafor"))
    note, code = {"note": "Pictures replaced"}, {"topic_code": "TP-1199"}
    read = {"address": address("Marcus Okafor"), "level": "read"}
    return [
        case("documents.find_documents", text="energy"),
        case("documents.find_documents", number="KB-4152"),
        case("documents.find_documents", owner_id=helene, status="draft", limit=2),
        case("documents.find_documents", owner_id=helene),
        case("documents.find_documents", status="approved"),
        case("documents.get_document", document_id=leaflet),
        case("documents.get_document", "exists", document_id=nothing),
        case("documents.get_document_by_number", number="KB-4103"),
        case("documents.get_document_by_number", "exists", number="KB-9999"),
        case("documents.list_history", document_id=plan),
        case("documents.list_history", "exists", document_id=nothing),
        case("documents.request_review", document_id=plan, reviewer_id=rosa),
        case("documents.request_review", "exist", document_id=nothing, reviewer_id=rosa),
        case("documents.request_review", "exist", document_id=plan, reviewer_id="emp_000000"),
        case("documents.request_review", "draft", document_id=letter, reviewer_id=rosa),
        case("documents.request_review", "not_owner", document_id=plan, reviewer_id=helene),
        case("documents.set_review_due", document_id=leaflet, **due),
        case("documents.set_review_due", "exists", document_id=nothing, **due),
        case("documents.set_review_due", "in_review", document_id=plan, **due),
        case("documents.set_review_due", "future", document_id=leaflet, **past),
        case(
            "documents.set_review_due",
            "change",
            document_id=leaflet,
            due_at="2026-03-19T10:00:00Z",
        ),
        case("documents.publish_version", document_id=leaflet, **note),
        case("documents.publish_version", document_id=letter, **note),
        case("documents.publish_version", "exists", document_id=nothing, **note),
        case("documents.publish_version", "reviewed", document_id=plan, **note),
        case("documents.add_notice", document_id=letter, **code),
        case("documents.add_notice", "exists", document_id=nothing, **code),
        case("documents.add_notice", "approved", document_id=leaflet, **code),
        case("documents.add_notice", "new", document_id=letter, topic_code="TP-3561"),
        case("documents.share_document", document_id=plan, **read),
        case("documents.share_document", "exist", document_id=nothing, **read),
        case(
            "documents.share_document",
            "exist",
            document_id=plan,
            address=address("No Body"),
            level="read",
        ),
        case("documents.share_document", "not_archived", document_id=old, **read),
        case(
            "documents.share_document",
            "not_owner",
            document_id=plan,
            address=address("Helene Dubois"),
            level="edit",
        ),
        case(
            "documents.share_document",
            "new",
            document_id=plan,
            address=address("Rosa Quintero"),
            level="comment",
        ),
        case("documents.request_review", document_id=plan, reviewer_id=marcus),
    ]


def ripples() -> dict[str, Ripple]:
    """Return, for each reaction that documents start or suffer, a trigger and what is then read."""
    plan, letter = document("Floor plan for wing C"), document("Pension letter template")
    asking = {"document_id": plan, "reviewer_id": person("Rosa Quintero")}
    review = ("documents.request_review", asking)
    walk = row_id("calendar", "event", "subject", "Walkthrough of the new wing")
    hour = row_id("calendar", "event", "subject", "Pension question hour")
    wing = row_id("chat", "channel", "name", "wing-moves")
    talk = row_id("chat", "channel", "name", "pension-talk")
    fresh = ("documents.publish_version", {"document_id": letter, "note": "Pictures replaced"})
    statement = ticket("Pension statement names the old address")
    solving = {"ticket_id": statement, "resolution": "The address was corrected."}
    away = {"employee_id": person("Helene Dubois"), "until": "2026-03-20T08:00:00Z"}
    return {
        "review_moves_event": Ripple(
            trigger=review,
            read=("calendar.get_event", {"event_id": walk}),
            expected={"starts_at": "2026-03-27T07:30:00Z"},
        ),
        "review_assigns_huddle": Ripple(
            trigger=review,
            read=("chat.get_channel", {"channel_id": wing}),
            expected={"huddle_code": "HU-9891"},
        ),
        "publication_renews_entry_code": Ripple(
            trigger=fresh,
            read=("calendar.get_event", {"event_id": hour}),
            expected={"entry_code": "EN-7748"},
        ),
        "publication_renews_topic_code": Ripple(
            trigger=fresh,
            read=("chat.get_channel", {"channel_id": talk}),
            expected={"topic_code": "TP-9737"},
        ),
        "publication_sets_callback": Ripple(
            trigger=fresh,
            read=("helpdesk.get_ticket", {"ticket_id": statement}),
            expected={
                "callback_code": "CB-CURLEW-6848",
                "followup_at": "2026-03-03T13:15:00Z",
            },
        ),
        "solution_renews_key": Ripple(
            trigger=("helpdesk.resolve_ticket", solving),
            read=("documents.get_document", {"document_id": letter}),
            expected={"access_key": "AK-2876"},
        ),
        "leave_passes_documents": Ripple(
            trigger=("directory.set_leave", away),
            read=("documents.get_document", {"document_id": plan}),
            expected={"owner_id": person("Rosa Quintero"), "access_key": "AK-1618"},
        ),
    }


REACH: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "leave_passes_documents": (
        ("leave_forwards_mail", "mail.mailbox", "Helene Dubois", "forward_reason forward_to"),
        (
            "leave_moves_tickets",
            "helpdesk.profile",
            "helene.dubois@harborline.example",
            "availability",
        ),
        (
            "leave_passes_documents",
            "documents.document",
            "Floor plan for wing C",
            "access_key owner_id",
        ),
        (
            "leave_passes_documents",
            "documents.document",
            "Handbook for badge holders",
            "access_key owner_id",
        ),
        (
            "leave_passes_documents",
            "documents.document",
            "Supplier sheet for blinds",
            "access_key owner_id",
        ),
        ("leave_passes_events", "calendar.event", "Fire drill review", "entry_code organizer_id"),
        (
            "leave_passes_events",
            "calendar.event",
            "Heating round in Bergen",
            "entry_code organizer_id",
        ),
        (
            "leave_passes_events",
            "calendar.event",
            "Spring party planning",
            "entry_code organizer_id",
        ),
    ),
    "publication_renews_entry_code": (
        ("publication_renews_entry_code", "calendar.event", "Pension question hour", "entry_code"),
        ("publication_renews_topic_code", "chat.channel", "pension-talk", "topic_code"),
        (
            "publication_sets_callback",
            "helpdesk.ticket",
            "Pension statement names the old address",
            "callback_code followup_at",
        ),
    ),
    "publication_renews_topic_code": (
        ("publication_renews_entry_code", "calendar.event", "Pension question hour", "entry_code"),
        ("publication_renews_topic_code", "chat.channel", "pension-talk", "topic_code"),
        (
            "publication_sets_callback",
            "helpdesk.ticket",
            "Pension statement names the old address",
            "callback_code followup_at",
        ),
    ),
    "publication_sets_callback": (
        ("publication_renews_entry_code", "calendar.event", "Pension question hour", "entry_code"),
        ("publication_renews_topic_code", "chat.channel", "pension-talk", "topic_code"),
        (
            "publication_sets_callback",
            "helpdesk.ticket",
            "Pension statement names the old address",
            "callback_code followup_at",
        ),
    ),
    "review_assigns_huddle": (
        ("review_assigns_huddle", "chat.channel", "wing-moves", "huddle_code"),
        ("review_moves_event", "calendar.event", "Walkthrough of the new wing", "starts_at"),
    ),
    "review_moves_event": (
        ("review_assigns_huddle", "chat.channel", "wing-moves", "huddle_code"),
        ("review_moves_event", "calendar.event", "Walkthrough of the new wing", "starts_at"),
    ),
    "solution_renews_key": (
        ("solution_renews_key", "documents.document", "Pension letter template", "access_key"),
    ),
}
"""Ripple -> (reaction, table, what the row is called, changed fields), in any order."""


def quiet_calls() -> list[tuple[str, dict[str, Any]]]:
    """Return writes that no reaction listens to."""
    plan, leaflet = document("Floor plan for wing C"), document("Leaflet on family allowances")
    letter, reader = document("Pension letter template"), address("Marcus Okafor")
    return [
        ("documents.set_review_due", {"document_id": leaflet, "due_at": "2026-03-27T08:00:00Z"}),
        ("documents.add_notice", {"document_id": letter, "topic_code": "TP-1199"}),
        ("documents.share_document", {"document_id": plan, "address": reader, "level": "read"}),
    ]
