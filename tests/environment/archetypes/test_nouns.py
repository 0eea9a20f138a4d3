"""Nouns lead to archetypes, and the data files fit together."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from components.environment.archetypes.definitions import aliases, nouns
from components.environment.archetypes.find import archetype_of
from components.environment.archetypes.meanings import parse_meaning
from components.environment.archetypes.records import Found, Shape
from components.environment.archetypes.templates import Slot, parse_template
from components.environment.archetypes.word_lists import read_data
from components.errors import SynthesisError

SPECS = Path(__file__).parents[4] / "shared" / "data" / "mcp_specs.jsonl.gz"


def test_at_least_a_thousand_nouns_each_with_a_title_and_telling_fields() -> None:
    assert len(nouns()) >= 1000
    for noun in nouns():
        archetype = archetype_of(noun)
        told = set(archetype.fields) - {"id", "name", "date", "created_at", "updated_at"}
        assert archetype.found is Found.DIRECT
        assert archetype.title_field in archetype.fields
        assert archetype.key is None or archetype.key in archetype.fields
        is_one = archetype.shape is Shape.VALUE
        assert len(told) >= 2 or is_one or noun == "general", noun
        assert all(item.enum is None or len(item.enum) >= 2 for item in archetype.fields.values())


def test_every_link_names_a_known_noun_and_every_sum_fields_of_its_own() -> None:
    for noun in nouns():
        archetype = archetype_of(noun)
        assert all(target in nouns() for target in archetype.links.values()), noun
        for name, formula in archetype.sums.items():
            left, _, right = formula.split()
            assert {name, left, right} <= set(archetype.fields), noun
        assert {name for group in archetype.order for name in group} <= set(archetype.fields), noun


def test_every_bank_of_titles_and_sentences_reads() -> None:
    for file in ("titles", "sentences"):
        for texts in read_data(file).values():
            for text in texts:
                for part in parse_template(text):
                    if isinstance(part, Slot) and part.meaning:
                        parse_meaning(part.meaning)


def test_every_meaning_that_a_field_name_leads_to_is_defined() -> None:
    for section in ("exact", "last", "first", "formats", "types"):
        for found in read_data("field_names")[section].values():
            for meaning in found.values() if isinstance(found, dict) else [found]:
                parse_meaning(meaning)


@pytest.mark.parametrize(
    ("noun", "name", "found"),
    [
        ("issue", "issue", Found.DIRECT),
        ("Repositories", "repository", Found.DIRECT),
        ("bug", "issue", Found.ALIAS),
        ("calendar_event", "event", Found.HEAD),
        ("release_approval", "approval", Found.HEAD),
        ("weather_data", "weather", Found.ALIAS),
        ("invoice_info", "invoice", Found.HEAD),
        ("databases", "database", Found.DIRECT),
        ("minigame", "game", Found.SUFFIX),
        ("rare_market_listing", "nft_sale", Found.HEAD),
        ("update", "general", Found.FALLBACK),
        ("zorblat", "general", Found.FALLBACK),
    ],
)
def test_a_noun_leads_to_its_archetype_and_says_how(noun: str, name: str, found: Found) -> None:
    archetype = archetype_of(noun)

    assert (archetype.name, archetype.found) == (name, found)
    assert archetype.why.endswith(".")


def test_of_an_unknown_noun_nothing_is_made_up() -> None:
    archetype = archetype_of("zorblat")

    assert archetype.found is Found.FALLBACK
    assert set(archetype.fields) == {"name", "description", "created_at", "updated_at"}
    assert archetype.status_field is None


def test_a_series_and_statistics_carry_what_they_are_about() -> None:
    history = archetype_of("price_history")
    counts = archetype_of("download_statistics")

    assert history.shape is Shape.SERIES
    assert history.fields["price"].meaning.startswith("walk:")
    assert counts.shape is Shape.STATISTICS
    assert counts.fields["download_count"].type == "integer"
    assert counts.order[-1] == ("download_count",)


def test_a_lifecycle_has_its_ends() -> None:
    archetype = archetype_of("pull_request")

    assert archetype.lifecycle == ("open", "draft", "merged", "closed")
    assert archetype.terminal == ("merged", "closed")


def test_an_unknown_meaning_is_named() -> None:
    with pytest.raises(SynthesisError, match=r"no meaning 'person\.shoe'.*meanings\.json"):
        parse_meaning("person.shoe")
    with pytest.raises(SynthesisError, match=r"LOW\.\.HIGH"):
        parse_meaning("count:3")


def test_no_alias_is_two_things() -> None:
    assert not set(aliases()) & set(nouns())


@pytest.mark.skipif(not SPECS.exists(), reason="the shared specifications are not here")
def test_most_nouns_of_real_tool_names_are_known() -> None:
    """A crude reading: the words behind `create`, `list`, `get`, `update` or `delete`."""
    asked: list[str] = []
    with gzip.open(SPECS, "rt", encoding="utf-8") as lines:
        for line in lines:
            for tool in json.loads(line)["tools"]:
                name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool["name"]).lower().replace("-", "_")
                found = re.match(r"(?:create|list|get|update|delete)_([a-z_]+?)(?:_by_.*)?$", name)
                if found:
                    asked.append(found[1])
    known = [noun for noun in asked if archetype_of(noun).found is not Found.FALLBACK]

    assert len(asked) > 500
    assert len(known) / len(asked) >= 0.8
