"""What a field of a spec means, by its name, its JSON type and its schema.

Owns the order of the evidence: an enum, then a form that the description gives, a format, the whole
name, its last two words, its last word, its first word, its head (`tag_to_add`, `min_price`), what
else the description says, and the type alone. The words are in `field_names.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from components.environment.archetypes.meanings import Kind, Meaning, parse_meaning
from components.environment.archetypes.records import FieldShape
from components.environment.archetypes.told_forms import told_forms
from components.environment.archetypes.word_lists import read_data
from components.environment.names import singular, snake
from components.records.blueprint import FieldType
from components.records.frozen import FrozenDict

_FITTING: dict[str, frozenset[FieldType]] = {
    "string": frozenset({FieldType.STRING, FieldType.TIMESTAMP}),
    "integer": frozenset({FieldType.INTEGER, FieldType.NUMBER}),
    "number": frozenset({FieldType.INTEGER, FieldType.NUMBER}),
    "boolean": frozenset({FieldType.BOOLEAN}),
    "array": frozenset({FieldType.ARRAY}),
    "object": frozenset({FieldType.OBJECT}),
}
_NAMED = ("person.", "company.", "place.", "product.", "project.", "repo.", "code.", "text.")
UNKNOWN_TEXT = "text.phrase"
"""Meaning of texts of which not even the name says what they hold."""
_COUNTS = ("number", "num", "count")
_SAYS_NOTHING = frozenset({UNKNOWN_TEXT, "count.medium", "count:1..60", "list:text.word"})


def meaning_of(name: str, json_type: str, schema: Mapping[str, Any] = FrozenDict()) -> str:
    """Return the meaning of a field.

    Args:
        name: the field's name, in any case.
        json_type: string, integer, number, boolean, array or object; another text: string.
        schema: its own JSON Schema (format, enum, description ...), references resolved.

    Example:
        >>> meaning_of("due_date", "string"), meaning_of("assigneeEmail", "string")
        ('date.due', 'person.email')
    """
    kind = json_type if json_type in _FITTING else "string"
    enum = schema.get("enum")
    if kind == "string" and enum and all(isinstance(item, str) for item in enum):
        usable = [item for item in enum if item and not set(item) & set("|!")]
        if len(usable) == len(enum):
            return f"enum:{'|'.join(enum)}"
    description = schema.get("description")
    text = description if isinstance(description, str) else ""
    form = schema.get("format")
    return _by_words(snake(name), kind, form if isinstance(form, str) else "", text[:400])


@lru_cache(maxsize=16384)
def _by_words(word: str, kind: str, form: str, description: str) -> str:
    lexicon = read_data("field_names")
    parts = tuple(word.split("_")) if word else ("value",)
    if kind == "boolean":
        return "flag"
    for found in told_forms(word, kind, description):
        if holds(parse_meaning(found), kind) and not _is_prose(parts, lexicon):
            return found
    candidates = list(_candidates(parts, kind, form, description, lexicon))
    for found in candidates:
        shown = _in_form(found, kind, form, description, lexicon)
        if parse_meaning(shown).type in _FITTING[kind]:
            return shown
    for found in candidates:
        # A number that is sent as text (`amount`) is still a number.
        if kind == "string" and parse_meaning(found).type in _FITTING["number"]:
            return found
    singular_list = _element_meaning(parts, lexicon) if kind == "array" else None
    return singular_list or str(lexicon["types"][kind])


def holds(meaning: Meaning, kind: str) -> bool:
    """True where a field of a JSON type can hold a meaning's values; a text also holds numbers."""
    own = meaning.type
    return own in _FITTING.get(kind, ()) or (kind == "string" and own in _FITTING["number"])


def _is_prose(parts: tuple[str, ...], lexicon: Mapping[str, Any]) -> bool:
    """True where the name is that of a text: words of its description then tell of its subject."""
    found = _typed(
        lexicon["exact"].get("_".join(parts)) or lexicon["last"].get(parts[-1]), "string"
    )
    return found is not None and parse_meaning(found).kind in (Kind.PROSE, Kind.TITLE)


def _candidates(
    parts: tuple[str, ...], kind: str, form: str, description: str, lexicon: Mapping[str, Any]
) -> Iterator[str]:
    """Yield meanings, best evidence first; not all fit the type."""
    exact = _typed(lexicon["exact"].get("_".join(parts)), kind)
    formatted = lexicon["formats"].get(form)
    if formatted and not (exact and _agrees(exact, formatted)):
        timed = _timed(parts, lexicon)
        yield timed if timed and formatted.partition(".")[0] in ("time", "date") else formatted
    if exact:
        yield exact
    timed = _timed(parts, lexicon)
    if timed:
        yield timed
    if len(parts) > 1:
        pair = _typed(lexicon["exact"].get("_".join(parts[-2:])), kind)
        if pair:
            yield pair
        if parts[-1] == "name":
            yield from _named(parts[-2], lexicon)
    last = _typed(lexicon["last"].get(parts[-1]), kind)
    if last:
        yield last
    if len(parts) > 1 and parts[-1] in lexicon["weak_tails"]:
        yield from _candidates(parts[:-1], kind, "", "", lexicon)
    if parts[0] in _COUNTS and parts[1:2] == ("of",):
        yield "count.small"
        return
    head = _head(parts, lexicon)
    if head is not None:
        yield from _candidates(head, kind, "", "", lexicon)
    first = lexicon["first"].get(parts[0]) if len(parts) > 1 else None
    if first:
        yield first
    for clue, meaning in lexicon["described"]:
        if description and re.search(clue, description):
            yield meaning


def _head(parts: tuple[str, ...], lexicon: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the part of a name that says what the value is: `tag` of `tag_to_add`, `option` of
    `option_2`, `price` of `min_price`; None where it is the whole name.
    """
    for place, part in enumerate(parts):
        if place and (part in lexicon["head_ends"] or part.isdigit()):
            return parts[:place]
    if len(parts) > 1 and parts[0] in lexicon["bounds"]:
        return parts[1:]
    if len(parts) > 1 and parts[-1] in lexicon["bounds"]:
        return parts[:-1]
    return None


def _named(word: str, lexicon: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the name of something is (`customer_name`, `city_name`)."""
    for section in ("exact", "last"):
        found = _typed(lexicon[section].get(word), "string")
        if found and found.startswith(_NAMED):
            is_full = found.startswith("person.") and word not in ("user", "login")
            yield "person.full_name" if is_full else found
            return


def _typed(found: Any, kind: str) -> str | None:
    chosen = found.get(kind) if isinstance(found, Mapping) else found
    return chosen if isinstance(chosen, str) else None


def _agrees(exact: str, formatted: str) -> bool:
    """True when a name says more than a format does, of the same family (`created_at`)."""
    is_url = formatted == "web.url" and exact.endswith(("url", "website"))
    families = {exact.partition(".")[0], formatted.partition(".")[0]}
    return len(families) == 1 or families <= {"time", "date", "epoch"} or is_url


def _timed(parts: tuple[str, ...], lexicon: Mapping[str, Any]) -> str | None:
    """Return the meaning of an instant whose kind the word before the last one says."""
    if len(parts) < 2:
        return None
    kind = lexicon["before"].get(parts[-2], {}).get(parts[-1])
    if kind is None:
        return None
    return f"{'date' if parts[-1] in ('date', 'on') else 'time'}.{kind}"


def _in_form(found: str, kind: str, form: str, description: str, lexicon: Mapping[str, Any]) -> str:
    """Return an instant in the form that type, format and description ask for."""
    meaning = parse_meaning(found)
    if meaning.kind is not Kind.TIME or meaning.form in ("clock", "year"):
        return found
    if kind in ("integer", "number"):
        return f"epoch.{meaning.part}"
    if form in ("date", "date-time"):
        return f"{'date' if form == 'date' else 'time'}.{meaning.part}"
    for clue, family in lexicon["described_times"]:
        if description and family != "epoch" and re.search(clue, description):
            return f"{family}.{meaning.part}"
    return found


def _element_meaning(parts: tuple[str, ...], lexicon: Mapping[str, Any]) -> str | None:
    """Return a list of what the singular of its name means (`attendee_emails`, `cities`)."""
    one = "_".join((*parts[:-1], singular(parts[-1])))
    found = _by_words(one, "string", "", "")
    return None if found in _SAYS_NOTHING or found in lexicon["types"].values() else f"list:{found}"


def shape_of(
    name: str, json_type: str, schema: Mapping[str, Any] = FrozenDict(), *, nullable: bool = False
) -> FieldShape:
    """Return the field that a parameter of a spec is stored in.

    Args:
        name, json_type, schema: see `meaning_of`.
    """
    meaning = parse_meaning(meaning_of(name, json_type, schema))
    is_closed = meaning.kind is Kind.CHOICE and meaning.is_closed and bool(schema.get("enum"))
    return FieldShape(
        type=FieldType(json_type) if json_type in _FITTING else FieldType.STRING,
        meaning=meaning.name,
        nullable=nullable,
        enum=meaning.options if is_closed else None,
    )
