"""From a noun to its archetype.

A noun is looked up as it stands, then as another word, then by the head word of a compound, then by
how one word ends. Statistics and series carry what they are about in a field's name: the fields of
`download_statistic` count downloads, those of `price_history` hold prices.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from components.environment.archetypes.definitions import (
    GENERAL,
    aliases,
    define,
    field_shape,
    nouns,
)
from components.environment.archetypes.field_meaning import meaning_of
from components.environment.archetypes.meanings import Kind, parse_meaning
from components.environment.archetypes.records import Archetype, FieldShape, Found
from components.environment.archetypes.word_lists import read_data
from components.environment.names import article, singular, snake
from components.records.frozen import FrozenDict

_SUBJECT = "{subject}"
_MIN_SUFFIX = 4


@lru_cache(maxsize=8192)
def archetype_of(noun: str) -> Archetype:
    """Return the archetype of a noun; every noun has one, `found` says how.

    Args:
        noun: in any case and number (`calendar_event`, `PullRequests`).
    """
    given = snake(noun) or "record"
    asked = given if _known(given) else singular(given)
    name, found, why = _resolve(asked)
    return _built(asked, name, found, why)


def as_general(usual: Archetype, why: str) -> Archetype:
    """Return what is known of an archetype's noun where the archetype is not what it means."""
    return _built(usual.noun, GENERAL, Found.FALLBACK, why)


def as_sense(usual: Archetype, name: str, why: str) -> Archetype:
    """Return the archetype of another sense that a noun has."""
    return _built(usual.noun, name, Found.ALIAS, why)


def forms_of(noun: str) -> Iterator[str]:
    """Yield what a noun may be looked up as: itself, then its head words, as far as one is known.

    Args:
        noun: singular snake_case.
    """
    words = noun.split("_")
    runs = [words]
    if not _known(noun) and words[-1] in read_data("field_names")["weak_heads"]:
        runs = [words[:-1], words] if not _by_head(words, least=2) else [words]
    for run in runs:
        for start in range(len(run)):
            form = "_".join(run[start:])
            yield form
            if _known(form):
                return


def _resolve(noun: str) -> tuple[str, Found, str]:
    own = _known(noun)
    if own:
        return own
    words = noun.split("_")
    weak = read_data("field_names")["weak_heads"]
    if len(words) > 1 and words[-1] in weak:
        before = _by_head(words[:-1])
        if before and not _by_head(words, least=2):
            return before[0], Found.HEAD, f"{words[-1]!r} says little; {before[2]}"
    found = _by_head(words)
    if found:
        return found
    ending = _known(_by_ending(words[-1]) or "")
    if ending:
        return ending[0], Found.SUFFIX, f"{noun!r} ends with a word for {ending[0]!r}"
    return GENERAL, Found.FALLBACK, f"nothing is known of {noun!r}: usual fields of any record"


def _known(word: str) -> tuple[str, Found, str] | None:
    cut = f"{word}e" if len(word) > _MIN_SUFFIX else word  # `databas` is what `databases` gives
    for form in (word, cut, word.replace("_", "")):
        if form in nouns():
            return form, Found.DIRECT, f"{word!r} is known"
        if form in aliases():
            noun = aliases()[form]
            return noun, Found.ALIAS, f"{word!r} is another word for {noun!r}"
    return None


def _by_head(words: list[str], least: int = 1) -> tuple[str, Found, str] | None:
    """Return the longest known end of a compound that has at least so many words."""
    for start in range(len(words) - least + 1):
        known = _known("_".join(words[start:]))
        if known:
            if start == 0:
                return known
            head = article("_".join(words[start:]))
            return known[0], Found.HEAD, f"{'_'.join(words)!r} is {head}"
    return None


@lru_cache(maxsize=4096)
def _by_ending(word: str) -> str | None:
    """Return the longest known word behind a prefix or another known word.

    Without that condition `update` would be a date and `override` a ride.
    """
    prefixes = read_data("field_names")["prefixes"]
    for start in range(1, len(word) - _MIN_SUFFIX + 1):
        front, ending = word[:start], word[start:]
        is_front = front in prefixes or (len(ending) > _MIN_SUFFIX and _known(front) is not None)
        if is_front and _known(ending):
            return ending
    return None


def _built(asked: str, name: str, found: Found, why: str) -> Archetype:
    body = define(name)
    fields: dict[str, FieldShape] = {}
    for key, spec in body.fields.items():
        fields.setdefault(*_field(key, spec, asked, name))
    title = body.title
    status = next((key for key, item in fields.items() if item.meaning.startswith("status:")), None)
    meaning = parse_meaning(fields[status].meaning) if status else None
    return Archetype(
        noun=asked,
        name=name,
        found=found,
        why=f"{why[:1].upper()}{why[1:].rstrip('.')}.",
        shape=body.shape,
        texts=body.texts,
        title_field=title,
        key=body.key,
        fields=FrozenDict({title: fields[title], **fields}),
        links=FrozenDict(body.links),
        status_field=status,
        lifecycle=meaning.options if meaning else (),
        terminal=meaning.terminal if meaning else (),
        sums=FrozenDict(body.sums),
        order=tuple(
            tuple(key.replace(_SUBJECT, _subject(asked, name) or "total") for key in group)
            for group in body.order
        ),
    )


def _field(key: str, spec: str, asked: str, name: str) -> tuple[str, FieldShape]:
    """Return a field with what the table is about filled in."""
    shape = field_shape(spec)
    if parse_meaning(shape.meaning).kind is Kind.TITLE and shape.meaning == "title":
        shape = shape.model_copy(update={"meaning": f"title:{_bank(asked, name)}"})
    if _SUBJECT not in key:
        return key, shape
    subject = _subject(asked, name)
    if key != _SUBJECT:
        return key.replace(_SUBJECT, subject or "total"), shape
    own = parse_meaning(meaning_of(subject, "number")) if subject else None
    if own is not None and own.kind is Kind.NUMBER:
        shape = field_shape(f"walk:{own.low}..{own.high}")
    return subject or "value", shape


def _subject(asked: str, name: str) -> str:
    """Return the word before the head of a compound (`price_history` -> `price`)."""
    before, _, last = asked.rpartition("_")
    known = _known(last)
    return before.rpartition("_")[2] if known and known[0] == name else ""


def _bank(asked: str, name: str) -> str:
    """Return the bank of titles: the noun's own, its archetype's, or one made of the noun."""
    banks = read_data("titles")
    return asked if asked in banks else name if name in banks and name != GENERAL else asked
