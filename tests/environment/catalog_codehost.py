"""The code host in the tests of the catalog: calls, ripples of its reactions, their reach."""

from __future__ import annotations

from tests.environment.catalog_cases import Case, case
from tests.environment.catalog_incidents import get_incident, pull_request, trip
from tests.environment.catalog_ripples import Ripple, Step, Touched
from tests.environment.catalog_world import person, ticket

MARCH = "2026-03-20T08:00:00Z"


def cases() -> list[Case]:
    """Return a normal call of every tool, and for each written rule a call that breaks it."""
    nothing, nobody, nowhere = "pul_000000", "emp_000000", "no-such-place"
    ready, waiting = pull_request(302), pull_request(306)
    marcus, nadia, oleg = map(person, ("Marcus Okafor", "Nadia Haddad", "Oleg Petrenko"))
    return [
        case("codehost.get_repository", repository="harbor-ledger"),
        case("codehost.get_repository", "exists", repository=nowhere),
        case("codehost.get_pull_request", pull_request_id=ready),
        case("codehost.get_pull_request", "exists", pull_request_id=nothing),
        case("codehost.get_pull_request_by_number", number="PR-309"),
        case("codehost.get_pull_request_by_number", "exists", number="PR-999"),
        case("codehost.get_member", employee_id=marcus),
        case("codehost.get_member", "exists", employee_id=nobody),
        case("codehost.request_review", pull_request_id=waiting, reviewer_id=marcus),
        case("codehost.request_review", pull_request_id=pull_request(316), reviewer_id=nadia),
        case("codehost.request_review", "exist", pull_request_id=nothing, reviewer_id=marcus),
        case("codehost.request_review", "exist", pull_request_id=waiting, reviewer_id=nobody),
        case("codehost.request_review", "open", pull_request_id=ready, reviewer_id=marcus),
        case("codehost.request_review", "not_author", pull_request_id=waiting, reviewer_id=oleg),
        case("codehost.request_review", "change", pull_request_id=waiting, reviewer_id=nadia),
        case("codehost.approve_pull_request", pull_request_id=waiting),
        case("codehost.approve_pull_request", "exists", pull_request_id=nothing),
        case("codehost.approve_pull_request", "open", pull_request_id=ready),
        case("codehost.approve_pull_request", "reviewed", pull_request_id=pull_request(316)),
        case("codehost.merge_pull_request", pull_request_id=ready),
        case("codehost.merge_pull_request", pull_request_id=pull_request(309)),
        case("codehost.merge_pull_request", "exists", pull_request_id=nothing),
        case("codehost.merge_pull_request", "approved", pull_request_id=waiting),
        case("codehost.merge_pull_request", "frozen", pull_request_id=pull_request(318)),
        case("codehost.publish_release", repository="harbor-ledger", version="7.4.2"),
        case("codehost.publish_release", "exists", repository=nowhere, version="7.4.2"),
        case("codehost.publish_release", "active", repository="crane-telemetry", version="8.2.0"),
        case("codehost.publish_release", "new", repository="harbor-ledger", version="7.4.0"),
        case("codehost.add_release_note", repository="gate-badge", clearance_code="CL-1234"),
        case("codehost.add_release_note", repository="gate-badge", crew_locator="LC-1234"),
        case("codehost.add_release_note", "exists", repository=nowhere, crew_locator="LC-1234"),
        case("codehost.add_release_note", "something", repository="gate-badge"),
    ]


def _merge(number: int) -> Step:
    return "codehost.merge_pull_request", {"pull_request_id": pull_request(number)}


def _publish(repository: str) -> Step:
    return "codehost.publish_release", {"repository": repository, "version": "9.0.0"}


def get_pull_request(number: int) -> Step:
    """Return the call that reads a pull request."""
    return "codehost.get_pull_request", {"pull_request_id": pull_request(number)}


def ripples() -> dict[str, Ripple]:
    """Return one case for each reaction of this folder that a `get` tool shows."""
    badge = ticket("Badge does not open the server room")
    fuel = ticket("Wrong currency in the fuel costs")
    return {
        "merge_clears_incident": Ripple(
            trigger=_merge(302),
            read=get_incident(2002),
            expected={"clearance_code": "CL-1303"},
        ),
        "release_opens_watch_bridge": Ripple(
            trigger=_publish("quay-portal"),
            read=get_incident(2007),
            expected={"bridge_code": "IB-2778"},
        ),
        "release_books_crew": Ripple(
            trigger=_publish("quay-portal"),
            read=("travel.get_trip", {"trip_id": trip(4004)}),
            expected={"locator": "LC-3261"},
        ),
        "merge_moves_trip_approval": Ripple(
            trigger=_merge(304),
            read=("travel.get_trip", {"trip_id": trip(4002)}),
            expected={"approver_id": person("Marcus Okafor")},
        ),
        "merge_promises_callback": Ripple(
            trigger=_merge(310),
            read=("helpdesk.get_ticket", {"ticket_id": fuel}),
            expected={"callback_code": "CB-TERN-5853", "followup_at": "2026-03-04T10:20:00Z"},
        ),
        "urgent_ticket_expedites_request": Ripple(
            trigger=("helpdesk.set_priority", {"ticket_id": badge, "priority": "urgent"}),
            read=get_pull_request(303),
            expected={"change_code": "CH-6353"},
        ),
        "leave_passes_reviews": Ripple(
            trigger=(
                "directory.set_leave",
                {"employee_id": person("Freya Lindqvist"), "until": MARCH},
            ),
            read=get_pull_request(308),
            expected={"reviewer_id": person("Marcus Okafor")},
        ),
    }


OTHERS: set[str] = set()
"""Reactions whose new values could be guessed."""
REACH: dict[str, tuple[Touched, ...]] = {
    "leave_passes_reviews": (
        ("assignment_books_time", "directory.employee", "Anika Joshi", "time_code"),
        ("assignment_names_handler", "mail.thread", "Vans counted twice", "handler_address"),
        ("command_books_time", "directory.employee", "Priya Raman", "time_code"),
        ("leave_forwards_mail", "mail.mailbox", "Freya Lindqvist", "forward_reason forward_to"),
        (
            "leave_hands_over_incidents",
            "incidents.incident",
            "INC-2001",
            "bridge_code commander_id",
        ),
        (
            "leave_moves_tickets",
            "helpdesk.profile",
            "freya.lindqvist@harborline.example",
            "availability",
        ),
        (
            "leave_moves_tickets",
            "helpdesk.ticket",
            "Duplicate rows in the vehicle table",
            "assignee_id",
        ),
        ("leave_passes_reviews", "codehost.pull_request", "PR-308", "reviewer_id"),
    ),
    "merge_clears_incident": (
        ("merge_clears_incident", "incidents.incident", "INC-2002", "clearance_code"),
        ("merge_moves_trip_approval", "travel.trip", "TR-4008", "approver_id"),
        ("merge_moves_trip_approval", "travel.trip", "TR-4010", "approver_id"),
        (
            "merge_promises_callback",
            "helpdesk.ticket",
            "Nightly sales report arrives empty",
            "callback_code followup_at",
        ),
    ),
    "merge_moves_trip_approval": (
        ("merge_clears_incident", "incidents.incident", "INC-2004", "clearance_code"),
        ("merge_moves_trip_approval", "travel.trip", "TR-4002", "approver_id"),
    ),
    "merge_promises_callback": (
        ("merge_clears_incident", "incidents.incident", "INC-2010", "clearance_code"),
        ("merge_moves_trip_approval", "travel.trip", "TR-4002", "approver_id"),
        (
            "merge_promises_callback",
            "helpdesk.ticket",
            "Wrong currency in the fuel costs",
            "callback_code followup_at",
        ),
    ),
    "release_books_crew": (
        ("release_books_crew", "travel.trip", "TR-4004", "locator"),
        ("release_books_crew", "travel.trip", "TR-4016", "locator"),
        ("release_opens_watch_bridge", "incidents.incident", "INC-2007", "bridge_code"),
    ),
    "release_opens_watch_bridge": (
        ("release_books_crew", "travel.trip", "TR-4004", "locator"),
        ("release_books_crew", "travel.trip", "TR-4016", "locator"),
        ("release_opens_watch_bridge", "incidents.incident", "INC-2007", "bridge_code"),
    ),
    "urgent_ticket_expedites_request": (
        (
            "urgency_notifies_on_call",
            "mail.message",
            "Urgent: HD-1017",
            "body from_address id kind reference sent_at subject thread_id ticket_id to_address",
        ),
        ("urgency_opens_bridge", "directory.team", "Security", "bridge_code"),
        ("urgent_ticket_alarms_desk", "incidents.incident", "INC-2003", "bridge_code"),
        ("urgent_ticket_expedites_request", "codehost.pull_request", "PR-303", "change_code"),
    ),
}
"""Ripple -> what its trigger makes reactions change, in any order."""


def quiet_calls() -> list[Step]:
    """Return writes that no reaction listens to."""
    asked = {"pull_request_id": pull_request(306), "reviewer_id": person("Marcus Okafor")}
    note = {"repository": "gate-badge", "crew_locator": "LC-1234"}
    return [
        ("codehost.add_release_note", note),
        ("codehost.approve_pull_request", {"pull_request_id": pull_request(306)}),
        ("codehost.request_review", asked),
    ]


BANNED = ("trip", "ticket", "director", "command")
"""What no description of a tool may speak of: another service's part in a reaction."""
TABLES = {"pul": ("codehost", "pull_request")}
"""Prefix of ids -> table; for arguments drawn by pattern."""
CODES = {"^CL": "CL-1234", "^PR": "PR-302", "^[a-z]": "gate-badge"}
"""Start of a pattern -> a text of it; before the plainer starts."""
