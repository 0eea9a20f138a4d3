"""One value of a meaning, in the context of its row.

Owns how the values of one row agree: all that it says of one person, company, place or file is of
the same one, its instants are in order, and its slug is made of its title. What belongs to a whole
table (distinct titles, spread statuses, sums) is in `rows`.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from components.environment.archetypes.cast import USUAL, Cast
from components.environment.archetypes.meanings import Kind, Meaning, parse_meaning
from components.environment.archetypes.templates import ALPHABETS, Slot, Template, parse_template
from components.environment.archetypes.times import RowTimes
from components.environment.archetypes.word_lists import read_data
from components.environment.names import snake

OWN = ""
"""Role of the person, company or place that the row itself is about."""
_REGULARS = 6
_PROSE = {"sentence": 1, "paragraph": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableContext:
    """What the rows of one table share."""

    cast: Cast
    now: datetime
    noun: str
    texts: str = "general"
    """Bank of sentences that prose is drawn from."""
    size: int = 1
    """Rows of the table."""
    walk_base: float = 0.5
    """In [0, 1): where slowly moving numbers of this table lie in their range."""
    is_about_people: bool = False
    """Its rows are persons: what a row says of a company or a place is their employer or home."""


class RowDraw:
    """Draws the values of one row. The same generator state gives the same values."""

    def __init__(
        self, table: TableContext, rng: random.Random, index: int, own: int | None = None
    ) -> None:
        """Args:
        index: place of the row in its table, from 0.
        own: which member of the cast the row is about; None: the one at `index`.
        """
        self._table, self._rng, self.index = table, rng, index
        self._own = index if own is None else own
        self._members: dict[tuple[str, str], Any] = {}
        self._shared: dict[str, float] = {}
        self.times = RowTimes(table.now, rng, index, table.size)
        self.title: str | None = None
        """The row's title once drawn."""

    def value(self, meaning: str, role: str = OWN) -> Any:
        """Return a JSON value.

        Args:
            meaning: see `meanings`.
            role: whose person, company or place it is (`assignee`); `OWN`: the row's own.
        """
        return self._drawn(parse_meaning(meaning), role)

    def move_on(self) -> None:
        """Turn to another member of the cast and another place in aligned lists."""
        self._own += USUAL
        self._members.clear()
        self._shared.clear()

    def _drawn(self, meaning: Meaning, role: str) -> Any:
        match meaning.kind:
            case Kind.CAST:
                return self._cast(meaning, role)
            case Kind.TIME:
                return self.times.shown(meaning.part, meaning.form)
            case Kind.NUMBER:
                return self._number(meaning)
            case Kind.WALK:
                return self._walk(meaning)
            case Kind.CHOICE:
                return self._chosen(meaning)
            case Kind.TEXT:
                return self._filled(self._rng.choice(meaning.templates), role)
            case Kind.TITLE:
                return self._titled(meaning.part or self._table.noun)
            case Kind.PROSE:
                return self._prose(meaning)
            case Kind.BOOLEAN:
                return self._rng.random() < meaning.share
            case Kind.LIST:
                return self._list(meaning)
            case Kind.OBJECT:
                return {name: self.value(part) for name, part in meaning.parts.items()}
            case Kind.ORDER:
                return int(meaning.low) + self.index
            case Kind.SLUG:
                return self._slug()

    def _cast(self, meaning: Meaning, role: str) -> Any:
        kind, _, part = meaning.part.partition(".")
        return getattr(self._member(kind, role), _PARTS.get(meaning.part, part))

    def _member(self, kind: str, role: str) -> Any:
        """Return the row's own member, or one of the few that a role falls to."""
        key = (kind, role)
        if key not in self._members:
            cast, own = self._table.cast, self._own
            maker: Callable[[int], Any] = getattr(cast, _MAKERS[kind])
            if role == OWN and self._table.is_about_people and kind in ("company", "place"):
                found = getattr(cast.person(own), kind)
            elif role == OWN and kind == "place" and ("company", OWN) in self._members:
                found = self._members["company", OWN].place
            elif role == OWN:
                found = maker(own)
            else:
                taken = [item for (other, _), item in self._members.items() if other == kind]
                usual = [maker(place) for place in range(_REGULARS + 1) if place != own]
                found = self._rng.choice([item for item in usual if item not in taken] or usual)
            self._members[key] = found
        return self._members[key]

    def _chosen(self, meaning: Meaning) -> Any:
        if not meaning.aligned:
            return self._rng.choice(meaning.options)
        share = self._shared.setdefault(meaning.aligned, self._rng.random())
        return meaning.options[int(share * len(meaning.options))]

    def _number(self, meaning: Meaning) -> int | float:
        if meaning.name == "duration.minutes":
            return self.times.minutes
        if meaning.name == "duration.seconds":
            return self.times.seconds
        low, high, places = meaning.low, meaning.high, meaning.places
        if low > 0 and high / low > 200:  # sizes and sums: as many small ones as large ones
            number = low * math.exp(self._rng.random() * math.log(high / low))
        elif meaning.near:
            shared = self._shared.setdefault(meaning.name, self._rng.random())
            share = shared + meaning.near * (self._rng.random() - 0.5)
            number = low + min(max(share, 0.0), 1.0) * (high - low)
        else:
            number = low + self._rng.random() * (high - low)
        if places > 0:
            return min(max(round(number, places), low), high)
        step = int(10**-places)
        whole = round(number / step) * step
        return min(max(whole, math.ceil(low)), math.floor(high))

    def _walk(self, meaning: Meaning) -> int | float:
        base = meaning.low + (meaning.high - meaning.low) * (0.2 + 0.6 * self._table.walk_base)
        wave = math.sin(self.index * 0.9 + self._table.walk_base * 6)
        number = base * (1 + 0.05 * wave + 0.04 * (self._rng.random() - 0.5))
        number = min(max(number, meaning.low), meaning.high)
        return round(number, meaning.places) if meaning.places else round(number)

    def _filled(self, template: Template, role: str = OWN, *, is_prose: bool = False) -> str:
        text = ""
        for part in template:
            if isinstance(part, str):
                text += part
                continue
            piece = self._slot(part, role, is_prose)
            while part.is_other and piece.lower() in text.lower():
                piece = self._slot(part, role, is_prose)
            text += piece
        return text

    def _slot(self, slot: Slot, role: str, is_prose: bool) -> str:
        rng = self._rng
        if slot.meaning:
            is_elsewhere = is_prose and slot.meaning.startswith(("company.", "place."))
            # A text that speaks of somebody speaks of somebody else than the row's own.
            is_elsewhere = is_elsewhere or slot.meaning.startswith("person.")
            return str(self.value(slot.meaning, role or ("text" if is_elsewhere else OWN)))
        if slot.count:
            chars = [rng.choice(ALPHABETS[slot.alphabet]) for _ in range(slot.count)]
            if slot.alphabet == "#" and chars[0] == "0":
                chars[0] = "3"
            return "".join(chars)
        word = rng.choice(slot.words)
        return word[:1].upper() + word[1:] if slot.is_large else word

    def _titled(self, bank: str) -> str:
        texts = read_data("titles").get(bank)
        if texts is None:
            texts = [f"{{Codename}} {bank.replace('_', ' ')}"]
        text = self._filled(parse_template(self._rng.choice(texts)))
        return text if bank in _EXACT else text[:1].upper() + text[1:]

    def _prose(self, meaning: Meaning) -> str:
        banks = read_data("sentences")
        bank = meaning.part if meaning.part in banks else self._table.texts
        texts = banks.get(bank) or banks["general"]
        chosen = self._rng.sample(texts, min(_PROSE[meaning.form], len(texts)))
        found = [self._filled(parse_template(text), is_prose=True) for text in chosen]
        return " ".join(text[:1].upper() + text[1:] for text in found)

    def _list(self, meaning: Meaning) -> list[Any]:
        low, high = meaning.size
        found: list[Any] = []
        for place in range(self._rng.randint(low, high)):
            if meaning.parts:
                found.append({name: self.value(part) for name, part in meaning.parts.items()})
                continue
            item = self.value(meaning.item, f"item {place}")
            if not (meaning.is_distinct and item in found):
                found.append(item)
        return found

    def _slug(self) -> str:
        title = self.title or self._titled(self._table.noun)
        return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "item"


_PARTS = {f"repo.{part}": f"repo_{part}" for part in ("full_name", "name", "url", "path")}
_MAKERS = {
    "person": "person", "company": "company", "product": "product", "project": "project",
    "repo": "project", "place": "place", "file": "file",
}  # fmt: skip
_EXACT = frozenset(read_data("field_names")["exact_titles"])


def role_of(name: str, noun: str, own_roles: frozenset[str]) -> str:
    """Return whose person, company or place a field tells of (`assignee_email` -> `assignee`).

    Args:
        own_roles: roles that mean the row's own (that of its title field).
    """
    words = snake(name).split("_")
    parts = read_data("field_names")["part_words"]
    mine = set(noun.split("_"))
    role = "_".join(word for word in words if word not in parts and word not in mine)
    return OWN if role in own_roles else role


def draw_value(
    meaning: str, rng: random.Random, cast: Cast, index: int, now: datetime, noun: str = "record"
) -> Any:
    """Return one value outside any table.

    Args:
        meaning: see `meanings`.
        index: which member of the cast the value is about, where it is about one.
        now: the world's time.
    """
    table = TableContext(cast=cast, now=now, noun=noun, size=index + 1, walk_base=rng.random())
    return RowDraw(table, rng, index).value(meaning)
