"""Two rounds of one run, tracked offline, that several tests look at and none changes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from loop.config import RunConfig
from loop.console import Console
from loop.round import evolve
from tests.loop.configs import run_config
from tests.loop.played import play_rounds

CANARY = "canary-2b81d40c9e"


@dataclass(frozen=True)
class TrackedRun:
    """A run with rounds 0 to 2."""

    config: RunConfig
    """Configuration of round 1."""

    def folder(self, number: int) -> Path:
        """Return a round's folder."""
        return Path(self.config.runs_dir) / self.config.run / f"round-{number:04d}"


@pytest.fixture(scope="session")
def tracked_run(tmp_path_factory: pytest.TempPathFactory) -> TrackedRun:
    """Rounds 0 to 2 on the system with its faults, while keys are set that must not leak."""
    runs_dir = tmp_path_factory.mktemp("tracked")
    overrides = (
        f"runs_dir='{runs_dir}'",
        "run=two",
        "scale=smoke",
        "task.count=4",
        "tracking=wandb",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_API_KEY", CANARY)
        patch.setenv("OPENAI_API_KEY", CANARY)
        for number in (1, 2):
            with open(os.devnull, "w") as silence:
                evolve(run_config(f"+round={number}", *overrides), Console(silence))
    return TrackedRun(run_config("+round=1", *overrides))


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small runs (see `tests.loop.played`), that no test changes."""
    return play_rounds(tmp_path_factory.mktemp("played") / "runs")
