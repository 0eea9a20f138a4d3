"""Answers remembered by the identity of what they are about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """A function of immutable things, asked once for each of them while there is room.

    Each thing is kept beside its answer, so that its identity is never another's.
    """

    def __init__(self, make: Callable[[K], V], most: int) -> None:
        """Args: make: the function; most: answers kept, after which all are forgotten."""
        self._make, self._most = make, most
        self._found: dict[int, tuple[K, V]] = {}

    def __call__(self, thing: K) -> V:
        """Return what the function says of a thing."""
        found = self._found.get(id(thing))
        if found is None:
            if len(self._found) >= self._most:
                self._found.clear()
            found = self._found[id(thing)] = thing, self._make(thing)
        return found[1]
