"""Real rounds killed with `kill -9`, run again: the same summary as one never killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.loop.killed_round import killed, leftovers, summary
from tests.policy.models import needs_model

ROOT = Path(__file__).resolve().parents[2]
KINDS = {
    f"{kind}.{side}"
    for kind in ("config", "manifest", "report", "store.put", "summary", "timing", "units.put")
    for side in ("before", "after")
}
POLICIES = [
    pytest.param(30, ("policy=scripted",), id="scripted"),
    pytest.param(10, ("task.count=4", "train.checkpoint_every=1"), id="builtin", marks=needs_model),
]
"""Random kills, and who acts; the built-in model also learns."""


def test_a_round_killed_at_its_renames_and_commits_ends_with_the_same_summary(
    tmp_path: Path,
) -> None:
    told = killed(tmp_path, number=1, step=0)

    assert told["differing"] == []
    assert told["killed"] > 5
    assert set(told["kinds"]) >= KINDS


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_no_pass_of_a_failpoint_is_left_out(number: int, tmp_path: Path) -> None:
    told = killed(tmp_path, number, step=1)

    assert told["differing"] == []
    print(f"round {number}: killed at {told['killed']} of {told['passes']} passes of failpoints")


@pytest.mark.slow
@pytest.mark.parametrize(("num_kills", "policy"), POLICIES)
def test_a_round_killed_at_random_moments_ends_with_the_same_summary(
    num_kills: int, policy: tuple[str, ...], tmp_path: Path
) -> None:
    draw = random.Random("kills")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    started = time.monotonic()
    assert _evolve(whole, policy).wait() == 0
    seconds = time.monotonic() - started

    kills = rounds = 0
    while kills < num_kills:
        runs_dir = killed / str(rounds)
        process = _evolve(runs_dir, policy)
        while process.poll() is None and kills < num_kills:
            try:
                process.wait(draw.uniform(0.1, seconds * 0.6))
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
                process = _evolve(runs_dir, policy)
        assert process.wait() == 0
        for number in (0, 1):
            assert summary(runs_dir, number) == summary(whole, number)
        assert leftovers(runs_dir) == []
        rounds += 1
    print(f"{kills} kills in {rounds} rounds: every summary as in the round that was not killed")


def _evolve(runs_dir: Path, policy: tuple[str, ...]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "loop",
            "evolve",
            "+round=1",
            f"runs_dir={runs_dir}",
            "scale=smoke",
            "tracking=none",
            *policy,
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
