"""Guesses of the next tokens of a turn, from what was read and said before in the same batch.

A reply of a policy that calls tools repeats much: names from its prompt, ids from answers, and the
form of a call. What followed the longest known run of tokens is guessed to follow it again. The
model reads several guessed tokens in one step; each is kept where the policy draws it, so that a
guess changes how fast a turn is sampled and not what is sampled.

Source: prompt lookup, as in "Inference with Reference" (Yang et al. 2023, arXiv 2304.04487). There
a greedy policy is matched against its own prompt; here any policy, against all of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

_SIZES = (8, 5, 3, 2, 1)
"""Tokens of the runs that are looked up, the longest first."""


class Guesses:
    """What followed each short run of tokens the last time. Belongs to one batch."""

    def __init__(self) -> None:
        self._next: dict[tuple[int, ...], int] = {}

    def learn(self, ids: Sequence[int], first: int) -> None:
        """Remember what came before each token from `first` on."""
        for place in range(max(first, 1), len(ids)):
            for size in _SIZES:
                if size <= place:
                    self._next[tuple(ids[place - size : place])] = ids[place]

    def after(self, ids: Sequence[int], most: int) -> list[int]:
        """Return up to `most` tokens that may follow; fewer where nothing is known."""
        tail = list(ids[-_SIZES[0] :])
        found: list[int] = []
        while len(found) < most:
            runs = (tuple(tail[-size:]) for size in _SIZES if size <= len(tail))
            token = next((self._next[run] for run in runs if run in self._next), None)
            if token is None:
                break
            found.append(token)
            tail.append(token)
        return found
