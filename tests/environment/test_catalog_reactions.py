"""What happens in one built-in service shows in the others, with values that nobody could know."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from components.environment.catalog_loader import load_contract, load_reactions
from components.environment.reactions import services_named
from components.environment.state import WorldState, rows_of
from tests.environment import catalog_codehost, catalog_incidents
from tests.environment.catalog_parts import PARTS, service_of
from tests.environment.catalog_ripples import Ripple, Step
from tests.environment.catalog_world import (
    NOW,
    address,
    call,
    catalog_world,
    done,
    person,
    queue,
    team,
    thread,
    ticket,
)

GROUPS = (
    ("directory", "helpdesk", "mail"),
    ("calendar", "chat", "documents"),
    ("crm", "inventory", "payments"),
    ("codehost", "incidents", "travel"),
)
"""Services of which every two react to each other, both ways."""
MARCH = "2026-03-20T08:00:00Z"
WRITTEN = {"subject": "Rota of next week", "body": "Could we swap Tuesday?"}


def _leave(name: str) -> Step:
    return "directory.set_leave", {"employee_id": person(name), "until": MARCH}


def _send(sender: str, receiver: str, subject: str) -> Step:
    pair = {"from_address": address(sender), "to_address": address(receiver)}
    return "mail.send_message", {**pair, **WRITTEN, "ticket_id": ticket(subject)}


def _get_ticket(subject: str) -> Step:
    return "helpdesk.get_ticket", {"ticket_id": ticket(subject)}


def _get_employee(name: str) -> Step:
    return "directory.get_employee", {"employee_id": person(name)}


def _assign(subject: str, name: str) -> Step:
    return "helpdesk.assign_ticket", {"ticket_id": ticket(subject), "assignee_id": person(name)}


def _raise(subject: str) -> Step:
    return "helpdesk.set_priority", {"ticket_id": ticket(subject), "priority": "urgent"}


def _forward(owner: str, receiver: str) -> Step:
    return "mail.set_forwarding", {"address": address(owner), "forward_to": address(receiver)}


def ripples() -> dict[str, Ripple]:
    """Return the cases of every service."""
    return {**_ripples(), **{name: item for part in PARTS for name, item in part.ripples().items()}}


def _ripples() -> dict[str, Ripple]:
    """Return one case for each reaction that changes a row which a `get` tool shows."""
    swollen = "Laptop battery swells and lifts the keyboard"
    cellar, flicker = "Bike cellar door does not lock", "Flickering light in the stairwell"
    jonas_away = _leave("Jonas Weber")
    anika_on_call = (
        "directory.set_on_call",
        {"team_id": team("Data Platform"), "employee_id": person("Anika Joshi")},
    )
    closing = ("helpdesk.close_ticket", {"ticket_id": ticket(cellar)})
    resolving = (
        "helpdesk.resolve_ticket",
        {"ticket_id": ticket(swollen), "resolution": "The battery was replaced."},
    )
    return {
        "contact_marks_waiting": Ripple(
            trigger=_send("Marcus Okafor", "Freya Lindqvist", swollen),
            read=_get_ticket(swollen),
            expected={
                "status": "waiting",
                "callback_code": "CB-HERON-5044",
                "followup_at": "2026-03-02T14:30:00Z",
            },
        ),
        "contact_reopens_ticket": Ripple(
            trigger=_send("Marcus Okafor", "Jonas Weber", cellar),
            read=_get_ticket(cellar),
            expected={
                "status": "in_progress",
                "assignee_id": person("Sipho Ndlovu"),
                "resolution": None,
            },
        ),
        "contact_books_time": Ripple(
            trigger=_send("Rosa Quintero", "Freya Lindqvist", swollen),
            read=_get_employee("Rosa Quintero"),
            expected={"time_code": "TC-9118"},
        ),
        "forwarding_names_contact": Ripple(
            trigger=_forward("Marcus Okafor", "Oleg Petrenko"),
            read=_get_employee("Marcus Okafor"),
            expected={"contact_id": person("Oleg Petrenko")},
        ),
        "leave_moves_tickets": Ripple(
            trigger=jonas_away,
            read=_get_ticket(flicker),
            expected={"assignee_id": person("Sipho Ndlovu")},
        ),
        "leave_forwards_mail": Ripple(
            trigger=_leave("Dmitri Sokolov"),
            read=("mail.get_mailbox", {"address": address("Dmitri Sokolov")}),
            expected={"forward_to": address("Lucia Ferraro"), "forward_reason": "leave"},
        ),
        "on_call_updates_queue": Ripple(
            trigger=anika_on_call,
            read=("helpdesk.get_queue", {"queue_id": queue("Data Platform")}),
            expected={"on_call_pager": "PG-3405", "on_call_id": person("Anika Joshi")},
        ),
        "on_call_updates_alias": Ripple(
            trigger=anika_on_call,
            read=("mail.get_alias", {"address": "data.platform@harborline.example"}),
            expected={"deliver_to": address("Anika Joshi")},
        ),
        "assignment_books_time": Ripple(
            trigger=_assign("Lost access card in Leith", "Dmitri Sokolov"),
            read=_get_employee("Dmitri Sokolov"),
            expected={"time_code": "TC-8000"},
        ),
        "assignment_names_handler": Ripple(
            trigger=_assign(swollen, "Ingrid Solheim"),
            read=("mail.get_thread", {"thread_id": thread("Your swollen battery")}),
            expected={"handler_address": address("Ingrid Solheim")},
        ),
        "urgency_opens_bridge": Ripple(
            trigger=_raise(swollen),
            read=("directory.get_team", {"team_id": team("Workplace IT")}),
            expected={"bridge_code": "BR-5766"},
        ),
        "resolution_frees_time": Ripple(
            before=(_assign("Video calls drop in room Fjord", "Marcus Okafor"),),
            trigger=resolving,
            read=_get_employee("Marcus Okafor"),
            expected={"time_code": "TC-5388"},
        ),
        "closing_archives_threads": Ripple(
            trigger=closing,
            read=("mail.get_thread", {"thread_id": thread("Lock of the bike cellar")}),
            expected={"status": "archived", "archive_reference": "BX-2532"},
        ),
    }


OTHERS = {
    "return_ends_forwarding",
    "return_frees_profile",
    "ticket_gets_label",
    "urgency_notifies_on_call",
    *(name for part in PARTS for name in part.OTHERS),
}
"""No `get` tool shows their row by a known id, or the new value can be guessed: tests below."""


def _shown(state: WorldState, read: Step) -> dict[str, Any]:
    data = done(state, *read).envelope["data"]
    return dict(data[read[0].rpartition("get_")[2]])


@pytest.mark.parametrize("name", sorted(ripples()))
def test_value_read_before_is_stale_and_the_answer_does_not_give_the_new_one(name: str) -> None:
    ripple = ripples()[name]
    state = catalog_world().initial
    for step in ripple.before:
        state = done(state, *step).state

    stale = _shown(state, ripple.read)
    outcome = done(state, *ripple.trigger)
    fresh = _shown(outcome.state, ripple.read)

    assert {field: fresh[field] for field in ripple.expected} == ripple.expected
    assert all(stale[field] != value for field, value in ripple.expected.items())
    assert f"reaction:{name}" in {change.cause for change in outcome.changes}
    known = str((ripple.trigger, outcome.envelope["data"], stale))
    assert any(str(value) not in known for value in ripple.expected.values())


def test_every_reaction_has_a_case() -> None:
    assert set(ripples()) | OTHERS == set(load_reactions())


def test_every_pair_of_services_has_a_reaction_that_a_get_tool_shows() -> None:
    pairs = set()
    for name in ripples():
        reaction = load_reactions()[name]
        pairs |= {(reaction.on.service, write.service) for write in reaction.writes.values()}

    assert pairs >= {
        *(pair for group in GROUPS for pair in itertools.permutations(group, 2)),
    }


def test_two_services_without_the_third_still_react_both_ways() -> None:
    names = {name: services_named(reaction) for name, reaction in load_reactions().items()}

    for services in (pair for group in GROUPS for pair in itertools.combinations(group, 2)):
        active = [load_reactions()[name] for name, used in names.items() if used <= set(services)]
        assert {reaction.on.service for reaction in active} == set(services)


def test_environment_and_contract_hold_the_same_reactions() -> None:
    assert load_reactions() == load_contract().reactions
    assert set(catalog_world().reactions) == set(load_reactions())


def test_return_from_leave_ends_forwarding_and_makes_a_person_assignable_again() -> None:
    state = catalog_world().initial
    assignment = _assign("Request for a left-handed mouse", "Tomas Varga")
    assert call(state, *assignment).envelope["error"]["code"] == "precondition_failed"

    back = done(state, "directory.end_leave", {"employee_id": person("Tomas Varga")})

    assert done(back.state, *assignment).envelope["ok"]
    mailbox = _shown(back.state, ("mail.get_mailbox", {"address": address("Tomas Varga")}))
    assert (mailbox["forward_to"], mailbox["forward_reason"]) == (None, "none")
    other = _shown(back.state, ("mail.get_mailbox", {"address": address("Clara Whitfield")}))
    assert other["forward_to"] == address("Keiko Tanaka")
    causes = {change.cause for change in back.changes}
    assert {"reaction:return_frees_profile", "reaction:return_ends_forwarding"} <= causes


def test_new_ticket_can_be_written_about_and_its_threads_are_archived_when_it_closes() -> None:
    state = catalog_world().initial
    new = {"subject": "Keys for the new cabinet", "description": "Two keys are missing."}
    new |= {"requester_email": address("Jonas Weber"), "queue_id": queue("Facilities")}

    made = done(state, "helpdesk.create_ticket", new)
    key = made.envelope["data"]["ticket"]["id"]
    pair = {"from_address": address("Jonas Weber"), "to_address": address("Rosa Quintero")}
    state = done(made.state, "mail.send_message", {**pair, **WRITTEN, "ticket_id": key}).state
    rosa = {"ticket_id": key, "assignee_id": person("Rosa Quintero")}
    state = done(state, "helpdesk.assign_ticket", rosa).state
    state = done(state, "helpdesk.resolve_ticket", {"ticket_id": key, "resolution": "Found."}).state
    state = done(state, "helpdesk.close_ticket", {"ticket_id": key}).state

    assert made.envelope["data"]["ticket"]["number"] == "HD-1041"
    threads = [row for row in rows_of(state, "mail", "thread").values() if row["ticket_id"] == key]
    assert [(row["status"], row["archive_reference"]) for row in threads] == [
        ("archived", "BX-1041")
    ]


def test_urgent_ticket_sends_one_notice_to_the_person_on_call() -> None:
    state = catalog_world().initial

    outcome = done(state, *_raise("Lift two stops between floors"))

    found = done(outcome.state, "mail.search_messages", {"text": "urgent: hd-1006"})
    (notice,) = found.envelope["data"]["messages"]
    read = done(outcome.state, "mail.get_message", {"message_id": notice["id"]})
    shown = read.envelope["data"]["message"]
    assert (shown["kind"], shown["to_address"]) == ("notice", address("Sipho Ndlovu"))
    assert (shown["reference"], shown["sent_at"]) == ("BR-3374", NOW)
    assert shown["ticket_id"] == ticket("Lift two stops between floors")


def test_notice_about_a_ticket_does_not_count_as_contact() -> None:
    state = catalog_world().initial

    outcome = done(state, *_raise("Lift two stops between floors"))

    shown = _shown(outcome.state, _get_ticket("Lift two stops between floors"))
    assert (shown["status"], shown["callback_code"]) == ("in_progress", None)


def test_forwarding_set_by_hand_survives_leave_and_return() -> None:
    state = catalog_world().initial
    mailbox = ("mail.get_mailbox", {"address": address("Jonas Weber")})

    state = done(state, *_leave("Jonas Weber")).state
    away = _shown(state, mailbox)
    state = done(state, "directory.end_leave", {"employee_id": person("Jonas Weber")}).state

    assert away["forward_to"] == address("Rosa Quintero")
    assert _shown(state, mailbox) == away


def test_end_of_a_forwarding_set_by_hand_empties_the_contact() -> None:
    state = catalog_world().initial

    state = done(state, "mail.clear_forwarding", {"address": address("Jonas Weber")}).state

    assert _shown(state, _get_employee("Jonas Weber"))["contact_id"] is None


def test_unassigned_urgent_tickets_pass_to_whoever_is_put_on_call() -> None:
    state = catalog_world().initial
    swap = {"team_id": team("Data Platform"), "employee_id": person("Anika Joshi")}

    state = done(state, "directory.set_on_call", swap).state

    shown = _shown(state, _get_ticket("Import of meter readings fails"))
    assert shown["assignee_id"] == person("Anika Joshi")


def test_reassignment_by_leave_reaches_the_mail_thread_and_the_time_code() -> None:
    state = catalog_world().initial

    state = done(state, *_leave("Freya Lindqvist")).state

    anika = _shown(state, _get_employee("Anika Joshi"))
    about = ("mail.get_thread", {"thread_id": thread("Vans counted twice")})
    assert anika["time_code"] == "TC-3999"
    assert _shown(state, about)["handler_address"] == address("Anika Joshi")


def test_the_freeze_of_a_repository_ends_with_its_last_critical_incident() -> None:
    state = catalog_world().initial
    roster = ("codehost.get_repository", {"repository": "pilot-roster"})
    last = {"incident_id": catalog_incidents.incident(2015)}
    before = _shown(state, roster)

    state = done(state, "incidents.record_action", {**last, "kind": "containment"}).state
    state = done(state, "incidents.close_incident", last).state

    assert before["status"] == "frozen"
    assert (_shown(state, roster)["status"], _shown(state, roster)["change_code"]) == (
        "active",
        None,
    )


def test_a_review_does_not_pass_to_the_author() -> None:
    state = catalog_world().initial
    request = catalog_codehost.get_pull_request(306)
    before = _shown(state, request)

    state = done(state, *_leave("Nadia Haddad")).state

    backup = ("codehost.get_member", {"employee_id": person("Nadia Haddad")})
    assert _shown(state, backup)["backup_id"] == before["author_id"]
    assert _shown(state, request) == before


def test_no_tool_description_discloses_a_reaction() -> None:
    words = {
        "helpdesk": ("mail", "director"),
        "directory": ("ticket", "mailbox"),
        "mail": ("director",),
        **{service_of(part): part.BANNED for part in PARTS},
    }

    for service, banned in words.items():
        for tool in catalog_world().services[service].spec.tools.values():
            sentences = [tool.description, *(effect.text for effect in tool.effects.values())]
            for word in banned:
                allowed = {"address", "e-mail", "mail thread", "mail system"}
                text = " ".join(sentences).lower()
                for phrase in allowed:
                    text = text.replace(phrase, "")
                assert word not in text, (service, tool.name, word)
