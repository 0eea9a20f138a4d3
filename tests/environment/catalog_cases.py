"""One normal call of every built-in tool, and for each written rule a call that breaks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.environment.catalog_world import address, message, person, queue, team, thread, ticket


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call on the seed data."""

    tool: str
    arguments: dict[str, Any]
    breaks: str = ""
    """Rule of the spec that the call breaks; empty: none."""


def case(_tool: str, _breaks: str = "", **arguments: Any) -> Case:
    """Build a case."""
    return Case(tool=_tool, arguments=arguments, breaks=_breaks)


def all_cases() -> list[Case]:
    """Return the cases of all three services."""
    return [*_directory(), *_helpdesk(), *_mail(), *_second_rows(), *_single_filters()]


def _directory() -> list[Case]:
    nobody, nowhere = "emp_000000", "team_000000"
    priya, rosa, tomas, jonas = map(
        person, ("Priya Raman", "Rosa Quintero", "Tomas Varga", "Jonas Weber")
    )
    it, facilities = team("Workplace IT"), team("Facilities")
    march, past = "2026-03-20T08:00:00Z", "2026-02-20T08:00:00Z"
    duty = {"kind": "callback", "reference": "CB-HERON-2244", "due_at": march}

    return [
        case("directory.find_employees", name="ra"),
        case("directory.find_employees", email=address("Keiko Tanaka")),
        case("directory.get_employee", employee_id=priya),
        case("directory.get_employee", "exists", employee_id=nobody),
        case("directory.list_team_members", team_id=it, status="active"),
        case("directory.list_team_members", "exists", team_id=nowhere),
        case("directory.list_teams"),
        case("directory.get_team", team_id=it),
        case("directory.get_team", "exists", team_id=nowhere),
        case("directory.list_duties", employee_id=person("Keiko Tanaka")),
        case("directory.list_duties", "exists", employee_id=nobody),
        case("directory.set_leave", employee_id=jonas, until=march),
        case("directory.set_leave", "exists", employee_id=nobody, until=march),
        case("directory.set_leave", "active", employee_id=tomas, until=march),
        case("directory.set_leave", "future", employee_id=jonas, until=past),
        case("directory.set_leave", "deputy", employee_id=person("Ingrid Solheim"), until=march),
        case("directory.set_leave", "not_on_call", employee_id=priya, until=march),
        case(
            "directory.set_leave",
            "not_standing_in",
            employee_id=person("Keiko Tanaka"),
            until=march,
        ),
        case("directory.end_leave", employee_id=tomas),
        case("directory.end_leave", "exists", employee_id=nobody),
        case("directory.end_leave", "on_leave", employee_id=jonas),
        case("directory.set_deputy", employee_id=jonas, deputy_id=rosa),
        case("directory.set_deputy", "exist", employee_id=jonas, deputy_id=nobody),
        case("directory.set_deputy", "not_self", employee_id=jonas, deputy_id=jonas),
        case("directory.set_deputy", "deputy_active", employee_id=jonas, deputy_id=tomas),
        case("directory.set_deputy", "not_on_leave", employee_id=tomas, deputy_id=priya),
        case("directory.set_on_call", team_id=facilities, employee_id=jonas),
        case("directory.set_on_call", "exist", team_id=nowhere, employee_id=jonas),
        case("directory.set_on_call", "member", team_id=it, employee_id=jonas),
        case("directory.set_on_call", "active", team_id=it, employee_id=tomas),
        case("directory.set_on_call", "change", team_id=it, employee_id=priya),
        case("directory.record_duty", employee_id=jonas, **duty),
        case("directory.record_duty", "exists", employee_id=nobody, **duty),
        case("directory.record_duty", "active", employee_id=tomas, **duty),
        case("directory.record_duty", "future", employee_id=jonas, **{**duty, "due_at": past}),
        case(
            "directory.record_duty",
            "new",
            employee_id=person("Mateo Rojas"),
            **{**duty, "reference": "BX-8133"},
        ),
    ]


def _helpdesk() -> list[Case]:
    nothing = "tkt_000000"
    swollen = ticket("Laptop battery swells and lifts the keyboard")
    free = ticket("Request for a left-handed mouse")
    resolved = ticket("Bike cellar door does not lock")
    closed = ticket("Printer on floor three prints grey pages")
    marcus, priya = person("Marcus Okafor"), person("Priya Raman")
    new = {"subject": "Keys for the new cabinet", "description": "Two keys are missing."}
    asker, place = address("Jonas Weber"), queue("Facilities")
    work: dict[str, Any] = {"time_code": "TC-9118", "minutes": 30}
    box = {"records_reference": "BX-2128"}
    return [
        case("helpdesk.search_tickets", text="report", status="in_progress"),
        case("helpdesk.search_tickets", number="HD-1040"),
        case("helpdesk.search_tickets", requester_email=address("Jonas Weber"), limit=2),
        case("helpdesk.list_queue_tickets", queue_id=queue("Payroll"), status="open"),
        case("helpdesk.list_queue_tickets", "exists", queue_id="que_000000"),
        case("helpdesk.get_ticket", ticket_id=swollen),
        case("helpdesk.get_ticket", "exists", ticket_id=nothing),
        case("helpdesk.get_ticket_by_number", number="HD-1005"),
        case("helpdesk.get_ticket_by_number", "exists", number="HD-9999"),
        case("helpdesk.list_activity", ticket_id=swollen),
        case("helpdesk.list_activity", "exists", ticket_id=nothing),
        case("helpdesk.get_queue", queue_id=queue("Security")),
        case("helpdesk.get_queue", "exists", queue_id="que_000000"),
        case(
            "helpdesk.create_ticket", **new, requester_email=asker, queue_id=place, priority="high"
        ),
        case("helpdesk.create_ticket", **new, requester_email=asker, queue_id=place),
        case(
            "helpdesk.create_ticket",
            "exist",
            **new,
            requester_email=address("No Body"),
            queue_id=place,
        ),
        case("helpdesk.assign_ticket", ticket_id=free, assignee_id=priya),
        case("helpdesk.assign_ticket", "exist", ticket_id=free, assignee_id="emp_000000"),
        case("helpdesk.assign_ticket", "unfinished", ticket_id=resolved, assignee_id=priya),
        case(
            "helpdesk.assign_ticket", "available", ticket_id=free, assignee_id=person("Tomas Varga")
        ),
        case("helpdesk.assign_ticket", "change", ticket_id=swollen, assignee_id=marcus),
        case("helpdesk.set_priority", ticket_id=free, priority="high"),
        case("helpdesk.set_priority", "exists", ticket_id=nothing, priority="high"),
        case("helpdesk.set_priority", "unfinished", ticket_id=resolved, priority="urgent"),
        case("helpdesk.set_priority", "upwards", ticket_id=swollen, priority="normal"),
        case("helpdesk.add_comment", ticket_id=resolved, author_id=marcus, body="Seen."),
        case("helpdesk.add_comment", "exist", ticket_id=nothing, author_id=marcus, body="Seen."),
        case(
            "helpdesk.add_comment", "not_closed", ticket_id=closed, author_id=marcus, body="Seen."
        ),
        case("helpdesk.resolve_ticket", ticket_id=swollen, resolution="The battery was replaced."),
        case("helpdesk.resolve_ticket", "exists", ticket_id=nothing, resolution="Replaced."),
        case("helpdesk.resolve_ticket", "unfinished", ticket_id=resolved, resolution="Replaced."),
        case("helpdesk.resolve_ticket", "assigned", ticket_id=free, resolution="Replaced."),
        case("helpdesk.close_ticket", ticket_id=resolved),
        case("helpdesk.close_ticket", "exists", ticket_id=nothing),
        case("helpdesk.close_ticket", "resolved", ticket_id=swollen),
        case("helpdesk.log_work", ticket_id=swollen, **work),
        case("helpdesk.log_work", "exists", ticket_id=nothing, **work),
        case("helpdesk.log_work", "not_closed", ticket_id=closed, **work),
        case("helpdesk.log_work", "assigned", ticket_id=free, **work),
        case("helpdesk.set_records_reference", ticket_id=closed, **box),
        case("helpdesk.set_records_reference", "exists", ticket_id=nothing, **box),
        case("helpdesk.set_records_reference", "closed", ticket_id=resolved, **box),
        case(
            "helpdesk.set_records_reference",
            "once",
            ticket_id=ticket("Query for head count by office"),
            **box,
        ),
    ]


def _mail() -> list[Case]:
    marcus, priya, nobody = map(address, ("Marcus Okafor", "Priya Raman", "No Body"))
    jonas, rosa, tomas = map(address, ("Jonas Weber", "Rosa Quintero", "Tomas Varga"))
    pair = {"from_address": marcus, "to_address": priya}
    new = {"subject": "Rota of next week", "body": "Could we swap Tuesday?"}
    about = {"ticket_id": ticket("Request for a left-handed mouse"), "reference": "CB-HERON-8423"}
    swollen, party = thread("Your swollen battery"), thread("Spring party budget")
    old = thread("Old plan of the new wing")
    return [
        case("mail.search_messages", text="audit", limit=3),
        case("mail.search_messages", from_address=marcus, to_address=address("Freya Lindqvist")),
        case("mail.search_messages", ticket_id=ticket("Nightly sales report arrives empty")),
        case("mail.get_message", message_id=message("Grey veil on printouts")),
        case("mail.get_message", "exists", message_id="msg_000000"),
        case("mail.list_threads", status="active", folder="projects"),
        case("mail.list_threads", ticket_id=ticket("Lift two stops between floors")),
        case("mail.get_thread", thread_id=swollen),
        case("mail.get_thread", "exists", thread_id="thr_000000"),
        case("mail.get_mailbox", address=tomas),
        case("mail.get_mailbox", "exists", address=nobody),
        case("mail.get_alias", address="facilities@harborline.example"),
        case("mail.get_alias", "exists", address=nobody),
        case("mail.send_message", **pair, **new, **about),
        case("mail.send_message", **pair, **new),
        case("mail.send_message", "exist", **{**pair, "to_address": nobody}, **new),
        case("mail.send_message", "not_self", **{**pair, "to_address": marcus}, **new),
        case("mail.send_message", "ticket", **pair, **new, ticket_id="tkt_000000"),
        case("mail.reply", thread_id=swollen, **pair, body="It is here.", reference="BX-3205"),
        case("mail.reply", "exist", thread_id="thr_000000", **pair, body="It is here."),
        case(
            "mail.reply", "not_self", thread_id=party, **{**pair, "to_address": marcus}, body="Yes."
        ),
        case("mail.reply", "active", thread_id=old, **pair, body="It is here."),
        case("mail.create_draft", **pair, **new),
        case("mail.create_draft", "exist", **{**pair, "from_address": nobody}, **new),
        case("mail.create_draft", "not_self", **{**pair, "to_address": marcus}, **new),
        case("mail.delete_draft", message_id=message("Notes on the door rights")),
        case("mail.delete_draft", "exists", message_id="msg_000000"),
        case("mail.delete_draft", "draft", message_id=message("Grey veil on printouts")),
        case("mail.move_thread", thread_id=swollen, folder="projects"),
        case("mail.move_thread", "exists", thread_id="thr_000000", folder="projects"),
        case("mail.move_thread", "active", thread_id=old, folder="projects"),
        case("mail.move_thread", "change", thread_id=swollen, folder="inbox"),
        case("mail.archive_thread", thread_id=party),
        case("mail.archive_thread", "exists", thread_id="thr_000000"),
        case("mail.archive_thread", "active", thread_id=old),
        case("mail.archive_thread", "no_ticket", thread_id=swollen),
        case("mail.set_forwarding", address=marcus, forward_to=priya),
        case("mail.set_forwarding", "exist", address=marcus, forward_to=nobody),
        case("mail.set_forwarding", "not_self", address=marcus, forward_to=marcus),
        case("mail.set_forwarding", "not_leave", address=tomas, forward_to=priya),
        case("mail.set_forwarding", "change", address=jonas, forward_to=rosa),
        case("mail.set_forwarding", "target_plain", address=marcus, forward_to=jonas),
        case("mail.clear_forwarding", address=jonas),
        case("mail.clear_forwarding", "exists", address=nobody),
        case("mail.clear_forwarding", "manual", address=tomas),
    ]


def _second_rows() -> list[Case]:
    """Missing rows that the calls above had: each lookup of a tool is missing once."""
    priya, rosa = map(person, ("Priya Raman", "Rosa Quintero"))
    marcus, nobody = address("Marcus Okafor"), address("No Body")
    new = {"subject": "Rota of next week", "body": "Could we swap Tuesday?"}
    ticket_text = {"subject": "Keys for the new cabinet", "description": "Two keys are missing."}
    free, party = ticket("Request for a left-handed mouse"), thread("Spring party budget")
    to_nobody = {"from_address": marcus, "to_address": nobody}
    from_nobody = {"from_address": nobody, "to_address": marcus}
    return [
        case("directory.set_deputy", "exist", employee_id="emp_000000", deputy_id=rosa),
        case("directory.set_on_call", "exist", team_id=team("Payroll"), employee_id="emp_000000"),
        case("helpdesk.add_comment", "exist", ticket_id=free, author_id="emp_000000", body="Seen."),
        case("helpdesk.assign_ticket", "exist", ticket_id="tkt_000000", assignee_id=priya),
        case(
            "helpdesk.create_ticket",
            "exist",
            **ticket_text,
            requester_email=marcus,
            queue_id="que_000000",
        ),
        case("mail.create_draft", "exist", **to_nobody, **new),
        case("mail.send_message", "exist", **from_nobody, **new),
        case("mail.reply", "exist", thread_id=party, **to_nobody, body="Yes."),
        case("mail.reply", "exist", thread_id=party, **from_nobody, body="Yes."),
        case("mail.set_forwarding", "exist", address=nobody, forward_to=marcus),
    ]


def _single_filters() -> list[Case]:
    """Each filter of a search on its own."""
    return [
        case("helpdesk.list_queue_tickets", queue_id=queue("Payroll"), priority="low"),
        case("mail.list_threads", status="archived"),
        case("mail.search_messages", from_address=address("Freya Lindqvist")),
        case("mail.search_messages", to_address=address("Freya Lindqvist")),
    ]
