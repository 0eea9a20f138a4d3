"""Which sense a noun has in a service.

Most nouns mean one thing. Those of `senses.json` mean several: an address is a street's, a wallet's
or a place in memory, and the service's other words say which. Where they say nothing of the kind,
what such a record holds is not known, and is not made up.

    topics  topic -> words of services that are about it
    senses  word -> `topic:noun` for each thing that it means, the likeliest first; `*` at the end:
            where no topic is spoken of, it means what it usually means; `general` for a noun: in
            that trade it means something of which nothing is known
    trades  file of archetypes -> topics that they belong to: a compound is taken for one by its
            last word only where the service speaks of such a topic, or of what such a record holds
"""

from __future__ import annotations

from functools import lru_cache

from components.environment.archetypes.definitions import GENERAL, define
from components.environment.archetypes.find import archetype_of, as_general, as_sense, forms_of
from components.environment.archetypes.records import Archetype, Found
from components.environment.archetypes.word_lists import noun_files, read_data
from components.environment.names import singular, tokens

_ENOUGH, _PLENTY = 2, 3
"""Words of a topic, or of an archetype's own fields, that a service has to speak of; the second for
words that usually mean something else, where the service speaks more of another topic."""
_USUAL = "*"


def in_context(noun: str, spoken: frozenset[str]) -> Archetype:
    """Return the archetype of a noun in a service.

    Args:
        noun: in any case and number.
        spoken: singular words that the service's title, tools and parameters use.

    Returns:
        The archetype of the sense that the words agree with, otherwise the one of nouns that
        nothing is known of.
    """
    usual = archetype_of(noun)
    word = next((form for form in forms_of(usual.noun) if form in senses()), None)
    if word is None and (usual.found is not Found.SUFFIX and _is_supported(usual, spoken)):
        return usual
    for topic, sense in _by_topic(word, spoken) if word else ():
        about = topic.replace("_", " ")
        if sense == GENERAL:
            why = f"In a service about {about}, {word!r} is nothing that is known"
            return as_general(usual, why)
        return as_sense(usual, sense, f"In a service about {about}, {word!r} means {sense!r}")
    if word and _USUAL in senses()[word]:
        return usual
    own = _own_words(usual.name) - set(usual.noun.split("_"))
    if len(own & spoken) >= _ENOUGH:
        return usual
    return as_general(
        usual,
        f"{usual.why} The service speaks of nothing that a {usual.name} holds, so it is taken for "
        "a record of a kind that is not known",
    )


@lru_cache(maxsize=1)
def senses() -> dict[str, dict[str, str]]:
    """Return the noun by topic for every word that means several things."""
    found = {}
    for word, text in read_data("senses")["senses"].items():
        pairs = [item.partition(":") for item in text.split()]
        found[word] = {topic: noun for topic, _, noun in pairs}
    return found


@lru_cache(maxsize=1)
def topics() -> dict[str, frozenset[str]]:
    """Return the words of every topic."""
    return {name: frozenset(text.split()) for name, text in read_data("senses")["topics"].items()}


def _by_topic(word: str, spoken: frozenset[str]) -> list[tuple[str, str]]:
    """Return the senses of a word whose topic a service speaks of, the one most spoken of first."""
    least = _PLENTY if _USUAL in senses()[word] else _ENOUGH
    least = min(least, max(_ENOUGH, _loudest(spoken)))
    said = {topic: len(topics()[topic] & spoken) for topic in senses()[word] if topic != _USUAL}
    fitting = [(topic, senses()[word][topic]) for topic in said if said[topic] >= least]
    return sorted(fitting, key=lambda pair: -said[pair[0]])


@lru_cache(maxsize=512)
def _loudest(spoken: frozenset[str]) -> int:
    """Return how many words a service speaks of the topic that it speaks most of."""
    return max(len(words & spoken) for words in topics().values())


def _is_supported(usual: Archetype, spoken: frozenset[str]) -> bool:
    """True for an archetype of no particular trade, one that the noun itself is called by, or one
    of a trade that the service speaks of.
    """
    trades = _trades().get(usual.name)
    if usual.found is not Found.HEAD or trades is None:
        return True
    said = frozenset().union(*(topics()[trade] for trade in trades)) | _own_words(usual.name)
    return bool((said - set(usual.noun.split("_"))) & spoken)


@lru_cache(maxsize=1)
def _trades() -> dict[str, tuple[str, ...]]:
    """Return the topics of each archetype that belongs to particular trades."""
    by_file = read_data("senses")["trades"]
    files = [file for file in noun_files() if file in by_file]
    return {noun: tuple(by_file[file].split()) for file in files for noun in read_data(file)}


@lru_cache(maxsize=1024)
def _own_words(name: str) -> frozenset[str]:
    """Return the words of an archetype's fields that not every record has."""
    fields = define(name).fields
    words = {singular(word) for key in fields if "{" not in key for word in tokens(key)}
    return frozenset(words - frozenset(read_data("field_names")["generic_words"]))
