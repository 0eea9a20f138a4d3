"""Which sense a noun has: an archetype is taken only where the service speaks of what it holds.

`address` has an archetype with streets and cities; in a disassembler nobody speaks of either, and
the noun means something else. What such a record holds is then not known, and is not made up.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from components.environment.archetypes.definitions import define
from components.environment.archetypes.find import archetype_of, as_general
from components.environment.archetypes.records import Archetype, Found
from components.environment.archetypes.word_lists import noun_files, read_data
from components.environment.names import singular, tokens

_ENOUGH = 2
"""Words of an archetype's own fields that a service has to speak of."""
_SMALL = 3
"""Own words of archetypes that say little, and can be wrong in little."""
_NEAR, _FAR = 0.6, 0.3
"""Share of the best topic's weight in a service that an archetype's topic has to have."""


def in_context(noun: str, spoken: frozenset[str]) -> Archetype:
    """Return the archetype of a noun in a service.

    Args:
        noun: in any case and number.
        spoken: singular words that the service's title, tools and parameters use.

    Returns:
        The noun's own archetype where the words agree with it, otherwise the one of nouns that
        nothing is known of.
    """
    usual = archetype_of(noun)
    if usual.found is Found.FALLBACK:
        return usual
    own = _own_words(usual.name) - set(usual.noun.split("_"))
    said = own & spoken
    share = _share(_topic_of(usual.name), spoken)
    is_small = len(own) <= _SMALL and usual.found is Found.HEAD
    if (
        len(said) >= _ENOUGH
        or (said and share >= _NEAR)
        or (is_small and share >= _FAR)
        or (usual.found is Found.DIRECT and (share >= _NEAR or usual.noun in _one_sense()))
    ):
        return usual
    return as_general(
        usual,
        f"{usual.why} The service speaks of nothing that a {usual.name} holds, so it is taken for "
        "a record of a kind that is not known",
    )


def _generic() -> frozenset[str]:
    return frozenset(read_data("field_names")["generic_words"])


def _one_sense() -> frozenset[str]:
    """Return nouns that mean the same thing wherever they stand."""
    return frozenset(read_data("field_names")["one_sense"])


@lru_cache(maxsize=1024)
def _own_words(name: str) -> frozenset[str]:
    """Return the words of an archetype's fields that not every record has."""
    fields = define(name).fields
    words = {singular(word) for key in fields if "{" not in key for word in tokens(key)}
    return frozenset(words - _generic())


@lru_cache(maxsize=1)
def _topics() -> dict[str, frozenset[str]]:
    """Return the words of each file of nouns."""
    found = {}
    for file in noun_files():
        words: set[str] = set()
        for noun, body in read_data(file).items():
            words |= set(noun.split("_"))
            words |= {word for other in body.get("also", "").split() for word in other.split("_")}
            words |= {singular(word) for key in body.get("fields", ()) for word in tokens(key)}
        found[file] = frozenset(words - _generic())
    return found


@lru_cache(maxsize=1)
def _spread() -> Counter[str]:
    """Return how many topics use each word."""
    return Counter(word for words in _topics().values() for word in words)


def _topic_of(name: str) -> str:
    return next((file for file in noun_files() if name in read_data(file)), "")


@lru_cache(maxsize=512)
def _weights(spoken: frozenset[str]) -> dict[str, float]:
    spread = _spread()
    return {
        file: sum(1 / spread[word] for word in sorted(words & spoken))
        for file, words in _topics().items()
    }


def _share(topic: str, spoken: frozenset[str]) -> float:
    weights = _weights(spoken)
    best = max(weights.values(), default=0.0)
    return weights.get(topic, 0.0) / best if best else 0.0
