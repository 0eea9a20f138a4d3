"""What a field's name means among the words of its service: the `address` of a wallet is no street.

Owns the senses of field names, `field_senses.json`. Only what a service speaks of decides; a column
whose description or type says otherwise keeps its meaning.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from components.environment.archetypes.field_meaning import holds
from components.environment.archetypes.meanings import parse_meaning
from components.environment.archetypes.word_lists import read_data


@lru_cache(maxsize=512)
def senses_of(spoken: frozenset[str]) -> tuple[str, ...]:
    """Return the senses that a service speaks in, most particular first.

    Args:
        spoken: its words, singular.
    """
    return tuple(name for name, body in read_data("field_senses").items() if _is_in(body, spoken))


def sense_of(word: str, json_type: str, spoken: frozenset[str]) -> str | None:
    """Return what a name means in a service, or None where it means what it always does.

    Args:
        word: the field's name in snake_case.
        json_type: of the field; a sense whose values do not fit it is none.
        spoken: the service's words, singular.

    Example:
        >>> sense_of("to_address", "string", frozenset({"wallet", "ethereum"}))
        'crypto.address'
    """
    for name in senses_of(spoken):
        body = read_data("field_senses")[name]
        last = word.rpartition("_")[2]
        is_own = word != last and word in read_data("field_names")["exact"]  # `email_address`
        found = body["exact"].get(word) or (None if is_own else body["last"].get(last))
        if found and holds(parse_meaning(found), json_type):
            return str(found)
    return None


def _is_in(body: dict[str, Any], spoken: frozenset[str]) -> bool:
    def said(kind: str) -> int:
        return len(spoken & set(body.get(kind, "").split()))

    return (
        said("spoken") >= body["least"]
        and not said("without")
        and ("needs" not in body or said("needs") > 0)
    )
