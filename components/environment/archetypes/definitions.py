"""Archetypes as the data files define them, composed.

A definition of `nouns_*.json` or `mixins.json`:

    is      mixins and nouns that it builds on, in this order; its own fields come first
    also    other words for it
    title   field that a person would call it by          key     field that names it by itself
    fields  field -> meaning; `?` at the end: may be null; `{subject}` in a name: see `find`
    links   field -> noun that it points to               texts   bank of `sentences.json`
    sums    field -> `a + b` over other fields            order   groups of fields, lowest first
    shape   record, series, statistics, summary or value
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from components.environment.archetypes.meanings import Kind, parse_meaning
from components.environment.archetypes.records import FieldShape, Shape
from components.environment.archetypes.word_lists import noun_files, read_data
from components.errors import SynthesisError

GENERAL = "general"
"""The archetype of nouns that nothing is known of."""


@dataclass(slots=True, kw_only=True)
class Definition:
    """A composed definition."""

    title: str = ""
    key: str | None = None
    shape: Shape = Shape.RECORD
    texts: str = GENERAL
    fields: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    sums: dict[str, str] = field(default_factory=dict)
    order: tuple[tuple[str, ...], ...] = ()


@lru_cache(maxsize=1)
def nouns() -> dict[str, dict[str, Any]]:
    """Return every noun's own part, by noun."""
    found: dict[str, dict[str, Any]] = {}
    for file in noun_files():
        for noun, body in read_data(file).items():
            if noun in found:
                raise SynthesisError(f"{file}.json: the noun {noun!r} is in another file too")
            found[noun] = body
    return found


@lru_cache(maxsize=1)
def aliases() -> dict[str, str]:
    """Return every other word and the noun that it stands for."""
    found: dict[str, str] = {}
    for noun, body in nouns().items():
        for word in body.get("also", "").split():
            if word in nouns() or found.setdefault(word, noun) != noun:
                raise SynthesisError(f"{noun!r}: its other word {word!r} is taken")
    return found


@lru_cache(maxsize=1024)
def define(noun: str) -> Definition:
    """Return a noun's definition with all that it builds on.

    Raises:
        SynthesisError: the data files do not fit together; the message names the noun.
    """
    body = nouns()[noun]
    whole = Definition()
    for part in (body, *_bases(body, noun)):
        whole.title = whole.title or part.get("title", "")
        whole.key = whole.key or part.get("key")
        if "shape" in part and whole.shape is Shape.RECORD:
            whole.shape = Shape(part["shape"])
        if "texts" in part and whole.texts == GENERAL:
            whole.texts = part["texts"]
        for name in ("fields", "links", "sums"):
            mine: dict[str, str] = getattr(whole, name)
            for key, value in part.get(name, {}).items():
                mine.setdefault(key, value)
        whole.order = whole.order or tuple(tuple(group) for group in part.get("order", ()))
    if whole.title not in whole.fields:
        raise SynthesisError(f"{noun!r}: its title {whole.title!r} is none of its fields")
    return whole


def _bases(body: dict[str, Any], noun: str) -> Iterator[dict[str, Any]]:
    for name in body.get("is", "").split():
        base = read_data("mixins").get(name) or nouns().get(name)
        if base is None:
            raise SynthesisError(f"{noun!r}: nothing is called {name!r}, which it builds on")
        yield base
        yield from _bases(base, name)


def field_shape(spec: str) -> FieldShape:
    """Return the field that a meaning of the data files describes."""
    meaning = parse_meaning(spec.removesuffix("?"))
    is_closed = meaning.kind is Kind.CHOICE and meaning.is_closed
    return FieldShape(
        type=meaning.type,
        meaning=meaning.name,
        nullable=spec.endswith("?"),
        enum=meaning.options if is_closed else None,
    )
