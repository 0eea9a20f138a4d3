"""One round as it is looked at: its units and the system before and after it. Read only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from components.records.system import System
from loop.decided import Decided, decisions_of
from loop.ledger import RoundFolder, load_system
from loop.ledger_records import SystemVersion


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A round that is looked into."""

    run: str
    number: int
    folder: RoundFolder

    @cached_property
    def before(self) -> System:
        """The system that the first pass ran on; of round 0 the seed system as it was left."""
        grown = self.folder.stage_result("grow") if self.number else None
        if grown is not None:
            version = SystemVersion.model_validate(grown["system"])
        elif self.number and self.folder.manifest.system is not None:
            version = SystemVersion.model_validate(
                self.folder.store.get(self.folder.manifest.system)
            )
        else:
            version = self.folder.system_version()
        return load_system(self.folder.store, version)

    @cached_property
    def after(self) -> System:
        """The system as the round left it, or as it has left it so far."""
        return load_system(self.folder.store, self.folder.system_version())

    @cached_property
    def decisions(self) -> tuple[Decided, ...]:
        """Every patch that was tried, in order."""
        return decisions_of(self.folder.units)

    @property
    def runs_dir(self) -> Path:
        """Folder of all runs."""
        return self.folder.path.parents[1]

    @property
    def where(self) -> str:
        """The round in words."""
        state = "" if self.folder.is_finished else ", not finished"
        return f"run {self.run}, round {self.number}{state}"

    def known(self, subject: str) -> tuple[str, ...]:
        """Return the names that there are of a kind of thing."""
        match subject:
            case "rollout":
                return self.folder.units.keys("rollout")
            case "task":
                return tuple(sorted({*self.before.tasks, *self.after.tasks}))
            case "service":
                return tuple(sorted(self.before.reference.specs))
            case _:
                return tuple(dict.fromkeys(item.patch.patch_id for item in self.decisions))

    def patches_of(self, artifact: str) -> list[str]:
        """Return a line on each patch of this round that was tried on an artifact."""
        return [
            f"{item.patch.patch_id} ({item.fate.value}): {item.patch.reason}"
            for item in self.decisions
            if item.patch.artifact == artifact
        ]
