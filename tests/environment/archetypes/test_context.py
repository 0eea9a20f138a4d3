"""The sense of a noun: which of its meanings the words of a service agree with."""

from __future__ import annotations

import pytest

from components.environment.archetypes.context import in_context, senses, topics
from components.environment.archetypes.definitions import nouns
from components.environment.archetypes.records import Found, Shape

SPOKEN = {
    "disassembler": "function decompile disassemble address binary symbol memory offset class",
    "maps": "address city country street route place geocode region postal",
    "wallets": "wallet address blockchain ethereum token balance gas contract",
    "cards": "deck card note field study flashcard review front back cloze",
    "models": "model provider token context parameter prompt embedding completion",
    "bank": "account iban payment transfer transaction balance",
    "screws": "bolt thread washer",
}


def words(of: str) -> frozenset[str]:
    return frozenset(SPOKEN[of].split())


@pytest.mark.parametrize(
    ("noun", "spoken", "name"),
    [
        ("address", "disassembler", "memory_address"),
        ("address", "maps", "address"),
        ("address", "wallets", "wallet_address"),
        ("address", "screws", "general"),
        ("transaction", "bank", "transaction"),
        ("transaction", "wallets", "blockchain_transaction"),
        ("smart_contract", "bank", "smart_contract"),
        ("model", "cards", "flashcard_model"),
        ("model", "models", "llm_model"),
        ("model", "screws", "general"),
    ],
)
def test_a_word_of_several_senses_is_taken_by_its_company(
    noun: str, spoken: str, name: str
) -> None:
    found = in_context(noun, words(spoken))

    assert found.name == name
    assert found.noun == noun


@pytest.mark.parametrize("noun", ["pokemon", "invoice", "calendar_event", "dupont_analysis"])
def test_a_word_of_one_sense_is_taken_in_any_company(noun: str) -> None:
    assert in_context(noun, words("screws")).found is not Found.FALLBACK


def test_a_word_that_usually_means_one_thing_means_it_where_no_topic_is_spoken_of() -> None:
    assert in_context("review", words("screws")).name == "review"
    assert in_context("review", frozenset({"app", "android", "install"})).name == "app_review"


def test_what_is_not_taken_says_why() -> None:
    assert "speaks of nothing that" in in_context("address", words("screws")).why
    assert "about chains" in in_context("address", words("wallets")).why


def test_every_sense_has_its_topic_and_its_archetype() -> None:
    for word, by_topic in senses().items():
        for topic, noun in by_topic.items():
            assert topic == "*" or (topic in topics() and noun in nouns()), word
    assert all(len(said) >= 5 for said in topics().values())


def test_what_is_a_value_has_one_field_and_no_dates() -> None:
    slot = in_context("slot", words("wallets"))

    assert slot.shape is Shape.VALUE
    assert set(slot.fields) == {"slot"}


@pytest.mark.parametrize(
    ("noun", "spoken", "name"),
    [
        ("proxy_route", "route upstream gateway consumer", "api_route"),
        ("asset", "coin blockchain wallet token", "coin"),
        ("asset", "bolt thread washer", "general"),
        ("project", "circuit resistor schematic netlist", "general"),
        ("project", "bolt thread washer", "project"),
        ("journey", "palace room loci", "general"),
    ],
)
def test_an_everyday_word_is_of_the_trade_that_a_service_speaks_of(
    noun: str, spoken: str, name: str
) -> None:
    assert in_context(noun, frozenset(spoken.split())).name == name


def test_two_words_of_a_trade_are_enough_where_no_other_is_spoken_of_more() -> None:
    cards = frozenset({"deck", "note", "anki"})
    slides = cards | {"slide", "presentation", "document", "drive"}

    assert in_context("deck", cards).name == "flashcard_deck"
    assert in_context("deck", slides).name == "presentation"


def test_a_compound_is_not_of_a_trade_that_its_service_never_speaks_of() -> None:
    assert in_context("course_ranking", frozenset({"course", "teacher"})).name == "general"
    assert in_context("club_ranking", frozenset({"team", "league", "match"})).name == "standing"
    assert (
        in_context("login_banner", words("screws")).name
        == in_context("banner", words("screws")).name
    )
    assert in_context("gen", words("screws")).name == "general"
