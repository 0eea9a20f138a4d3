"""Whole scripted rounds in forked children that are killed, and run again: what is left on disk.

A fork of a process that has everything loaded starts a round at once, so that each moment at which a
round can die is tried. Run as `python -m tests.loop.killed_round FOLDER`; prints one JSON line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from loop.config import RunConfig
from loop.console import Console
from loop.round import evolve
from tests.loop.configs import run_config

TINY = ("tracking=none", "task.count=2", "rollout.group_size=1", "task.walk_length=3")


def main() -> None:
    """Kill the round at every pass of a failpoint, resume it, and compare the summaries."""
    folder = Path(sys.argv[1])
    trace = folder / "trace.txt"
    config = configured(folder / "unkilled")
    run(config, SELVAGE_FAILPOINT_TRACE=str(trace))
    passes = trace.read_text().splitlines()
    expected = summary(config)
    told: dict[str, Any] = {"passes": len(passes), "kinds": sorted(set(passes)), "differing": []}
    seen: Counter[str] = Counter()
    for name in passes:
        seen[name] += 1
        point = f"{name}:{seen[name]}"
        config = configured(folder / point)
        if run(config, SELVAGE_FAILPOINT=point) != -signal.SIGKILL:
            told["differing"].append(f"{point} was not reached")
        run(config)
        if summary(config) != expected or leftovers(config):
            told["differing"].append(point)
    print(json.dumps(told))


def configured(runs_dir: Path) -> RunConfig:
    """Return a round so small that it takes a second, on a faulty system."""
    return run_config("+round=1", f"runs_dir='{runs_dir}'", *TINY)


def run(config: RunConfig, **environment: str) -> int:
    """Run a round in a forked child; return its exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        os.environ.update(environment)
        with open(os.devnull, "w") as silence:
            evolve(config, Console(silence))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def summary(config: RunConfig) -> bytes:
    """Return the summaries of both rounds without what may differ: seconds, and the run's name."""
    kept = []
    for number in (0, 1):
        path = Path(config.runs_dir) / config.run / f"round-{number:04d}" / "summary.json"
        body = json.loads(path.read_bytes())
        del body["seconds"], body["run"]
        kept.append(body)
    return json.dumps(kept, sort_keys=True).encode()


def leftovers(config: RunConfig) -> list[str]:
    """Return temporary files that are still in the run's folder."""
    return [str(path) for path in (Path(config.runs_dir) / config.run).rglob(".*.tmp")]


if __name__ == "__main__":
    main()
