"""What every stage of a round is given: folder, configuration, console, and who does the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from components.records.base import to_json
from components.records.system import System
from loop.compute.pool import Pool
from loop.config import RunConfig
from loop.console import Console
from loop.ledger import RoundFolder, load_system, save_system
from loop.ledger_records import SystemVersion


@dataclass(frozen=True, slots=True)
class RoundContext:
    """One open round. Stages read and write through it and keep nothing of their own."""

    number: int
    config: RunConfig
    folder: RoundFolder
    console: Console
    pool: Pool

    def keep(self, system: System) -> dict[str, Any]:
        """Keep a system in the store and return its version as JSON, for a stage's result."""
        return to_json(save_system(self.folder.store, system))

    def load(self, version: Any) -> System:
        """Return the system of a version that `keep` returned."""
        return load_system(self.folder.store, SystemVersion.model_validate(version))


def live_tasks(system: System) -> tuple[str, ...]:
    """Return the ids of the tasks that are not retired, sorted."""
    return tuple(sorted(set(system.tasks) - set(system.retired)))
