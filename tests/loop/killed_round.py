"""Whole scripted rounds in forked children that are killed, and run again: what is left on disk.

A fork of a process that has everything loaded starts a round at once, so that each moment at which
a round can die is tried. Run as `python -m tests.loop.killed_round FOLDER`; prints one JSON line.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from loop.config import RunConfig
from loop.console import Console
from loop.round import evolve
from tests.loop.configs import run_config

TINY = (
    "tracking=none",
    "environment.services=[directory,mail]",
    "task.count=2",
    "task.walk_length=4",
    "rollout.group_size=1",
)


def main() -> None:
    """Kill each round at the passes of its failpoints, resume it, and compare the summaries.

    Every pass before a rename or commit is tried, and of those after it the last of each kind: what
    is on disk after one is what is there before the next.
    """
    folder = Path(sys.argv[1])
    told: dict[str, Any] = {"killed": 0, "kinds": [], "differing": []}
    start: Path | None = None
    for number in (0, 1):
        whole = folder / f"whole-{number}"
        passes = points(fresh(whole, number, start), folder / f"trace-{number}")
        expected = summary(whole, number)
        told["kinds"] = sorted({*told["kinds"], *(name for name, _ in passes)})
        for name, count in chosen(passes):
            runs_dir = folder / f"{number}-{name}-{count}"
            config = fresh(runs_dir, number, start)
            died = run(config, SELVAGE_FAILPOINT=f"{name}:{count}") == -signal.SIGKILL
            told["killed"] += died
            run(config)
            if not died or summary(runs_dir, number) != expected or leftovers(runs_dir):
                told["differing"].append(runs_dir.name)
            shutil.rmtree(runs_dir)
        start = whole
    print(json.dumps(told))


def fresh(runs_dir: Path, number: int, start: Path | None) -> RunConfig:
    """Return a round's configuration in a new folder, with the rounds before it done."""
    if start is not None:
        shutil.copytree(start, runs_dir)
    return run_config(f"+round={number}", f"runs_dir='{runs_dir}'", *TINY)


def points(config: RunConfig, trace: Path) -> list[tuple[str, int]]:
    """Run a round to its end and return every pass of a failpoint: its name, and which pass."""
    assert run(config, SELVAGE_FAILPOINT_TRACE=str(trace)) == 0
    seen: Counter[str] = Counter()
    found = []
    for name in trace.read_text().splitlines():
        seen[name] += 1
        found.append((name, seen[name]))
    return found


def chosen(passes: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the passes to die at."""
    last = dict(passes)
    return [
        (name, count) for name, count in passes if name.endswith("before") or count == last[name]
    ]


def run(config: RunConfig, **environment: str) -> int:
    """Run a round in a forked child; return its exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        os.environ.update(environment)
        with open(os.devnull, "w") as silence:
            evolve(config, Console(silence))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def summary(runs_dir: Path, number: int) -> bytes:
    """Return a round's summary without what may differ: seconds, and the run's name."""
    path = runs_dir / "default" / f"round-{number:04d}" / "summary.json"
    body = json.loads(path.read_bytes())
    del body["seconds"], body["run"]
    return json.dumps(body, sort_keys=True).encode()


def leftovers(runs_dir: Path) -> list[str]:
    """Return temporary files that are still in the run's folder."""
    return [str(path) for path in (runs_dir / "default").rglob(".*.tmp")]


if __name__ == "__main__":
    main()
