"""What writes are asked for together, and what is not: the sense of a longer request, as data.

Owns what `purposes.json` says: sets of tools that serve one purpose, tools that undo each other,
which value bears on which write, what may be forbidden beside which write. Tools that the file does
not know fit everywhere: nothing is known of a service that was compiled.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import combinations
from typing import Any

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
        self._known = frozenset().union(*self._sets.values())
        self._apart = frozenset(
            frozenset((first, other)) for first, *others in data["apart"] for other in others
        )

    def names(self, k: int, kinds: Iterable[str] = ()) -> Sequence[str]:
        """Return the purposes that walks through K services can have, sorted, each as often as it
        is to be drawn.

        Args:
            k: K.
            kinds: what requests should say beyond their steps; purposes of which it can be said are
                taken where there are any.
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
            found = [name for name in found if name in likely] or found
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
        return purpose == ANY or name not in self._known or name in self._sets[purpose]

    def knows(self, shape: ToolShape) -> bool:
        """Return whether the file says anything of a write."""
        return tool_name(shape) in self._known

    def strangers(self, tools: Collection[str]) -> int:
        """Return how many of the writes no purpose has together with the others."""
        known = set(tools) & self._known
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
        return name not in self._known or name in told.get(value, ())

    def is_otherwise(self, done: ToolShape, shape: ToolShape) -> bool:
        """Return whether a write may be asked for where the condition of another does not hold."""
        return tool_name(shape) in self._data["otherwise"].get(tool_name(done), ())

    def may_forbid(self, done: ToolShape, shape: ToolShape) -> bool:
        """Return whether, beside a write to a row, another may be forbidden."""
        is_known = {tool_name(done), tool_name(shape)} <= self._known
        return not is_known or tool_name(shape) in self._data["restraints"].get(tool_name(done), ())

    def sends_away(self, shape: ToolShape) -> str:
        """Return the argument that names somebody who is then not there; empty: there is none."""
        return str(self._data["sends_away"].get(tool_name(shape), ""))

    def is_for_each(self, shape: ToolShape, by: Place | None, *, is_named: bool) -> bool:
        """Return whether a write may be asked for row by row.

        Args:
            shape: the write.
            by: the field by which the rows are found.
            is_named: whether another write names that by which they are found.
        """
        name = tool_name(shape)
        if name not in self._known:
            return is_named
        is_free = is_named or name not in self._data["for_each_of_named"]
        return is_free and str(by) in self._data["for_each"].get(name, ())


@cache
def purposes() -> Purposes:
    """Return what the file beside this module says."""
    text = resources.files("components.task").joinpath("purposes.json").read_text(encoding="utf-8")
    return Purposes(json.loads(text))
