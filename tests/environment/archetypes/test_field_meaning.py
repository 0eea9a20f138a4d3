"""Fields of a spec mean what their names say."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.archetypes.field_meaning import meaning_of, shape_of
from components.environment.archetypes.meanings import parse_meaning
from components.records.blueprint import FieldType


@pytest.mark.parametrize(
    ("name", "json_type", "schema", "meaning"),
    [
        ("due_date", "string", {}, "date.due"),
        ("dueDate", "string", {"format": "date-time"}, "time.due"),
        ("due_date", "integer", {}, "epoch.due"),
        ("start", "string", {"description": "First day (YYYY-MM-DD)."}, "date.start"),
        ("created_at", "string", {}, "time.created"),
        ("assignee_email", "string", {}, "person.email"),
        ("customer_name", "string", {}, "person.full_name"),
        ("company_name", "string", {}, "company.name"),
        ("created_by", "string", {}, "person.full_name"),
        ("amount", "number", {}, "money.amount"),
        ("amount", "string", {}, "money.amount"),
        ("date_value", "string", {}, "date.past"),
        ("city_str", "string", {}, "place.city"),
        ("labels", "array", {}, "list.tags"),
        ("attendee_emails", "array", {}, "list.emails"),
        ("cities", "array", {}, "list:place.city"),
        ("is_private", "boolean", {}, "flag"),
        ("archived", "boolean", {}, "flag"),
        ("contact", "string", {"format": "email"}, "person.email"),
        ("site", "string", {"format": "uri"}, "web.url"),
        ("priority", "string", {"enum": ["p1", "p2"]}, "enum:p1|p2"),
        ("dest", "string", {"description": "IATA code of the airport"}, "place.airport"),
        ("num_guests", "integer", {}, "count.small"),
        ("blorp", "string", {}, "text.phrase"),
        ("blorp", "object", {}, "object.metadata"),
    ],
)
def test_a_field_means_what_its_name_type_and_schema_say(
    name: str, json_type: str, schema: dict[str, Any], meaning: str
) -> None:
    assert meaning_of(name, json_type, schema) == meaning
    parse_meaning(meaning)


def test_an_enum_with_signs_of_the_grammar_is_left_to_its_schema() -> None:
    assert not meaning_of("mode", "string", {"enum": ["a|b", "c!"]}).startswith("enum:")


def test_a_stored_field_keeps_the_type_of_its_parameter() -> None:
    amount = shape_of("amount", "string")
    level = shape_of("level", "string", {"enum": ["low", "high"]}, nullable=True)

    assert amount.type is FieldType.STRING
    assert (level.enum, level.nullable) == (("low", "high"), True)
