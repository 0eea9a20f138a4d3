"""What one check of the machine or the installation found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    """Rounds run, but something that may be wanted does not."""
    FAIL = "fail"
    """A round with this configuration does not run, or cannot be trusted."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor."""

    name: str
    level: Level
    found: str
    mend: str = ""
    """What to do about it; empty when nothing is to be done."""

    @property
    def line(self) -> str:
        """The check as it is printed."""
        text = f"{self.level.value:<5} {self.name:<15} {self.found}"
        return f"{text}; {self.mend}" if self.mend else text


def graded(
    name: str, found: str, *, fails: bool = False, warns: bool = False, mend: str = ""
) -> Check:
    """Return a check that fails, warns, or else is well; `mend` is told only when it is not."""
    level = Level.FAIL if fails else Level.WARN if warns else Level.OK
    return Check(name, level, found, "" if level is Level.OK else mend)
