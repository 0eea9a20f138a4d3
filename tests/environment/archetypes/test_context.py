"""The sense of a noun: an archetype is taken only where the service speaks of what it holds."""

from __future__ import annotations

import pytest

from components.environment.archetypes.context import in_context
from components.environment.archetypes.records import Found

SPOKEN = {
    "disassembler": "function decompile disassemble address binary symbol memory offset class",
    "maps": "address city country street route place geocode region postal",
    "cards": "deck card note field study flashcard review front back cloze",
    "models": "model provider token context parameter prompt embedding completion",
}


def words(of: str) -> frozenset[str]:
    return frozenset(SPOKEN[of].split())


@pytest.mark.parametrize(
    ("noun", "spoken", "is_taken"),
    [
        ("address", "disassembler", False),
        ("address", "maps", True),
        ("model", "cards", False),
        ("model", "models", True),
    ],
)
def test_a_homonym_is_taken_by_its_company(noun: str, spoken: str, is_taken: bool) -> None:
    found = in_context(noun, words(spoken))

    assert (found.found is not Found.FALLBACK) == is_taken
    assert found.noun == noun
    assert is_taken or set(found.fields) == {"name", "description", "created_at", "updated_at"}


def test_what_is_not_taken_says_why() -> None:
    assert "speaks of nothing that" in in_context("address", words("disassembler")).why
