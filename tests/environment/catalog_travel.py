"""The travel desk in the tests of the catalog: calls, ripples of its reactions, their reach."""

from __future__ import annotations

from typing import Any

from tests.environment.catalog_cases import Case, case
from tests.environment.catalog_codehost import get_pull_request
from tests.environment.catalog_incidents import get_incident, incident, trip
from tests.environment.catalog_ripples import Ripple, Step, Touched
from tests.environment.catalog_world import person

MARCH = "2026-03-20T08:00:00Z"


def cases() -> list[Case]:
    """Return a normal call of every tool, and for each written rule a call that breaks it."""
    nothing, nobody = "trp_000000", "emp_000000"
    asked, booked, departed, cancelled = trip(4001), trip(4004), trip(4014), trip(4015)
    nadia, rosa, dmitri, oleg = map(
        person, ("Nadia Haddad", "Rosa Quintero", "Dmitri Sokolov", "Oleg Petrenko")
    )
    hotel: dict[str, Any] = {"kind": "hotel", "amount_eur": 120}
    bridge, key = {"bridge_code": "IB-1234"}, {"access_key": "AK-1234"}
    return [
        case("travel.get_trip", trip_id=asked),
        case("travel.get_trip", "exists", trip_id=nothing),
        case("travel.get_trip_by_code", code="TR-4006"),
        case("travel.get_trip_by_code", "exists", code="TR-9999"),
        case("travel.find_trips", approver_id=nadia, status="requested", limit=2),
        case("travel.find_trips", approver_id=nadia),
        case("travel.find_trips", traveller_id=dmitri),
        case("travel.find_trips", incident_id=incident(2007)),
        case("travel.find_trips", status="cancelled"),
        case("travel.list_bookings", trip_id=booked),
        case("travel.list_bookings", "exists", trip_id=nothing),
        case("travel.approve_trip", trip_id=asked, approver_id=nadia),
        case("travel.approve_trip", "exist", trip_id=nothing, approver_id=nadia),
        case("travel.approve_trip", "exist", trip_id=asked, approver_id=nobody),
        case("travel.approve_trip", "requested", trip_id=booked, approver_id=nadia),
        case("travel.approve_trip", "not_traveller", trip_id=trip(4009), approver_id=nadia),
        case("travel.approve_trip", "right", trip_id=asked, approver_id=oleg),
        case("travel.approve_trip", "not_departed", trip_id=departed, approver_id=nadia),
        case("travel.cancel_trip", trip_id=booked),
        case("travel.cancel_trip", "exists", trip_id=nothing),
        case("travel.cancel_trip", "active", trip_id=cancelled),
        case("travel.cancel_trip", "not_departed", trip_id=departed),
        case("travel.name_delegate", trip_id=asked, delegate_id=oleg),
        case("travel.name_delegate", "exist", trip_id=nothing, delegate_id=oleg),
        case("travel.name_delegate", "exist", trip_id=asked, delegate_id=nobody),
        case("travel.name_delegate", "active", trip_id=cancelled, delegate_id=rosa),
        case("travel.name_delegate", "not_traveller", trip_id=asked, delegate_id=dmitri),
        case("travel.name_delegate", "change", trip_id=trip(4012), delegate_id=rosa),
        case("travel.add_booking", trip_id=booked, **hotel),
        case("travel.add_booking", trip_id=booked, kind="train", amount_eur=200),
        case("travel.add_booking", trip_id=booked, **hotel, time_code="TC-5388"),
        case("travel.add_booking", "exists", trip_id=nothing, **hotel),
        case("travel.add_booking", "approved", trip_id=asked, **hotel),
        case("travel.add_booking", "budget", trip_id=booked, kind="train", amount_eur=201),
        case("travel.brief_traveller", trip_id=booked, **bridge),
        case("travel.brief_traveller", trip_id=booked, **bridge, **key),
        case("travel.brief_traveller", "exists", trip_id=nothing, **key),
        case("travel.brief_traveller", "approved", trip_id=asked, **key),
        case("travel.brief_traveller", "something", trip_id=booked),
    ]


def _approve(code: int, approver: str) -> Step:
    return "travel.approve_trip", {"trip_id": trip(code), "approver_id": person(approver)}


def ripples() -> dict[str, Ripple]:
    """Return one case for each reaction of this folder that a `get` tool shows."""
    return {
        "trip_hands_over_incidents": Ripple(
            trigger=_approve(4008, "Nadia Haddad"),
            read=get_incident(2002),
            expected={"commander_id": person("Ingrid Solheim")},
        ),
        "trip_moves_bridge": Ripple(
            trigger=_approve(4003, "Nadia Haddad"),
            read=("incidents.get_responder", {"employee_id": person("Lucia Ferraro")}),
            expected={"bridge_code": "IB-5988"},
        ),
        "cancelled_trip_opens_bridge": Ripple(
            trigger=("travel.cancel_trip", {"trip_id": trip(4004)}),
            read=get_incident(2007),
            expected={"bridge_code": "IB-2778"},
        ),
        "cancelled_trip_boards_train": Ripple(
            trigger=("travel.cancel_trip", {"trip_id": trip(4007)}),
            read=get_pull_request(301),
            expected={"change_code": "CH-5233"},
        ),
        "trip_issues_access_key": Ripple(
            trigger=_approve(4010, "Yusuf Demir"),
            read=("codehost.get_member", {"employee_id": person("Mateo Rojas")}),
            expected={"access_key": "AK-5441"},
        ),
        "trip_passes_reviews": Ripple(
            trigger=_approve(4007, "Ingrid Solheim"),
            read=get_pull_request(311),
            expected={"reviewer_id": person("Priya Raman")},
        ),
        "trip_books_time": Ripple(
            trigger=_approve(4011, "Amara Diallo"),
            read=("directory.get_employee", {"employee_id": person("Keiko Tanaka")}),
            expected={"time_code": "TC-8624"},
        ),
        "leave_moves_trip_approval": Ripple(
            trigger=(
                "directory.set_leave",
                {"employee_id": person("Yusuf Demir"), "until": MARCH},
            ),
            read=("travel.get_trip", {"trip_id": trip(4010)}),
            expected={"approver_id": person("Marcus Okafor")},
        ),
    }


OTHERS: set[str] = set()
"""Reactions whose new values could be guessed."""
REACH: dict[str, tuple[Touched, ...]] = {
    "cancelled_trip_boards_train": (
        ("cancelled_trip_boards_train", "codehost.pull_request", "PR-301", "change_code"),
    ),
    "cancelled_trip_opens_bridge": (
        ("cancelled_trip_boards_train", "codehost.pull_request", "PR-307", "change_code"),
        ("cancelled_trip_opens_bridge", "incidents.incident", "INC-2007", "bridge_code"),
    ),
    "leave_moves_trip_approval": (
        ("assignment_books_time", "directory.employee", "Freya Lindqvist", "time_code"),
        ("command_books_time", "directory.employee", "Marcus Okafor", "time_code"),
        ("leave_forwards_mail", "mail.mailbox", "Yusuf Demir", "forward_reason forward_to"),
        (
            "leave_hands_over_incidents",
            "incidents.incident",
            "INC-2004",
            "bridge_code commander_id",
        ),
        (
            "leave_moves_tickets",
            "helpdesk.profile",
            "yusuf.demir@harborline.example",
            "availability",
        ),
        ("leave_moves_tickets", "helpdesk.ticket", "Access to the archive bucket", "assignee_id"),
        ("leave_moves_trip_approval", "travel.trip", "TR-4002", "approver_id"),
        ("leave_moves_trip_approval", "travel.trip", "TR-4008", "approver_id"),
        ("leave_moves_trip_approval", "travel.trip", "TR-4010", "approver_id"),
        ("leave_passes_reviews", "codehost.pull_request", "PR-311", "reviewer_id"),
    ),
    "trip_books_time": (
        ("trip_books_time", "directory.employee", "Keiko Tanaka", "time_code"),
        (
            "trip_issues_access_key",
            "codehost.member",
            "keiko.tanaka@harborline.example",
            "access_key",
        ),
        ("trip_moves_bridge", "incidents.incident", "INC-2005", "bridge_code"),
        (
            "trip_moves_bridge",
            "incidents.responder",
            "keiko.tanaka@harborline.example",
            "bridge_code",
        ),
    ),
    "trip_hands_over_incidents": (
        ("command_books_time", "directory.employee", "Ingrid Solheim", "time_code"),
        ("trip_books_time", "directory.employee", "Anika Joshi", "time_code"),
        ("trip_hands_over_incidents", "incidents.incident", "INC-2002", "commander_id"),
        (
            "trip_issues_access_key",
            "codehost.member",
            "anika.joshi@harborline.example",
            "access_key",
        ),
        (
            "trip_moves_bridge",
            "incidents.responder",
            "anika.joshi@harborline.example",
            "bridge_code",
        ),
        ("trip_passes_reviews", "codehost.pull_request", "PR-303", "reviewer_id"),
    ),
    "trip_issues_access_key": (
        ("command_books_time", "directory.employee", "Oleg Petrenko", "time_code"),
        ("trip_books_time", "directory.employee", "Mateo Rojas", "time_code"),
        ("trip_hands_over_incidents", "incidents.incident", "INC-2011", "commander_id"),
        (
            "trip_issues_access_key",
            "codehost.member",
            "mateo.rojas@harborline.example",
            "access_key",
        ),
        ("trip_moves_bridge", "incidents.incident", "INC-2011", "bridge_code"),
        (
            "trip_moves_bridge",
            "incidents.responder",
            "mateo.rojas@harborline.example",
            "bridge_code",
        ),
    ),
    "trip_moves_bridge": (
        ("command_books_time", "directory.employee", "Amara Diallo", "time_code"),
        ("trip_books_time", "directory.employee", "Lucia Ferraro", "time_code"),
        ("trip_hands_over_incidents", "incidents.incident", "INC-2007", "commander_id"),
        (
            "trip_issues_access_key",
            "codehost.member",
            "lucia.ferraro@harborline.example",
            "access_key",
        ),
        ("trip_moves_bridge", "incidents.incident", "INC-2006", "bridge_code"),
        (
            "trip_moves_bridge",
            "incidents.responder",
            "lucia.ferraro@harborline.example",
            "bridge_code",
        ),
    ),
    "trip_passes_reviews": (
        ("command_books_time", "directory.employee", "Marcus Okafor", "time_code"),
        ("trip_books_time", "directory.employee", "Yusuf Demir", "time_code"),
        ("trip_hands_over_incidents", "incidents.incident", "INC-2004", "commander_id"),
        (
            "trip_issues_access_key",
            "codehost.member",
            "yusuf.demir@harborline.example",
            "access_key",
        ),
        (
            "trip_moves_bridge",
            "incidents.responder",
            "yusuf.demir@harborline.example",
            "bridge_code",
        ),
        ("trip_passes_reviews", "codehost.pull_request", "PR-311", "reviewer_id"),
    ),
}
"""Ripple -> what its trigger makes reactions change, in any order."""


def quiet_calls() -> list[Step]:
    """Return writes that no reaction listens to."""
    taken = {"trip_id": trip(4001), "delegate_id": person("Oleg Petrenko")}
    hotel = {"trip_id": trip(4004), "kind": "hotel", "amount_eur": 120}
    brief = {"trip_id": trip(4004), "bridge_code": "IB-1234"}
    return [
        ("travel.name_delegate", taken),
        ("travel.add_booking", hotel),
        ("travel.brief_traveller", brief),
    ]


BANNED = ("pull request", "review", "director", "command")
"""What no description of a tool may speak of: another service's part in a reaction."""
TABLES = {"trp": ("travel", "trip")}
"""Prefix of ids -> table; for arguments drawn by pattern."""
CODES = {"^IB": "IB-1234", "^AK": "AK-1234", "^TR": "TR-4001", "^LC": "LC-3261"}
"""Start of a pattern -> a text of it; before the plainer starts."""
