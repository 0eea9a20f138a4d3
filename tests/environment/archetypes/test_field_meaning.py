"""Fields of a spec mean what their names say."""

from __future__ import annotations

from typing import Any

import pytest

from components.environment.archetypes.field_meaning import meaning_of, shape_of
from components.environment.archetypes.field_senses import sense_of
from components.environment.archetypes.meanings import parse_meaning
from components.environment.archetypes.word_lists import read_data
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
        ("num_guests", "integer", {}, "count:1..6"),
        ("min_price", "number", {}, "money.price"),
        ("price_max", "string", {}, "money.price"),
        ("tag_to_remove", "string", {}, "text.tag"),
        ("option_2", "string", {}, "text.word"),
        ("number_of_stations", "string", {}, "count.small"),
        ("email_address", "string", {}, "person.email"),
        ("spender", "string", {}, "crypto.address"),
        ("decimals", "string", {}, "choice:6|8|9|18"),
        ("allowance", "string", {}, "crypto.base_units"),
        ("mime", "string", {}, "file.mime"),
        ("adults", "number", {}, "count:1..4"),
        ("blorp", "number", {}, "count:1..60"),
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


@pytest.mark.parametrize(
    ("name", "json_type", "said", "meaning"),
    [
        ("code", "string", "Municipality code (5 digits)", "text:{#5}"),
        ("chapter_number", "string", "The number of the chapter (1-114)", "count:1..114"),
        ("guess", "integer", "Index of the guess (0, 1, or 2)", "choice:0|1|2"),
        ("quality", "number", "A value between 0 and 100", "count:0..100"),
        ("alpha", "number", "From 0 to 1", "number:0.0..1.0/2"),
        ("box", "string", "Format: lonmin,latmin,lonmax,latmax", "place.bbox"),
        ("near", "string", "Point as latitude,longitude", "place.coordinates"),
        ("x", "number", "Longitude of the point", "place.longitude"),
        ("filters", "string", "A JSON string of filters", "text.json"),
        ("total", "string", "Total in base units", "crypto.base_units"),
        ("target", "string", "The wallet address to look at", "crypto.address"),
        ("market", "string", "ISO 3166-1 alpha-2 country", "place.country_code"),
        ("since", "string", "First day, 2020-2024 (YYYY-MM-DD)", "date.past"),
        ("note", "string", "A note on the wallet address", "sentence"),
        ("ref", "string", "An arXiv id, DOI or URL", "id.code"),
    ],
)
def test_a_form_that_the_description_gives_says_more_than_the_name(
    name: str, json_type: str, said: str, meaning: str
) -> None:
    assert meaning_of(name, json_type, {"description": said}) == meaning


def test_a_name_means_what_it_does_among_the_words_of_its_service() -> None:
    chain = frozenset({"wallet", "ethereum", "transfer"})
    scene = frozenset({"actor", "scene", "blender"})
    money = frozenset({"currency", "exchange", "rate"})
    shop = frozenset({"order", "customer"})

    assert sense_of("address", "string", chain) == "crypto.address"
    assert sense_of("recipients", "array", chain) == "list:crypto.address"
    assert sense_of("email_address", "string", chain) is None
    assert sense_of("address", "string", frozenset({"solana", "account"})) == "crypto.address_text"
    assert sense_of("location", "object", scene) == "object.vector"
    assert sense_of("location", "string", scene) is None
    assert sense_of("symbols", "array", money) == "list:money.currency"
    assert sense_of("symbols", "array", money | {"stock"}) is None
    assert sense_of("address", "string", shop) is None


def test_every_meaning_of_the_lexicons_can_be_drawn() -> None:
    lexicon, senses = read_data("field_names"), read_data("field_senses")
    sections = [lexicon[name] for name in ("exact", "last", "first", "formats", "types")]
    sections += [body[part] for body in senses.values() for part in ("exact", "last")]

    found = {
        meaning
        for section in sections
        for value in section.values()
        for meaning in (value.values() if isinstance(value, dict) else (value,))
    }

    for meaning in found:
        parse_meaning(meaning)
