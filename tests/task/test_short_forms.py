"""What is named a second time is called shortly while that is clear, and never when it is not."""

from __future__ import annotations

from components.environment.catalog_loader import builtin_services
from components.task.graph import Place, ToolGraph, tool_graph
from components.task.known import RowKey
from components.task.short_forms import FullerShortForms
from tests.task.builders import system_of

EMPLOYEE = Place("directory", "employee", "id")
TICKET = Place("helpdesk", "ticket", "id")
OWNER = (EMPLOYEE, "emp_1")
DEPUTY = (EMPLOYEE, "emp_2")
REPORTED = "the ticket behind document KB-4117"
THEN = "whoever owns document KB-4117 by then"


def forms() -> FullerShortForms:
    graph: ToolGraph = tool_graph(system_of(builtin_services()), ("directory", "helpdesk"))
    return FullerShortForms(graph, {})


def test_long_words_get_a_short_form_and_short_words_stay() -> None:
    found = forms()
    found.keep((TICKET, "tkt_1"), [REPORTED])
    found.keep(OWNER, ["the owner of KB-41"])

    assert found.get((TICKET, "tkt_1")) == ["that ticket"]
    assert found.get(OWNER) == ["the owner of KB-41"]
    assert found.get(DEPUTY) is None


def test_a_number_names_a_thing_without_its_noun_and_never_what_hangs_on_it() -> None:
    found = forms()
    found.keep((TICKET, "tkt_1"), ["help desk ticket HD-1022"])
    found.keep(OWNER, ["the new owner of the document KB-4117"])

    assert found.get((TICKET, "tkt_1")) == ["HD-1022"]
    assert found.get(OWNER) == ["the new owner"]


def test_a_row_is_the_thing_that_a_value_names() -> None:
    found = forms()
    found.keep((TICKET, "tkt_1"), [REPORTED])

    assert found.get(RowKey("helpdesk", "ticket", "tkt_1")) == ["that ticket"]
    assert found.get(RowKey("helpdesk", "ticket", "tkt_2")) is None


def test_a_second_ticket_takes_the_short_form_away_from_both() -> None:
    found = forms()
    found.keep((TICKET, "tkt_1"), [REPORTED])
    found.keep((TICKET, "tkt_2"), ["the ticket behind channel spring-party"])

    assert found.get((TICKET, "tkt_1")) == [REPORTED]
    assert found.get((TICKET, "tkt_2")) == ["the ticket behind channel spring-party"]


def test_that_person_is_whoever_was_named_last_or_nobody() -> None:
    found = forms()
    found.keep(OWNER, [THEN])
    assert found.get(OWNER) == ["that person"]

    found.keep(DEPUTY, ["the deputy of that person"])

    assert found.get(OWNER) == [THEN]
    assert found.get(DEPUTY) == ["that deputy"]


def test_names_made_of_a_short_form_follow_when_it_is_given_up() -> None:
    found = forms()
    found.keep(OWNER, [THEN])
    found.keep((TICKET, "tkt_1"), ["the ticket reported by that person"])
    found.keep((TICKET, "tkt_2"), ["the ticket of somebody"])
    found.name_person()

    assert found.get((TICKET, "tkt_1")) == [f"the ticket reported by {THEN}"]
    assert found.get(OWNER) == [THEN]
