"""What can become of a unit that somebody works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Done:
    """One unit is done."""

    ticket: int
    body: Any
    """Its result, as JSON."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker is gone; another has taken its place, and knows nothing of these units."""

    tickets: tuple[int, ...]
    why: str
