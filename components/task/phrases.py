"""The author's words: phrases as data, and a fallback made of names for unknown services."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from components.environment.catalog_loader import builtin_services, load_phrases
from components.task.graph import Place, ToolShape
from components.task.unwritten import sentence_of, title_words

OPTIONAL = re.compile(r"\[([^\[\]]*\{(\w+)\}[^\[\]]*)\]")
"""`[ about {name}]`: words that are left out when there is no value for `name`."""
_SECTIONS = ("tools", "rows", "links", "links_then", "reverse", "states", "nouns")


class Phrases:
    """What the phrase files say, and what names give where it says nothing."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Args: data: the parsed file."""
        self._data = data

    def values(self, shape: ToolShape, pointer: str) -> Sequence[str]:
        """Return texts that a request may state for an argument."""
        found: Sequence[str] | None = self._tool(shape).get("values", {}).get(slot_name(pointer))
        return found or self.stock("values")

    def sentences(self, shape: ToolShape, pointers: Sequence[str]) -> Sequence[str]:
        """Return sentence templates that ask for a call with these arguments."""
        names = {slot_name(pointer) for pointer in pointers}
        fitting = fitting_texts(self._tool(shape).get("sentences", ()), names)
        slots = {pointer: slot_name(pointer) for pointer in pointers}
        return fitting or [sentence_of(shape, slots, self._data["unwritten"])]

    def restraints(
        self, shape: ToolShape, pointers: Sequence[str], pointer: str = ""
    ) -> Sequence[str]:
        """Return words, to follow `but` or to begin a sentence, that forbid a call.

        Where the phrase files have none, a write that sets one value of a row gets common ones.

        Args:
            shape: the write.
            pointers: its arguments.
            pointer: the one that the words must name; empty: any.
        """
        found = self._restraints(shape, pointers)
        return [text for text in found if not pointer or f"{{{slot_name(pointer)}}}" in text]

    def _restraints(self, shape: ToolShape, pointers: Sequence[str]) -> Sequence[str]:
        names = {slot_name(pointer) for pointer in pointers}
        known = [
            text
            for text in self._tool(shape).get("not", ())
            if set(re.findall(r"\{(\w+)\}", text)) <= names
        ]
        naming = [item for item in shape.parameters if item.names_row]
        setting = [item for item in shape.parameters if not item.names_row and item.place]
        if known or len(naming) != 1 or len(setting) != 1 or setting[0].is_free_text:
            return known
        assert setting[0].place is not None
        noun = self.noun(setting[0].place)
        row = slot_name(naming[0].pointer)
        return [
            text.replace("{noun}", noun).replace("{row}", f"{{{row}}}")
            for text in self.stock("keep")
        ]

    def slot(self, shape: ToolShape, pointer: str, *, is_fact: bool, is_text: bool) -> str:
        """Return the words around an argument's value, with `{}` for the value."""
        known = self._tool(shape).get("slots", {}).get(slot_name(pointer))
        if known:
            return str(known["fact" if is_fact else "literal"])
        if is_fact:
            return "a text that gives {}"
        return '"{}"' if is_text else "{}"

    def fact_texts(self, shape: ToolShape, pointer: str, place: Place) -> Sequence[str]:
        """Return texts that state an observed value: `{value}` is its place."""
        del shape, pointer
        noun = self.noun(place)
        return [text.replace("{noun}", noun) for text in self._data["facts"]]

    def row_by(self, place: Place, title: str) -> Sequence[str]:
        """Return phrases for a row that is named by a value of this place."""
        known = self._data["rows"].get(str(place))
        if known:
            return list(known)
        called = title_words(title, self._data["unwritten"]["title_ends"])
        return [f'the {words(place.table)} "{{}}"' + (f" in {called}" if called else "")]

    def link(self, place: Place, *, is_then: bool, is_long: bool) -> Sequence[str]:
        """Return phrases for the row that a field of `{row}` names.

        Args:
            place: the field.
            is_then: it has another value by then.
            is_long: the request is a longer one, where things are said more plainly.
        """
        plain: Sequence[str] = self._data["links"].get(str(place)) or [
            f"the {words(re.sub('_(id|email|address)$', '', place.field))} of {{row}}"
        ]
        if is_long:
            plain = [self._plainer(text) for text in plain]
            new = [re.sub("^the ", "the new ", text) for text in plain if text.startswith("the ")]
            return new if is_then and new else plain
        if not is_then:
            return plain
        return self._data["links_then"].get(str(place)) or [f"{text} by then" for text in plain]

    def _plainer(self, text: str) -> str:
        for word, plainer in self._data["plainer"].items():
            text = text.replace(f" {word} {{row}}", f" {plainer} {{row}}")
        return text

    def reverse(self, place: Place) -> Sequence[str]:
        """Return phrases for the row whose field names `{row}`."""
        known = self._data["reverse"].get(str(place))
        return known or [f"the[ {{state}}] {words(place.table)}[ {{title}}] of {{row}}"]

    def is_adjective(self, place: Place, value: str) -> bool:
        """Return whether a choice can stand before its noun, as in `the open ticket`."""
        return "_" not in value and value not in self._data["states"].get(str(place), {})

    def noun(self, place: Place) -> str:
        """Return the words for a field."""
        return str(self._data["nouns"].get(str(place)) or words(place.field))

    def table_noun(self, service: str, table: str) -> str:
        """Return the words for a row of a table."""
        return str(self._data["nouns"].get(f"{service}.{table}") or words(table))

    def stock(self, name: str) -> Sequence[str]:
        """Return common phrases by name."""
        found: Sequence[str] = self._data["stock"][name]
        return found

    def _tool(self, shape: ToolShape) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._data["tools"].get(f"{shape.service}.{shape.name}", {})
        return found


@cache
def phrases() -> Phrases:
    """Return the common phrases of the file beside this module and those of every service."""
    text = resources.files("components.task").joinpath("phrases.json").read_text(encoding="utf-8")
    data: dict[str, Any] = {section: {} for section in _SECTIONS}
    for service in builtin_services():
        for section, entries in load_phrases(service).items():
            data[section].update(entries)
    return Phrases({**data, **json.loads(text)})


def fitting_texts(texts: Sequence[str], names: set[str]) -> list[str]:
    """Return the sentence templates that have a place for each of these arguments, and need no
    other.
    """
    return [
        text
        for text in texts
        if names == set(re.findall(r"\{(\w+)\}", text)) & names | _bare(text)
        and names <= set(re.findall(r"\{(\w+)\}", text))
    ]


def slot_name(pointer: str) -> str:
    """Return an argument's name in a sentence: `/items/0/name` is `items_name`."""
    return "_".join(part for part in pointer.split("/")[1:] if not part.isdigit())


def words(name: str) -> str:
    """Return a name as words: `dueDate` and `due_date` are `due date`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.sub(r"[_\-\s]+", " ", spaced).strip().lower()


def _bare(text: str) -> set[str]:
    """Return the names in a sentence that it cannot do without."""
    return set(re.findall(r"\{(\w+)\}", OPTIONAL.sub("", text)))
