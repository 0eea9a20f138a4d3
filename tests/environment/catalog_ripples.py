"""The form in which the tests of the catalog write a reaction: what starts it, where it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Step = tuple[str, dict[str, Any]]
"""`service.tool` and its arguments."""
Touched = tuple[str, str, str, str]
"""Reaction, `service.table`, what the row is called, changed fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ripple:
    """A trigger in one service, and the row of another where its value shows."""

    trigger: Step
    read: Step
    expected: dict[str, Any]
    before: tuple[Step, ...] = ()
    """Calls that come first."""
