"""Calls and ripples of the chat service, for the shared tests of the catalog."""

from __future__ import annotations

from typing import Any

from tests.environment.catalog_cases import Case, case
from tests.environment.catalog_ripples import Ripple
from tests.environment.catalog_world import person, row_id, team, ticket

TABLES = {"chn": ("chat", "channel"), "hnd": ("chat", "handle")}
"""Prefix of ids -> table, for drawn arguments."""
CODES = {"^AK": "AK-1199", "^EN": "EN-1199", "^[a-z]+(-": "wing-moves"}
"""Start of a pattern -> a value that fits it, for drawn arguments."""
OTHERS: tuple[str, ...] = ()
"""Reactions whose row no `get` tool shows by a known id."""
BANNED = ("event", "document", "ticket", "director", "mail")
"""Words that would disclose a reaction in the sentences of a tool."""


def channel(name: str) -> str:
    """Return a channel's id."""
    return row_id("chat", "channel", "name", name)


def cases() -> list[Case]:
    """Return a normal call of every tool, and for each rule a call that breaks it."""
    nothing = "chn_000000"
    wing, old, licences = map(channel, ("wing-moves", "reading-group", "licence-corner"))
    live, bare = channel("night-reports"), channel("fire-wardens")
    written = {"author_id": person("Priya Raman"), "body": "Ready."}
    due, past = {"remind_at": "2026-03-20T08:00:00Z"}, {"remind_at": "2026-02-20T08:00:00Z"}
    topic = {"topic": "Doors first, then desks"}
    payroll = row_id("chat", "handle", "name", "payroll-desk")
    return [
        case("chat.find_handles", text="desk", limit=2),
        case("chat.find_handles", team_id=team("Payroll")),
        case("chat.get_handle", handle_id=payroll),
        case("chat.get_handle", "exists", handle_id="hnd_000000"),
        case("chat.get_channel", channel_id=licences),
        case("chat.get_channel", "exists", channel_id=nothing),
        case("chat.get_channel_by_name", name="wing-moves"),
        case("chat.get_channel_by_name", "exists", name="no-where"),
        case("chat.open_huddle", channel_id=wing),
        case("chat.open_huddle", "exists", channel_id=nothing),
        case("chat.open_huddle", "open", channel_id=live),
        case("chat.open_huddle", "topic", channel_id=bare),
        case("chat.pin_topic", channel_id=wing, **topic),
        case("chat.pin_topic", "exists", channel_id=nothing, **topic),
        case("chat.pin_topic", "not_archived", channel_id=old, **topic),
        case("chat.pin_topic", "change", channel_id=live, topic="The job runs at two"),
        case("chat.post_message", channel_id=wing, **written),
        case(
            "chat.post_message",
            channel_id=wing,
            **written,
            entry_code="EN-1199",
            access_key="AK-1199",
        ),
        case("chat.post_message", "exist", channel_id=nothing, **written),
        case("chat.post_message", "exist", channel_id=wing, author_id="emp_000000", body="Ready."),
        case("chat.post_message", "not_archived", channel_id=old, **written),
        case("chat.set_reminder", channel_id=wing, **due),
        case("chat.set_reminder", "exists", channel_id=nothing, **due),
        case("chat.set_reminder", "not_archived", channel_id=old, **due),
        case("chat.set_reminder", "future", channel_id=wing, **past),
        case("chat.set_reminder", "new", channel_id=licences, remind_at="2026-03-02T11:37:00Z"),
        case("chat.archive_channel", channel_id=wing),
        case("chat.archive_channel", "exists", channel_id=nothing),
        case("chat.archive_channel", "open", channel_id=live),
        case("chat.archive_channel", "no_reminder", channel_id=licences),
    ]


def ripples() -> dict[str, Ripple]:
    """Return, for each reaction that channels start or suffer, a trigger and what is then read."""
    wing, blinds = channel("wing-moves"), ticket("Broken blind in meeting room Skerry")
    walk = row_id("calendar", "event", "subject", "Walkthrough of the new wing")
    plan = row_id("documents", "document", "title", "Floor plan for wing C")
    facilities = row_id("chat", "handle", "name", "facilities-desk")
    live = ("chat.open_huddle", {"channel_id": wing})
    topic = ("chat.pin_topic", {"channel_id": wing, "topic": "Doors first, then desks"})
    about_event = ("calendar.get_event", {"event_id": walk})
    about_plan = ("documents.get_document", {"document_id": plan})
    rosa, nadia = person("Rosa Quintero"), person("Nadia Haddad")
    swap = {"team_id": team("Facilities"), "employee_id": rosa}
    about_blinds = ("chat.get_channel", {"channel_id": channel("window-care")})
    return {
        "huddle_opens_event": Ripple(
            trigger=live,
            read=about_event,
            expected={"entry_code": "EN-9520"},
        ),
        "topic_renews_entry_code": Ripple(
            trigger=topic,
            read=about_event,
            expected={"entry_code": "EN-3086"},
        ),
        "huddle_unlocks_document": Ripple(
            trigger=live,
            read=about_plan,
            expected={"access_key": "AK-8445"},
        ),
        "topic_renews_key": Ripple(
            trigger=topic,
            read=about_plan,
            expected={"access_key": "AK-9062"},
        ),
        "archiving_seals_document": Ripple(
            trigger=("chat.archive_channel", {"channel_id": wing}),
            read=about_plan,
            expected={"access_key": "AK-1291"},
        ),
        "huddle_sets_callback": Ripple(
            trigger=live,
            read=(
                "helpdesk.get_ticket",
                {"ticket_id": ticket("Review of door rights for the new wing")},
            ),
            expected={
                "callback_code": "CB-OSPREY-3276",
                "followup_at": "2026-03-02T16:00:00Z",
            },
        ),
        "huddle_books_time": Ripple(
            trigger=live,
            read=("directory.get_employee", {"employee_id": nadia}),
            expected={"time_code": "TC-1719"},
        ),
        "on_call_passes_handle": Ripple(
            trigger=("directory.set_on_call", swap),
            read=("chat.get_handle", {"handle_id": facilities}),
            expected={
                "holder_id": rosa,
                "ring_code": "RG-1511",
                "backup_id": person("Sipho Ndlovu"),
            },
        ),
        "urgency_assigns_huddle": Ripple(
            trigger=("helpdesk.set_priority", {"ticket_id": blinds, "priority": "urgent"}),
            read=about_blinds,
            expected={"huddle_code": "HU-6901"},
        ),
        "assignment_renews_topic_code": Ripple(
            trigger=("helpdesk.assign_ticket", {"ticket_id": blinds, "assignee_id": rosa}),
            read=about_blinds,
            expected={"topic_code": "TP-6954"},
        ),
        "leave_passes_channels": Ripple(
            trigger=(
                "directory.set_leave",
                {"employee_id": nadia, "until": "2026-03-20T08:00:00Z"},
            ),
            read=("chat.get_channel", {"channel_id": wing}),
            expected={"owner_id": person("Dmitri Sokolov"), "topic_code": "TP-8343"},
        ),
    }


REACH: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "archiving_seals_document": (
        ("archiving_seals_document", "documents.document", "Floor plan for wing C", "access_key"),
    ),
    "assignment_renews_topic_code": (
        ("assignment_books_time", "directory.employee", "Rosa Quintero", "time_code"),
        ("assignment_renews_topic_code", "chat.channel", "window-care", "topic_code"),
    ),
    "huddle_books_time": (
        ("huddle_books_time", "directory.employee", "Nadia Haddad", "time_code"),
        ("huddle_opens_event", "calendar.event", "Walkthrough of the new wing", "entry_code"),
        (
            "huddle_sets_callback",
            "helpdesk.ticket",
            "Review of door rights for the new wing",
            "callback_code followup_at",
        ),
        ("huddle_unlocks_document", "documents.document", "Floor plan for wing C", "access_key"),
    ),
    "huddle_opens_event": (
        ("huddle_books_time", "directory.employee", "Nadia Haddad", "time_code"),
        ("huddle_opens_event", "calendar.event", "Walkthrough of the new wing", "entry_code"),
        (
            "huddle_sets_callback",
            "helpdesk.ticket",
            "Review of door rights for the new wing",
            "callback_code followup_at",
        ),
        ("huddle_unlocks_document", "documents.document", "Floor plan for wing C", "access_key"),
    ),
    "huddle_sets_callback": (
        ("huddle_books_time", "directory.employee", "Nadia Haddad", "time_code"),
        ("huddle_opens_event", "calendar.event", "Walkthrough of the new wing", "entry_code"),
        (
            "huddle_sets_callback",
            "helpdesk.ticket",
            "Review of door rights for the new wing",
            "callback_code followup_at",
        ),
        ("huddle_unlocks_document", "documents.document", "Floor plan for wing C", "access_key"),
    ),
    "huddle_unlocks_document": (
        ("huddle_books_time", "directory.employee", "Nadia Haddad", "time_code"),
        ("huddle_opens_event", "calendar.event", "Walkthrough of the new wing", "entry_code"),
        (
            "huddle_sets_callback",
            "helpdesk.ticket",
            "Review of door rights for the new wing",
            "callback_code followup_at",
        ),
        ("huddle_unlocks_document", "documents.document", "Floor plan for wing C", "access_key"),
    ),
    "leave_passes_channels": (
        ("leave_forwards_mail", "mail.mailbox", "Nadia Haddad", "forward_reason forward_to"),
        (
            "leave_moves_tickets",
            "helpdesk.profile",
            "nadia.haddad@harborline.example",
            "availability",
        ),
        ("leave_passes_channels", "chat.channel", "fire-wardens", "owner_id topic_code"),
        ("leave_passes_channels", "chat.channel", "wing-moves", "owner_id topic_code"),
        (
            "leave_passes_documents",
            "documents.document",
            "Access policy for the bucket",
            "access_key owner_id",
        ),
        ("leave_passes_events", "calendar.event", "Access card drill", "entry_code organizer_id"),
        (
            "leave_passes_events",
            "calendar.event",
            "Phishing tabletop exercise",
            "entry_code organizer_id",
        ),
    ),
    "on_call_passes_handle": (
        ("assignment_books_time", "directory.employee", "Rosa Quintero", "time_code"),
        (
            "on_call_passes_handle",
            "chat.handle",
            "facilities-desk",
            "backup_id holder_id ring_code",
        ),
        ("on_call_updates_alias", "mail.alias", "Facilities", "deliver_to"),
        ("on_call_updates_queue", "helpdesk.queue", "Facilities queue", "on_call_id on_call_pager"),
        (
            "on_call_updates_queue",
            "helpdesk.ticket",
            "Water stain on the ceiling above the archive",
            "assignee_id",
        ),
    ),
    "topic_renews_entry_code": (
        ("topic_renews_entry_code", "calendar.event", "Walkthrough of the new wing", "entry_code"),
        ("topic_renews_key", "documents.document", "Floor plan for wing C", "access_key"),
    ),
    "topic_renews_key": (
        ("topic_renews_entry_code", "calendar.event", "Walkthrough of the new wing", "entry_code"),
        ("topic_renews_key", "documents.document", "Floor plan for wing C", "access_key"),
    ),
    "urgency_assigns_huddle": (
        ("urgency_assigns_huddle", "chat.channel", "window-care", "huddle_code"),
        (
            "urgency_notifies_on_call",
            "mail.message",
            "Urgent: HD-1030",
            "body from_address id kind reference sent_at subject thread_id ticket_id to_address",
        ),
        ("urgency_opens_bridge", "directory.team", "Facilities", "bridge_code"),
    ),
}
"""Ripple -> (reaction, table, what the row is called, changed fields), in any order."""


def quiet_calls() -> list[tuple[str, dict[str, Any]]]:
    """Return writes that no reaction listens to."""
    wing, priya = channel("wing-moves"), person("Priya Raman")
    return [
        ("chat.post_message", {"channel_id": wing, "author_id": priya, "body": "Ready."}),
        ("chat.set_reminder", {"channel_id": wing, "remind_at": "2026-03-20T08:00:00Z"}),
    ]
