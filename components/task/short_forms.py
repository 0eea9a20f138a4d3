"""What a request calls a row the second time: `that ticket`, `that sender`, while that is clear.

Owns when a short form is clear. A form that would stand for two things stands for neither from then
on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping

from components.task.graph import Place, ToolGraph
from components.task.known import RowKey, entity_of
from components.task.phrases import phrases
from components.task.spans import Pieces, flatten
from components.task.steps import WalkStep

_LONG = 24
"""Letters from which words get a short form."""
_FULLER = 18
"""The same in longer requests."""
_CODES = 2
"""Mentions after the first in which a thing is called by its code; then it is `that incident`."""
_PERSON = "that person"
_ROLE = re.compile(
    r"the (?:new )?((?:[\w-]+ ){0,2}?[\w-]+) (?:of|on|behind|for|that|in|about|pinned|by|with) "
)
_CODE = re.compile(r"(?:the )?(?:[a-z-]+ ){1,3}([A-Z]{2,5}-\d+)")
_JOINTS = frozenset(
    {"behind", "of", "on", "to", "for", "that", "in", "about", "by", "with", "from", "who"}
)
_NAMED = re.compile(r'the ([a-z-]+) ["A-Z]')


class ShortForms:
    """Short forms of short walks: those that the policy which comes with the program has seen."""

    def __init__(self, graph: ToolGraph, rows: Mapping[RowKey, WalkStep]) -> None:
        """Args: graph: the tools'; rows: every row that an answer shows, and which."""
        self._graph, self._rows = graph, rows
        self._short: dict[Hashable, Pieces] = {}
        self._whole: dict[Hashable, Pieces] = {}

    def get(self, key: Hashable) -> Pieces | None:
        """Return the words for what was named before, or None at the first mention.

        Args:
            key: a row, or what a value means and the value.
        """
        return self._short.get(key)

    def forms(self, key: Hashable) -> frozenset[str]:
        """Return what something may be called from now on; naming it so is not counted."""
        words = self._short.get(key)
        return frozenset() if words is None else frozenset({flatten(words)[0]})

    def keep(self, key: Hashable, words: Pieces) -> None:
        """Remember what something was called, for the next mention."""
        plain = flatten(words)[0]
        self._whole[key] = [plain]
        self._short[key] = self._made(key, plain)

    def call(self, key: Hashable, whole: str, form: str) -> None:
        """Call something by a form of its own from now on."""
        self._whole[key], self._short[key] = [whole], [form]

    def name_person(self, key: Hashable = None) -> None:
        """Note that somebody is named by what a person would call them."""

    def _made(self, key: Hashable, plain: str) -> Pieces:
        if len(plain) <= _LONG or not plain.startswith("the "):
            return [plain]
        if isinstance(key, RowKey) and self._is_only(key):
            return [f"that {phrases().table_noun(key.service, key.table)}"]
        role = re.match(r"the (\w+) (?:of|on) ", plain)
        if role is None or role[1] == "person":
            return [plain]
        return self._claimed(key, plain, f"that {role[1]}")

    def _is_only(self, row: RowKey) -> bool:
        return not any(other.table == row.table for other in self._rows if other != row)

    def _claimed(self, key: Hashable, plain: str, form: str) -> Pieces:
        del key
        short: Pieces = [form]
        for other, used in self._short.items():
            if used == short:
                # Two senders: neither is `that sender` from here on.
                self._short[other] = self._whole[other]
                return [plain]
        return short


class FullerShortForms(ShortForms):
    """Short forms for longer requests, where whole names repeated are what reads worst.

    `that person` and `that ticket` are given up as soon as another person or ticket is named: a
    reader would take the last one.
    """

    def __init__(
        self,
        graph: ToolGraph,
        rows: Mapping[RowKey, WalkStep],
        address_of: Callable[[Hashable], str] = lambda _key: "",
        *,
        is_full: bool = True,
    ) -> None:
        """Args:
        graph: the tools'.
        rows: every row that an answer shows, and which.
        address_of: the address of the person whom a key is about; empty: of nobody. One who is
            named by number here and by address there is one person.
        is_full: whether channels, codes and persons have short forms too.
        """
        super().__init__(graph, rows)
        self._is_full = is_full
        self._unclear: set[str] = set()
        self._address_of = address_of if is_full else lambda _key: ""
        self._codes: dict[Hashable, str] = {}
        """What is called by its code -> what it is called once the code has been said enough."""
        self._mentions: Counter[Hashable] = Counter()

    def forms(self, key: Hashable) -> frozenset[str]:
        keys = [item for item in self._short if item == key or self._is_same(item, key)]
        found = [form for item in keys for form in super(FullerShortForms, self).forms(item)]
        return frozenset([*found, *(self._codes[item] for item in keys if item in self._codes)])

    def get(self, key: Hashable) -> Pieces | None:
        coded = next((item for item in self._codes if self._is_one(item, key)), None)
        if coded is not None and self._codes[coded] not in self._unclear:
            self._mentions[coded] += 1
            if self._mentions[coded] > _CODES:
                return [self._codes[coded]]
        found = super().get(key)
        address = "" if found is not None else self._address_of(key)
        for item, words in self._short.items():
            if address and self._address_of(item) == address:
                return words
        if found is None:
            # The row was named as what a value means: the customer of an invoice is an account.
            other = next((item for item in self._short if self._is_same(item, key)), None)
            short = None if other is None else self._short[other]
            if other is not None and short is not None and short != self._whole[other]:
                return short
        return found

    def call(self, key: Hashable, whole: str, form: str) -> None:
        for item in list(self._short):
            if self._is_one(item, key):
                super().call(item, whole, form)
        super().call(key, whole, form)

    def _is_one(self, left: Hashable, right: Hashable) -> bool:
        return left == right or self._is_same(left, right)

    def keep(self, key: Hashable, words: Pieces) -> None:
        service, table = _table_of(key)
        form = f"that {phrases().table_noun(service, table)}"
        if any(used == form and not self._is_one(item, key) for item, used in self._codes.items()):
            self._unclear.add(form)
        self._withdraw(f"that {phrases().table_noun(service, table)}", key)
        if self._is_person(key):
            self.name_person(key)
        super().keep(key, words)

    def name_person(self, key: Hashable = None) -> None:
        """Give up `that person` for whoever was called so, if somebody else is named now."""
        self._withdraw(_PERSON, key)

    def _withdraw(self, form: str, key: Hashable) -> None:
        for other, used in list(self._short.items()):
            if used == [form] and other != key and not self._is_same(other, key):
                self._give_up(other, form)

    def _give_up(self, other: Hashable, form: str) -> None:
        """Call something by its whole name again, inside the names of other things too."""
        self._unclear.add(form)
        whole = flatten(self._whole[other])[0]
        for names in (self._whole, self._short):
            for key, words in names.items():
                names[key] = [flatten(words)[0].replace(form, whole)]

    def _made(self, key: Hashable, plain: str) -> Pieces:
        if plain.startswith("whoever "):
            return self._claimed(key, plain, _PERSON)
        code = _CODE.fullmatch(plain)
        if code is not None and not _JOINTS & set(plain.split()):
            service, table = _table_of(key)
            if self._is_full and self._is_clear(key):
                self._codes[key] = f"that {phrases().table_noun(service, table)}"
            return [code[1]]  # a number of its own names a thing without its noun
        service, table = _table_of(key)
        noun = phrases().table_noun(service, table)
        named = re.fullmatch(rf"(?:the )?{re.escape(noun)} [a-z]+-[a-z-]+", plain)
        named = named if self._is_full else None
        least = _FULLER if self._is_full else _LONG
        if named is None and (len(plain) <= least or not plain.startswith("the ")):
            return [plain]
        role = _NAMED.match(plain) or _ROLE.match(plain)
        is_picked = plain.startswith("the one with ")
        is_noun = f" {noun} " in plain and (role is None or not role[1].startswith("person"))
        if is_picked or is_noun or named is not None:
            is_clear = self._is_clear(key)
            return self._claimed(key, plain, f"that {noun}") if is_clear else [plain]
        if role is None or role[1].split()[0] in ("person", "one"):
            return [plain]
        if plain.startswith("the new "):
            return self._claimed(key, plain, f"the new {role[1]}")
        return self._claimed(key, plain, f"that {role[1]}")

    def _is_clear(self, key: Hashable) -> bool:
        """Return whether no other row of its table is shown."""
        return all(
            (other.service, other.table) != _table_of(key) or self._is_one(key, other)
            for other in self._rows
        )

    def _claimed(self, key: Hashable, plain: str, form: str) -> Pieces:
        if form in self._unclear:
            return [plain]
        for other, used in self._short.items():
            if used == [form] and not self._is_same(other, key):
                self._give_up(other, form)
                return [plain.replace(form, flatten(self._whole[other])[0])]
        return [form]

    def _is_person(self, key: Hashable) -> bool:
        service, table = _table_of(key)
        fields = set(entity_of(self._graph, Place(service, table, "")).fields)
        return "email" in fields or (not isinstance(key, RowKey) and "email" in _field_of(key))

    def _is_same(self, left: Hashable, right: Hashable) -> bool:
        """Return whether a row and a value stand for one thing."""
        address = self._address_of(left)
        if address and address == self._address_of(right):
            return True
        if isinstance(right, RowKey):
            left, right = right, left
        if not isinstance(left, RowKey) or not isinstance(right, tuple):
            return False
        means, value = right
        if (means.service, means.table) != (left.service, left.table):
            return False
        if means.field == entity_of(self._graph, Place(left.service, left.table, "")).key:
            return bool(value == left.row_id)
        step = self._rows.get(left)
        return step is not None and any(
            (fact.row, fact.place.field, fact.value) == (left, means.field, value)
            for fact in step.known
        )


def _table_of(key: Hashable) -> tuple[str, str]:
    if isinstance(key, RowKey):
        return key.service, key.table
    assert isinstance(key, tuple)
    means, _value = key
    return means.service, means.table


def _field_of(key: Hashable) -> str:
    assert isinstance(key, tuple)
    return str(key[0].field)
