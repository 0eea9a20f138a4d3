"""Two rounds of one run, tracked offline, that several tests look at and none changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

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
    runs_dir = made_once(tmp_path_factory, "tracked", _play_tracked)
    return TrackedRun(run_config("+round=1", *_overrides(runs_dir)))


def _overrides(runs_dir: Path) -> tuple[str, ...]:
    return (
        f"runs_dir='{runs_dir}'",
        "run=two",
        "scale=smoke",
        "task.count=4",
        "tracking=wandb",
    )


def _play_tracked(runs_dir: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_API_KEY", CANARY)
        patch.setenv("OPENAI_API_KEY", CANARY)
        for number in (1, 2):
            with open(os.devnull, "w") as silence:
                evolve(run_config(f"+round={number}", *_overrides(runs_dir)), Console(silence))


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small runs (see `tests.loop.played`), that no test changes."""
    return made_once(tmp_path_factory, "played", play_rounds)


def made_once(
    tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]
) -> Path:
    """Return a folder that all processes of a test run share; the first one makes it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder, done = shared / name, shared / f"{name}.done"
    with FileLock(shared / f"{name}.lock"):
        if not done.exists():
            make(folder)
            done.touch()
    return folder
