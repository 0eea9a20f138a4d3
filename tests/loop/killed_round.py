"""Whole scripted rounds in forked children that are killed, and run again: what is left on disk.

A fork of a process that has everything loaded starts a round at once, so that each moment at which
a round can die is tried. Run as `python -m tests.loop.killed_round FOLDER ROUND STEP`; prints one
JSON line.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
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
    """Kill a round at the passes of its failpoints, resume it, and compare the summaries.

    Tried are passes before a rename or commit, and of those after it the last of each kind: what is
    on disk after one is what is there before the next. `STEP` 1 tries all of them; 0 the last
    before a rename or commit of each kind; otherwise every `STEP`-th, and the last of each kind.
    """
    folder, number, step = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    start: Path | None = None
    if number:
        start = folder / "start"
        assert run(fresh(start, 0, None)) == 0
    whole = folder / "whole"
    passes = points(fresh(whole, number, start), folder / "trace")
    expected = summary(whole, number)
    told: dict[str, Any] = {"killed": 0, "passes": len(passes), "differing": []}
    told["kinds"] = sorted({name for name, _ in passes})
    for name, count in chosen(passes, step):
        runs_dir = folder / f"{name}-{count}"
        config = fresh(runs_dir, number, start)
        died = run(config, SELVAGE_FAILPOINT=f"{name}:{count}") == -signal.SIGKILL
        told["killed"] += died
        run(config)
        if not died or summary(runs_dir, number) != expected or leftovers(runs_dir):
            told["differing"].append(runs_dir.name)
        shutil.rmtree(runs_dir)
    print(json.dumps(told))


def killed(folder: Path, number: int, step: int) -> dict[str, Any]:
    """Run this module in a process of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.loop.killed_round", str(folder), str(number), str(step)],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


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


def chosen(passes: list[tuple[str, int]], step: int) -> list[tuple[str, int]]:
    """Return the passes to die at."""
    last = dict(passes)
    if not step:
        return [item for item in last.items() if item[0].endswith("before")]
    return [
        (name, count)
        for name, count in passes
        if count == last[name] or (name.endswith("before") and (count - 1) % step == 0)
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
    del body["seconds"], body["cost"], body["run"], body["efforts"]
    return json.dumps(body, sort_keys=True).encode()


def leftovers(runs_dir: Path) -> list[str]:
    """Return temporary files that are still in the run's folder."""
    return [str(path) for path in (runs_dir / "default").rglob(".*.tmp")]


if __name__ == "__main__":
    main()
