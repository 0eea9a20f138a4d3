"""The incident desk in the tests of the catalog: calls, ripples of its reactions, their reach."""

from __future__ import annotations

from typing import Any

from tests.environment.catalog_cases import Case, case
from tests.environment.catalog_ripples import Ripple, Step, Touched
from tests.environment.catalog_world import person, row_id, ticket

MARCH = "2026-03-20T08:00:00Z"


def incident(number: int) -> str:
    """Return an incident's id."""
    return row_id("incidents", "incident", "number", f"INC-{number}")


def pull_request(number: int) -> str:
    """Return a pull request's id."""
    return row_id("codehost", "pull_request", "number", f"PR-{number}")


def trip(code: int) -> str:
    """Return a trip's id."""
    return row_id("travel", "trip", "code", f"TR-{code}")


def cases() -> list[Case]:
    """Return a normal call of every tool, and for each written rule a call that breaks it."""
    nothing, nobody = "inc_000000", "emp_000000"
    calm, free, closed = incident(2004), incident(2005), incident(2012)
    quiet = incident(2015)
    yusuf, anika, priya = map(person, ("Yusuf Demir", "Anika Joshi", "Priya Raman"))
    return [
        case("incidents.search_incidents", text="quay", status="open"),
        case("incidents.search_incidents", text="berth", limit=1),
        case("incidents.search_incidents", number="INC-2006"),
        case("incidents.search_incidents", commander_id=yusuf),
        case("incidents.get_incident", incident_id=calm),
        case("incidents.get_incident", "exists", incident_id=nothing),
        case("incidents.get_incident_by_number", number="INC-2009"),
        case("incidents.get_incident_by_number", "exists", number="INC-9999"),
        case("incidents.get_responder", employee_id=priya),
        case("incidents.get_responder", "exists", employee_id=nobody),
        case("incidents.list_actions", incident_id=incident(2009)),
        case("incidents.list_actions", "exists", incident_id=nothing),
        case("incidents.assign_commander", incident_id=calm, commander_id=anika),
        case("incidents.assign_commander", incident_id=free, commander_id=priya),
        case("incidents.assign_commander", "exist", incident_id=nothing, commander_id=anika),
        case("incidents.assign_commander", "exist", incident_id=calm, commander_id=nobody),
        case("incidents.assign_commander", "open", incident_id=closed, commander_id=anika),
        case("incidents.assign_commander", "change", incident_id=calm, commander_id=yusuf),
        case("incidents.assign_commander", "lead", incident_id=incident(2009), commander_id=priya),
        case("incidents.raise_severity", incident_id=calm, severity="critical"),
        case("incidents.raise_severity", "exists", incident_id=nothing, severity="critical"),
        case("incidents.raise_severity", "open", incident_id=incident(2014), severity="critical"),
        case("incidents.raise_severity", "upwards", incident_id=incident(2002), severity="major"),
        case("incidents.raise_severity", "led", incident_id=incident(2001), severity="critical"),
        case("incidents.raise_severity", incident_id=incident(2001), severity="major"),
        case("incidents.close_incident", incident_id=calm),
        case("incidents.close_incident", incident_id=incident(2009)),
        case("incidents.close_incident", "exists", incident_id=nothing),
        case("incidents.close_incident", "open", incident_id=closed),
        case("incidents.close_incident", "commanded", incident_id=free),
        case("incidents.close_incident", "acted", incident_id=quiet),
        case("incidents.record_action", incident_id=quiet, kind="containment"),
        case("incidents.record_action", incident_id=closed, kind="review"),
        case(
            "incidents.record_action",
            incident_id=calm,
            kind="recovery",
            change_code="CH-7408",
            locator="LC-3261",
        ),
        case("incidents.record_action", "exists", incident_id=nothing, kind="review"),
        case("incidents.record_action", "containment", incident_id=closed, kind="containment"),
    ]


def _raise(number: int) -> Step:
    return "incidents.raise_severity", {"incident_id": incident(number), "severity": "critical"}


def _close(number: int) -> Step:
    return "incidents.close_incident", {"incident_id": incident(number)}


def _command(number: int, name: str) -> Step:
    taken = {"incident_id": incident(number), "commander_id": person(name)}
    return "incidents.assign_commander", taken


def get_incident(number: int) -> Step:
    """Return the call that reads an incident."""
    return "incidents.get_incident", {"incident_id": incident(number)}


def _get_trip(code: int) -> Step:
    return "travel.get_trip", {"trip_id": trip(code)}


def ripples() -> dict[str, Ripple]:
    """Return one case for each reaction of this folder that a `get` tool shows."""
    overtime = ticket("Overtime of January is missing on the payslip")
    return {
        "critical_incident_freezes_repository": Ripple(
            trigger=_raise(2004),
            read=("codehost.get_repository", {"repository": "harbor-ledger"}),
            expected={"status": "frozen", "change_code": "CH-8388"},
        ),
        "closed_incident_boards_train": Ripple(
            trigger=_close(2006),
            read=("codehost.get_pull_request", {"pull_request_id": pull_request(306)}),
            expected={"change_code": "CH-7408"},
        ),
        "critical_incident_lifts_fare": Ripple(
            trigger=_raise(2004),
            read=_get_trip(4002),
            expected={"locator": "LC-1811"},
        ),
        "closed_incident_returns_crew": Ripple(
            trigger=_close(2008),
            read=_get_trip(4005),
            expected={"locator": "LC-2650"},
        ),
        "command_books_time": Ripple(
            trigger=_command(2004, "Anika Joshi"),
            read=("directory.get_employee", {"employee_id": person("Anika Joshi")}),
            expected={"time_code": "TC-3514"},
        ),
        "critical_incident_promises_callback": Ripple(
            trigger=_raise(2002),
            read=(
                "helpdesk.get_ticket",
                {"ticket_id": ticket("Nightly sales report arrives empty")},
            ),
            expected={"callback_code": "CB-TERN-9970", "followup_at": "2026-03-04T10:20:00Z"},
        ),
        "urgent_ticket_alarms_desk": Ripple(
            trigger=("helpdesk.set_priority", {"ticket_id": overtime, "priority": "urgent"}),
            read=get_incident(2005),
            expected={"commander_id": person("Amara Diallo"), "bridge_code": "IB-4657"},
        ),
        "leave_hands_over_incidents": Ripple(
            trigger=(
                "directory.set_leave",
                {"employee_id": person("Anika Joshi"), "until": MARCH},
            ),
            read=get_incident(2002),
            expected={"commander_id": person("Ingrid Solheim"), "bridge_code": "IB-7256"},
        ),
    }


OTHERS = {"closed_incident_ends_freeze"}
"""The new values could be guessed: a test of its own."""
REACH: dict[str, tuple[Touched, ...]] = {
    "closed_incident_boards_train": (
        ("closed_incident_boards_train", "codehost.pull_request", "PR-306", "change_code"),
        ("closed_incident_returns_crew", "travel.trip", "TR-4003", "locator"),
    ),
    "closed_incident_returns_crew": (
        ("closed_incident_boards_train", "codehost.pull_request", "PR-308", "change_code"),
        ("closed_incident_returns_crew", "travel.trip", "TR-4005", "locator"),
    ),
    "command_books_time": (
        ("command_books_time", "directory.employee", "Anika Joshi", "time_code"),
    ),
    "critical_incident_freezes_repository": (
        ("critical_incident_freezes_repository", "codehost.pull_request", "PR-304", "change_code"),
        (
            "critical_incident_freezes_repository",
            "codehost.repository",
            "harbor-ledger",
            "change_code status",
        ),
        ("critical_incident_lifts_fare", "travel.trip", "TR-4002", "locator"),
    ),
    "critical_incident_lifts_fare": (
        ("critical_incident_freezes_repository", "codehost.pull_request", "PR-304", "change_code"),
        (
            "critical_incident_freezes_repository",
            "codehost.repository",
            "harbor-ledger",
            "change_code status",
        ),
        ("critical_incident_lifts_fare", "travel.trip", "TR-4002", "locator"),
    ),
    "critical_incident_promises_callback": (
        ("critical_incident_freezes_repository", "codehost.pull_request", "PR-302", "change_code"),
        (
            "critical_incident_freezes_repository",
            "codehost.repository",
            "tide-reports",
            "change_code status",
        ),
        (
            "critical_incident_promises_callback",
            "helpdesk.ticket",
            "Nightly sales report arrives empty",
            "callback_code followup_at",
        ),
    ),
    "leave_hands_over_incidents": (
        ("assignment_books_time", "directory.employee", "Yusuf Demir", "time_code"),
        ("assignment_names_handler", "mail.thread", "Empty sales report", "handler_address"),
        ("command_books_time", "directory.employee", "Ingrid Solheim", "time_code"),
        ("leave_forwards_mail", "mail.mailbox", "Anika Joshi", "forward_reason forward_to"),
        (
            "leave_hands_over_incidents",
            "incidents.incident",
            "INC-2002",
            "bridge_code commander_id",
        ),
        (
            "leave_moves_tickets",
            "helpdesk.profile",
            "anika.joshi@harborline.example",
            "availability",
        ),
        (
            "leave_moves_tickets",
            "helpdesk.ticket",
            "Nightly sales report arrives empty",
            "assignee_id",
        ),
        ("leave_passes_reviews", "codehost.pull_request", "PR-303", "reviewer_id"),
    ),
    "urgent_ticket_alarms_desk": (
        ("command_books_time", "directory.employee", "Amara Diallo", "time_code"),
        (
            "urgency_notifies_on_call",
            "mail.message",
            "Urgent: HD-1005",
            "body from_address id kind reference sent_at subject thread_id ticket_id to_address",
        ),
        ("urgency_opens_bridge", "directory.team", "Payroll", "bridge_code"),
        ("urgent_ticket_alarms_desk", "incidents.incident", "INC-2005", "bridge_code commander_id"),
        ("urgent_ticket_expedites_request", "codehost.pull_request", "PR-305", "change_code"),
    ),
}
"""Ripple -> what its trigger makes reactions change, in any order."""


def quiet_calls() -> list[Step]:
    """Return writes that no reaction listens to."""
    action: dict[str, Any] = {"incident_id": incident(2004), "kind": "review"}
    major = {"incident_id": incident(2004), "severity": "major"}
    return [("incidents.record_action", action), ("incidents.raise_severity", major)]


BANNED = ("freez", "callback", "director", "help desk")
"""What no description of a tool may speak of: another service's part in a reaction."""
TABLES = {"inc": ("incidents", "incident")}
"""Prefix of ids -> table; for arguments drawn by pattern."""
CODES = {"^CH": "CH-7408", "^LC": "LC-3261", "^INC": "INC-2004"}
"""Start of a pattern -> a text of it; before the plainer starts."""
