"""The words of longer requests: plainer sentences, reactions said aloud, reasons for restraints.

Owns what the files `longer.json` of the catalog's services say. Requests of short walks know none
of it: their words are those of `phrases`. Where a file says nothing, the common words of this
module's own data stand in, or none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from components.environment.catalog_loader import builtin_services, load_longer_phrases
from components.task.graph import Place, ToolShape
from components.task.phrases import fitting_texts, slot_name

_SECTIONS = ("sentences", "actors", "not", "values", "links", "tests", "asked")
_ANY = "*"
_GIVEN = "+"
"""Before an argument's name: texts for a call that has it."""


class Longer:
    """What the files say."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Args: data: the sections of all services."""
        self._data = data

    def with_own(self, own: Mapping[str, Mapping[str, Any]]) -> Longer:
        """Return these words with others before them.

        Args:
            own: by section and entry; an entry of several parts keeps those that `own` lacks.
        """
        data = dict(self._data)
        for section, entries in own.items():
            told = dict(data[section])
            for name, entry in entries.items():
                before = told.get(name, {})
                is_split = isinstance(entry, Mapping) and isinstance(before, Mapping)
                told[name] = (
                    {**entry, **{k: v for k, v in before.items() if k not in entry}}
                    if (is_split)
                    else entry
                )
            data[section] = told
        return Longer(data)

    def sentences(self, shape: ToolShape, pointers: Sequence[str]) -> Sequence[str]:
        """Return sentence templates that ask for a call with these arguments; none: the usual."""
        texts = self._data["sentences"].get(tool_name(shape), ())
        return fitting_texts(texts, {slot_name(pointer) for pointer in pointers})

    def restraints(self, shape: ToolShape) -> Sequence[str]:
        """Return words that forbid a call and say why."""
        found: Sequence[str] = self._data["not"].get(tool_name(shape), ())
        return found

    def actor(self, shape: ToolShape) -> str:
        """Return the argument that names who acts, as a slot; empty: there is none."""
        return str(self._data["actors"].get(tool_name(shape), ""))

    def values(
        self, shape: ToolShape, given: Collection[str], before: Collection[str]
    ) -> Sequence[Mapping[str, str]]:
        """Return texts that fit what was asked for before, by slot.

        Args:
            shape: the write.
            given: its arguments, as slots.
            before: the tools of the writes before, as `service.tool`.
        """
        known: Mapping[str, Any] = self._data["values"].get(tool_name(shape), {})
        for key, texts in known.items():
            is_given = key.startswith(_GIVEN) and key.removeprefix(_GIVEN) in given
            if key == _ANY or is_given or key in before:
                found: Sequence[Mapping[str, str]] = texts
                return found
        return ()

    def link(self, place: Place) -> Sequence[str]:
        """Return phrases for the row that a field of `{row}` names; none: the usual."""
        found: Sequence[str] = self._data["links"].get(str(place), ())
        return found

    def asked(self, place: Place) -> Sequence[str]:
        """Return how a request asks for what a field of `{row}` has become; none: as usual."""
        found: Sequence[str] = self._data["asked"].get(str(place), ())
        return found

    def test(self, place: Place, value: str) -> str:
        """Return how a condition on a field's value begins; empty: as usual."""
        known = self._data["tests"].get(str(place), {})
        return str(known.get(value) or known.get(_ANY, ""))


@cache
def longer() -> Longer:
    """Return the words of every service's file."""
    data: dict[str, Any] = {section: {} for section in _SECTIONS}
    for service in builtin_services():
        for section, entries in load_longer_phrases(service).items():
            data[section].update(entries)
    return Longer(data)


def tool_name(shape: ToolShape) -> str:
    """Return a tool as the files name it."""
    return f"{shape.service}.{shape.name}"
