"""A round with a local model, killed while batches are under way, and run again.

Run as `python -m tests.loop.killed_local FOLDER`; prints one JSON line. A process of its own, since
a fork must not inherit the threads of other tests.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path

import torch

from loop.config import RunConfig
from loop.units import UnitLog
from tests.loop.configs import run_config
from tests.loop.killed_round import leftovers, run, summary
from tests.policy.tiny import save_tiny_chat

SMALL = (
    "tracking=none",
    "faults=none",
    "environment.services=[directory,mail]",
    "task.count=2",
    "task.walk_length=4",
    "rollout.group_size=4",
    "harness.max_turns=3",
    "policy=local",
    "policy.adapter=null",
    "policy.batch_size=2",
    "train.frozen_layers=0",
)
FIRST_BATCH_IS_RECORDED = "units.put.after:2"
"""The second commit of a pass: the first batch's rollouts, then what its generation took."""


def main() -> None:
    """Play a round as a whole, and one that is killed once its first batch is recorded."""
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    model = save_tiny_chat(folder / "model")
    start, whole, killed = (folder / name for name in ("start", "whole", "killed"))
    assert run(config(start, model, 0)) == 0
    for runs_dir in (whole, killed):
        shutil.copytree(start, runs_dir)
    assert run(config(whole, model, 1)) == 0

    died = run(config(killed, model, 1), SELVAGE_FAILPOINT=FIRST_BATCH_IS_RECORDED)
    after_kill = units(killed)
    assert run(config(killed, model, 1)) == 0
    told = {
        "died": died == -signal.SIGKILL,
        "recorded": len(after_kill["rollout"]),
        "kept": all(
            item == units(killed)[stage].get(key)
            for stage, found in after_kill.items()
            for key, item in found.items()
        ),
        "batches": len(units(killed)["rollout.effort"]),
        "rollouts": len(units(killed)["rollout"]),
        "same": units(killed)["rollout"] == units(whole)["rollout"]
        and summary(killed, 1) == summary(whole, 1),
        "leftovers": leftovers(killed),
    }
    print(json.dumps(told))


def config(runs_dir: Path, model: Path, number: int) -> RunConfig:
    """Return a round's configuration."""
    places = (f"+round={number}", f"runs_dir='{runs_dir}'", f"policy.model='{model}'")
    return run_config(*SMALL, *places)


def units(runs_dir: Path) -> dict[str, dict[str, str]]:
    """Return the recorded rollouts of round 1, and what each batch took."""
    path = runs_dir / "default" / "round-0001" / "units.sqlite"
    with UnitLog(path, read_only=True) as log:
        return {
            stage: {key: json.dumps(body) for key, body in log.done(stage).items()}
            for stage in ("rollout", "rollout.effort")
        }


if __name__ == "__main__":
    main()
