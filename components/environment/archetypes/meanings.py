"""The grammar of meanings: what the values of a field are about.

A meaning is a text: a name of `meanings.json` (`person.email`), the name of a word list
(`text.airline`), or a form with an argument:

    enum:low|high       one of these texts, and no other
    status:new|done!    the same, as a lifecycle; `!` marks its ends
    choice:8|16|32      one of these, but others would do as well (whole numbers where all are)
    count:LOW..HIGH     a whole number       number:LOW..HIGH/PLACES   a decimal
    walk:LOW..HIGH      a number that moves slowly from row to row
    text:TEMPLATE       a template of `templates`
    title:NOUN  sentence:BANK  paragraph:BANK
    list:MEANING        one to three of them
    time.KIND  date.KIND  epoch.KIND    an instant of `times`, as timestamp, date or seconds
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

from components.environment.archetypes.templates import Template, parse_template
from components.environment.archetypes.times import KINDS
from components.environment.archetypes.word_lists import pool, read_data
from components.errors import SynthesisError
from components.records.blueprint import FieldType


class Kind(StrEnum):
    """How a value of a meaning is drawn."""

    CAST = "cast"
    TIME = "time"
    NUMBER = "number"
    WALK = "walk"
    CHOICE = "choice"
    TEXT = "text"
    TITLE = "title"
    PROSE = "prose"
    BOOLEAN = "boolean"
    LIST = "list"
    OBJECT = "object"
    ORDER = "order"
    SLUG = "slug"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """A meaning, read."""

    name: str
    kind: Kind
    type: FieldType
    unique: bool = False
    """No two rows of a table share it, where it is about the row itself."""
    part: str = ""
    """CAST: `person.email`. TIME: the kind. TITLE, PROSE: the bank."""
    form: str = ""
    """TIME: timestamp, date, epoch, clock, weekday, week or year. PROSE: sentence or paragraph."""
    low: float = 0.0
    high: float = 0.0
    near: float = 0.0
    """Above zero: numbers of this meaning in one row differ by this share of the range at most."""
    places: int = 0
    """Decimals of a number; below zero: it is a multiple of ten, a hundred ..."""
    options: tuple[Any, ...] = ()
    aligned: str = ""
    """CHOICE: in one row, meanings of this group take the same place of their lists."""
    is_closed: bool = False
    """CHOICE: no other value would do."""
    terminal: tuple[str, ...] = ()
    templates: tuple[Template, ...] = ()
    share: float = 0.5
    item: str = ""
    """LIST: meaning of an element."""
    size: tuple[int, int] = (1, 3)
    is_distinct: bool = False
    parts: dict[str, str] = field(default_factory=dict)
    """OBJECT, and LIST of objects: property -> meaning."""


_RANGE = re.compile(r"^(-?[\d.]+)\.\.(-?[\d.]+)(?:/(\d))?$")
_TIME_FORMS = {"time": "timestamp", "date": "date", "epoch": "epoch"}
_FORM_TYPES = {
    "timestamp": FieldType.TIMESTAMP, "epoch": FieldType.INTEGER, "year": FieldType.INTEGER,
    "week": FieldType.INTEGER,
}  # fmt: skip


@lru_cache(maxsize=8192)
def parse_meaning(text: str) -> Meaning:
    """Read a meaning.

    Raises:
        SynthesisError: there is no such meaning, or its argument does not read.
    """
    head, colon, rest = text.partition(":")
    if colon:
        return _parametric(text, head, rest)
    family, _, kind = text.partition(".")
    if text in read_data("meanings"):
        return _named(text, read_data("meanings")[text])
    if family in _TIME_FORMS and kind in KINDS:
        return _timed(text, kind, _TIME_FORMS[family])
    if family == "text" and pool(kind):
        return Meaning(name=text, kind=Kind.CHOICE, type=FieldType.STRING, options=pool(kind))
    if text == "title":
        return Meaning(name=text, kind=Kind.TITLE, type=FieldType.STRING, unique=True)
    if text in ("sentence", "paragraph"):
        return Meaning(name=text, kind=Kind.PROSE, type=FieldType.STRING, form=text)
    raise SynthesisError(f"no meaning {text!r}; add it to meanings.json or correct its name")


def _parametric(text: str, head: str, rest: str) -> Meaning:
    kind = FieldType.STRING
    match head:
        case "enum" | "status":
            ends = tuple(item[:-1] for item in rest.split("|") if item.endswith("!"))
            options = tuple(item.removesuffix("!") for item in rest.split("|"))
            return Meaning(
                name=text, kind=Kind.CHOICE, type=kind, options=options, is_closed=True,
                terminal=ends,
            )  # fmt: skip
        case "choice":
            items = rest.split("|")
            if all(re.fullmatch(r"[1-9]\d*|0", item) for item in items):
                whole = tuple(int(item) for item in items)
                return Meaning(name=text, kind=Kind.CHOICE, type=FieldType.INTEGER, options=whole)
            return Meaning(name=text, kind=Kind.CHOICE, type=kind, options=tuple(items))
        case "count" | "number" | "walk":
            return _ranged(text, head, rest)
        case "text":
            return Meaning(name=text, kind=Kind.TEXT, type=kind, templates=(parse_template(rest),))
        case "title":
            return Meaning(name=text, kind=Kind.TITLE, type=kind, part=rest, unique=True)
        case "sentence" | "paragraph":
            return Meaning(name=text, kind=Kind.PROSE, type=kind, part=rest, form=head)
        case "list":
            return Meaning(
                name=text, kind=Kind.LIST, type=FieldType.ARRAY, item=rest, is_distinct=True
            )
    raise SynthesisError(f"no meaning {text!r}: {head!r} takes no argument")


def _ranged(text: str, head: str, rest: str) -> Meaning:
    found = _RANGE.match(rest)
    if found is None:
        raise SynthesisError(f"meaning {text!r}: write its range as LOW..HIGH")
    low, high, places = float(found[1]), float(found[2]), int(found[3] or 0)
    kind = FieldType.INTEGER if head == "count" else FieldType.NUMBER
    if head == "walk":
        places = 0 if high >= 10000 else 2
    how = Kind.WALK if head == "walk" else Kind.NUMBER
    return Meaning(name=text, kind=how, type=kind, low=low, high=high, places=places)


def _timed(text: str, kind: str, form: str) -> Meaning:
    type_ = _FORM_TYPES.get(form, FieldType.STRING)
    return Meaning(name=text, kind=Kind.TIME, type=type_, part=kind, form=form)


def _named(text: str, body: dict[str, Any]) -> Meaning:
    unique = bool(body.get("unique"))
    if "cast" in body:
        type_ = FieldType(body.get("type", "string"))
        return Meaning(name=text, kind=Kind.CAST, type=type_, part=body["cast"], unique=unique)
    if "time" in body:
        return _timed(text, body["time"], body["form"])
    if "number" in body:
        low, high, *rest = body["number"]
        places = rest[0] if rest else 0
        whole = places <= 0 and low == int(low)
        inferred = FieldType.INTEGER if whole else FieldType.NUMBER
        type_ = FieldType(body.get("type", inferred))
        return Meaning(
            name=text, kind=Kind.NUMBER, type=type_, low=low, high=high,
            places=places if whole else max(places, 1),
            unique=unique,
            near=body.get("near", 0.0),
        )  # fmt: skip
    if "pick" in body:
        found = body["pick"]
        options = pool(found) if isinstance(found, str) else tuple(found)
        type_ = FieldType(body.get("type", "string"))
        return Meaning(
            name=text,
            kind=Kind.CHOICE,
            type=type_,
            options=options,
            unique=unique,
            aligned=body.get("aligned", ""),
        )
    if "text" in body:
        templates = tuple(parse_template(item) for item in body["text"])
        return Meaning(
            name=text, kind=Kind.TEXT, type=FieldType.STRING, templates=templates, unique=unique
        )
    if "share" in body:
        return Meaning(name=text, kind=Kind.BOOLEAN, type=FieldType.BOOLEAN, share=body["share"])
    if "list" in body or "object_list" in body:
        return Meaning(
            name=text, kind=Kind.LIST, type=FieldType.ARRAY, item=body.get("list", ""),
            parts=body.get("object_list", {}), size=tuple(body.get("size", (1, 3))),
            is_distinct=bool(body.get("distinct")),
        )  # fmt: skip
    if "object" in body:
        return Meaning(name=text, kind=Kind.OBJECT, type=FieldType.OBJECT, parts=body["object"])
    if "order" in body:
        return Meaning(
            name=text, kind=Kind.ORDER, type=FieldType.INTEGER, low=body.get("start", 1),
            unique=unique,
        )  # fmt: skip
    if "slug" in body:
        return Meaning(name=text, kind=Kind.SLUG, type=FieldType.STRING, unique=unique)
    raise SynthesisError(f"meanings.json: {text!r} does not say how its values are drawn")
