"""What a longer request is about, as data: the writes that belong to one matter, and their words.

Owns what the files of `purposes/` say: for each purpose the changes that its walk may turn on, the
writes that are asked for beside them and how, what depends on which value, what may be forbidden,
what is done row by row, and what is counted. `purposes.json` says what holds whatever a request is
about: writes that undo each other, writes that send somebody away. Tools of services that were
compiled fit everywhere: nothing is known of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import combinations
from typing import Any

from components.environment.catalog_loader import builtin_services
from components.task.graph import Place, ToolShape
from components.task.longer import Longer, longer, tool_name

WIDE = "+"
"""After a purpose's name: with the writes of the purposes that it goes with, for many services."""
MANY_SERVICES = 5
"""K from which a purpose alone has too few services."""
_OFFERS = {"every": "every", "count": "numbers", "restraint": "not"}
"""What a purpose must have for a kind of clause."""


class Purposes:
    """What the files say."""

    def __init__(self, common: Mapping[str, Any], purposes: Mapping[str, Any]) -> None:
        """Args: common: what holds for all; purposes: by name, without those that are wide."""
        self._common = common
        self._all = dict(purposes)
        for name, data in purposes.items():
            others = [purposes[other] for other in data.get("with", ())]
            if others:
                self._all[name + WIDE] = _joined(data, others)
        self._services = frozenset(builtin_services())
        self._apart = frozenset(
            frozenset((first, other)) for first, *others in common["apart"] for other in others
        )

    def names(
        self, k: int, kinds: Iterable[str] = (), *, with_compiled: bool = False
    ) -> Sequence[str]:
        """Return the purposes that walks through K services can have, sorted, each as often as it
        is to be drawn.

        Args:
            k: K.
            kinds: what requests should say beyond their steps; purposes of which it can be said are
                taken where there are any.
            with_compiled: whether there are services that the files do not know, which fit
                everywhere.
        """
        is_wide = k >= MANY_SERVICES
        found = [
            name
            for name, data in sorted(self._all.items())
            if name.endswith(WIDE) is is_wide or (with_compiled and not data.get("with"))
            for _number in range(data.get("weight", 1))
        ]
        for kind in sorted(kinds):
            section = _OFFERS.get(kind)
            able = [name for name in found if section and self._all[name].get(section)]
            found = able or found
        return found

    def words(self, purpose: str) -> Mapping[str, Any]:
        """Return the words that a purpose has of its own, by section; none for no purpose."""
        data = self._all.get(purpose, {})
        return {
            "sentences": {tool: texts for tool, texts in data.get("tools", {}).items() if texts},
            "values": data.get("values", {}),
            "not": data.get("not", {}),
        }

    def turns(self, shape: ToolShape, changed: Place, purpose: str) -> bool:
        """Return whether a walk of this purpose may turn on a write.

        Args:
            shape: the write.
            changed: the field that its reaction changes.
            purpose: of the walk.
        """
        if not self.knows(shape):
            return changed.service not in self._services or purpose.endswith(WIDE)
        return str(changed) in self._all[purpose]["turns"].get(tool_name(shape), ())

    def serves(self, shape: ToolShape, purpose: str) -> bool:
        """Return whether a write may be asked for with this purpose."""
        return not self.knows(shape) or tool_name(shape) in self._all[purpose]["tools"]

    def tells_old(self, place: Place) -> bool:
        """Return whether the value before a change may be asked for beside the new one: of services
        of the catalog nobody would.
        """
        return place.service not in self._services

    def knows(self, shape: ToolShape) -> bool:
        """Return whether a write is one that the files are about: of a service of the catalog. What
        they then do not name serves no purpose.
        """
        return shape.service in self._services

    def strangers(self, shapes: Collection[ToolShape]) -> int:
        """Return how many of the writes no purpose has together with the others."""
        known = {tool_name(shape) for shape in shapes if self.knows(shape)}
        return min((len(known - set(data["tools"])) for data in self._all.values()), default=0)

    def is_apart(self, shape: ToolShape, others: Iterable[str]) -> bool:
        """Return whether a write would undo, or be undone by, one of other tools."""
        return any(frozenset((tool_name(shape), other)) in self._apart for other in others)

    def pairs_apart(self, tools: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield the pairs of writes that undo each other."""
        for left, right in combinations(sorted(set(tools)), 2):
            if frozenset((left, right)) in self._apart:
                yield left, right

    def bears(self, place: Place, value: object, shape: ToolShape) -> bool:
        """Return whether a value is a reason for a write.

        Args:
            place: the field.
            value: one of its choices; `above` or `below` for a number.
            shape: the write.
        """
        told: Mapping[Any, Sequence[str]] = self._common["conditions"].get(str(place), {})
        return not self.knows(shape) or tool_name(shape) in told.get(value, ())

    def is_otherwise(self, done: ToolShape, shape: ToolShape) -> bool:
        """Return whether a write may be asked for where the condition of another does not hold."""
        return tool_name(shape) in self._common["otherwise"].get(tool_name(done), ())

    def may_forbid(self, done: ToolShape, shape: ToolShape, purpose: str) -> bool:
        """Return whether, beside a write to a row, another may be forbidden."""
        is_known = self.knows(done) and self.knows(shape)
        return not is_known or tool_name(shape) in self._all[purpose].get("not", {})

    def sends_away(self, shape: ToolShape) -> str:
        """Return the argument that names somebody who is then not there; empty: there is none."""
        return str(self._common["sends_away"].get(tool_name(shape), ""))

    def asks_another(self, shape: ToolShape) -> bool:
        """Return whether a write is never asked for in favour of the one who asks: a review."""
        return tool_name(shape) in self._common["not_to_who_speaks"]

    def may_concern(self, shape: ToolShape, place: Place) -> bool:
        """Return whether a write may be made for whom a field names: a ticket goes to the author of
        a change, not to who approves a trip. Fields that name nobody may be used by all.
        """
        known: Sequence[str] | None = self._common["people"].get(tool_name(shape))
        return known is None or str(place) in known

    def ends(self, shape: ToolShape) -> bool:
        """Return whether nobody asks any more for a code or a time of what a write was made to."""
        return tool_name(shape) in self._common["ends"]

    def is_for_each(self, shape: ToolShape, by: Place | None, purpose: str) -> bool:
        """Return whether a write may be asked for row by row.

        Args:
            shape: the write.
            by: the field by which the rows are found.
            purpose: of the walk.
        """
        if not self.knows(shape):
            return True
        return str(by) in self._all[purpose].get("every", {}).get(tool_name(shape), ())

    def may_count(self, place: Place, what: str, purpose: str) -> bool:
        """Return whether a number over the rows that a field leads to may be asked for.

        Args:
            place: the field.
            what: the state of the rows that are counted; `sum` where an amount is summed.
            purpose: of the walk.
        """
        numbers: Mapping[str, Sequence[str]] = self._all[purpose].get("numbers", {})
        return place.service not in self._services or what in numbers.get(str(place), ())


def _joined(own: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a purpose with what others have beside it; its own words come first."""
    made = dict(own)
    turning = {tool for data in others for tool in data["turns"]}
    tools = {tool: texts for data in reversed(others) for tool, texts in data["tools"].items()}
    # What others turn on is a matter of its own.
    made["tools"] = {tool: tools[tool] for tool in tools if tool not in turning} | own["tools"]
    for section in ("values", "not", "every", "numbers"):
        found: dict[str, Any] = {}
        for data in (*reversed(others), own):
            found.update(data.get(section, {}))
        made[section] = found
    return made


@cache
def words_of(purpose: str) -> Longer:
    """Return the words of longer requests of a purpose; those of all where it is empty."""
    return longer().with_own(purposes().words(purpose))


@cache
def purposes() -> Purposes:
    """Return what the files beside this module say."""
    here = resources.files("components.task")
    common = json.loads(here.joinpath("purposes.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = {}
    for file in sorted(here.joinpath("purposes").iterdir(), key=lambda item: item.name):
        found.update(json.loads(file.read_text(encoding="utf-8")))
    return Purposes(common, found)
