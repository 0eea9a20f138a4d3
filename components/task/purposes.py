"""What writes are asked for together, and what is not: the sense of a longer request, as data.

Owns what `purposes.json` says: sets of tools that serve one purpose, tools that undo each other,
which value bears on which write, what may be forbidden beside which write. Tools of services
that were compiled fit everywhere: nothing is known of them.
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
from components.task.longer import tool_name

ANY = "any"
"""Not one purpose: writes that only make sense beside each other."""


class Purposes:
    """What the file says."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Args: data: the parsed file."""
        self._data = data
        self._sets = {name: frozenset(tools) for name, tools in data["purposes"].items()}
        self._services = frozenset(builtin_services())
        self._apart = frozenset(
            frozenset((first, other)) for first, *others in data["apart"] for other in others
        )

    def names(self, k: int, kinds: Iterable[str] = ()) -> Sequence[str]:
        """Return the purposes that walks through K services can have, sorted, each as often as it
        is to be drawn.

        Args:
            k: K.
            kinds: what requests should say beyond their steps; purposes of which it can be said are
                taken where there are any, the likelier the more often.
        """
        narrow: Mapping[str, int] = self._data["narrow"]
        weights: Mapping[str, int] = self._data["weights"]
        found = [
            name
            for name in sorted(self._sets)
            if k <= narrow.get(name, k)
            for _number in range(weights.get(name, 1))
        ]
        for kind in sorted(kinds):
            likely = self._data["likely"].get(kind, ())
            found = [name for name in likely if name in found] or found
        return found

    def turns(self, shape: ToolShape, changed: Place, purpose: str) -> bool:
        """Return whether a walk of this purpose may turn on a write.

        Args:
            shape: the write.
            changed: the field that its reaction changes.
            purpose: of the walk.
        """
        known: Sequence[str] | None = self._data["turns"].get(purpose)
        is_fit = self.serves(shape, purpose) and (known is None or tool_name(shape) in known)
        return is_fit and str(changed) not in self._data["hidden"]

    def serves(self, shape: ToolShape, purpose: str) -> bool:
        """Return whether a write may be asked for with this purpose."""
        name = tool_name(shape)
        return purpose == ANY or not self.knows(shape) or name in self._sets[purpose]

    def knows(self, shape: ToolShape) -> bool:
        """Return whether a write is one that the file is about: of a service of the catalog. What
        it then does not name serves no purpose.
        """
        return shape.service in self._services

    def strangers(self, shapes: Collection[ToolShape]) -> int:
        """Return how many of the writes no purpose has together with the others."""
        known = {tool_name(shape) for shape in shapes if self.knows(shape)}
        return min((len(known - served) for served in self._sets.values()), default=0)

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
        name = tool_name(shape)
        told: Mapping[Any, Sequence[str]] = self._data["conditions"].get(str(place), {})
        return not self.knows(shape) or name in told.get(value, ())

    def is_otherwise(self, done: ToolShape, shape: ToolShape) -> bool:
        """Return whether a write may be asked for where the condition of another does not hold."""
        return tool_name(shape) in self._data["otherwise"].get(tool_name(done), ())

    def may_forbid(self, done: ToolShape, shape: ToolShape) -> bool:
        """Return whether, beside a write to a row, another may be forbidden."""
        is_known = self.knows(done) and self.knows(shape)
        return not is_known or tool_name(shape) in self._data["restraints"].get(tool_name(done), ())

    def sends_away(self, shape: ToolShape) -> str:
        """Return the argument that names somebody who is then not there; empty: there is none."""
        return str(self._data["sends_away"].get(tool_name(shape), ""))

    def ends(self, shape: ToolShape) -> bool:
        """Return whether nobody asks any more for a code or a time of what a write was made to."""
        return tool_name(shape) in self._data["ends"]

    def is_for_each(self, shape: ToolShape, by: Place | None, *, is_named: bool) -> bool:
        """Return whether a write may be asked for row by row.

        Args:
            shape: the write.
            by: the field by which the rows are found.
            is_named: whether another write names that by which they are found.
        """
        name = tool_name(shape)
        if not self.knows(shape):
            return is_named
        is_free = is_named or name not in self._data["for_each_of_named"]
        return is_free and str(by) in self._data["for_each"].get(name, ())


@cache
def purposes() -> Purposes:
    """Return what the file beside this module says."""
    text = resources.files("components.task").joinpath("purposes.json").read_text(encoding="utf-8")
    return Purposes(json.loads(text))
