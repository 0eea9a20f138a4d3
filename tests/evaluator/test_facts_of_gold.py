"""Where an argument goes, and which facts a free-text field must hold."""

from __future__ import annotations

from typing import Any

import pytest

from components.evaluator.created import Place
from components.evaluator.gold_facts import Fragment, facts_of_field
from components.evaluator.reach import Reach, reach_of
from components.records.blueprint import ToolBlueprint

PLACE = Place("desk", "ticket", "tkt_1")


def fragment(text: str, *facts: str, field: str = "notes") -> Fragment:
    return Fragment(text, facts, frozenset({(PLACE, field)}))


@pytest.mark.parametrize(
    ("before", "after", "facts"),
    [
        (None, "For Ana, high", ("Ana",)),
        ("", "For Ana, high", ("Ana",)),
        ("Old.", "Old.\nFor Ana, high", ("Ana", "Old.")),
        ("high", "For Ana, very high indeed", ("Ana",)),
        (("one", "two", "three"), ("one", "three", "For Ana, high"), ("Ana", "one", "three")),
        ("Old.", "New words", ()),
        ("Old.", None, ()),
    ],
)
def test_facts_are_what_gold_put_in_and_what_it_only_added_to(
    before: Any, after: Any, facts: tuple[str, ...]
) -> None:
    pieces = [fragment("For Ana", "Ana"), fragment("high", "high", field="priority")]

    assert facts_of_field(PLACE, "notes", before, after, pieces) == facts


TOOL = ToolBlueprint.model_validate(
    {
        "operation": "create",
        "functional": "write",
        "lookups": {
            "ticket": {"table": "ticket", "equals": "$args.ticket_id"},
            "z_owner": {"table": "person", "equals": "$ticket.owner"},
        },
        "effects": {
            "a_rows": {
                "action": "create",
                "table": "entry",
                "each": "$args.entries",
                "fields": {"name": "$element.name", "kind": "entry", "by": "$z_owner.id"},
            },
            "b_ticket": {
                "action": "update",
                "table": "ticket",
                "target": "ticket",
                "when": {"@or": [{"@given": "status"}, {"@eq": ["$args.mode", "close"]}]},
                "fields": {
                    "status": "$args.status",
                    "due": {"@hours_after": ["$now", "$args.hours"]},
                    "words": {"@lit": "$args.hours"},
                },
            },
            "c_log": {
                "action": "create",
                "table": "log",
                "fields": {"text": {"@concat": ["now ", "$b_ticket.status"]}, "all": "$args"},
            },
        },
    }
)


def reach(selects: bool, *fields: str) -> Reach:
    return Reach(selects, frozenset(fields))


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("ticket_id", (reach(False, "by"), reach(True), reach(False, "all", "text"))),
        ("entries", (reach(False, "name"), reach(False), reach(False, "all"))),
        ("status", (reach(False), reach(False, "status"), reach(False, "all", "text"))),
        ("hours", (reach(False), reach(False, "due"), reach(False, "all", "text"))),
        ("mode", (reach(False), reach(True), reach(False, "all", "text"))),
        ("other", (reach(False), reach(False), reach(False, "all"))),
    ],
)
def test_argument_is_followed_through_lookups_elements_and_earlier_effects(
    argument: str, expected: tuple[Reach, Reach, Reach]
) -> None:
    found = reach_of(TOOL, argument)

    assert (found["a_rows"], found["b_ticket"], found["c_log"]) == expected
