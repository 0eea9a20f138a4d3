"""A real scripted round killed with `kill -9`, run again: the same summary as one never killed."""

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

ROOT = Path(__file__).resolve().parents[2]
KINDS = {
    f"{kind}.{side}"
    for kind in ("config", "manifest", "report", "store.put", "summary", "timing", "units.put")
    for side in ("before", "after")
}
RANDOM_KILLS = 30


def test_a_round_killed_at_its_renames_and_commits_ends_with_the_same_summary(
    tmp_path: Path,
) -> None:
    told = killed(tmp_path, number=1, step=3)

    assert told["differing"] == []
    assert told["killed"] > 20
    assert set(told["kinds"]) >= KINDS


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_no_pass_of_a_failpoint_is_left_out(number: int, tmp_path: Path) -> None:
    told = killed(tmp_path, number, step=1)

    assert told["differing"] == []
    print(f"round {number}: killed at {told['killed']} of {told['passes']} passes of failpoints")


@pytest.mark.slow
def test_a_round_killed_at_random_moments_ends_with_the_same_summary(tmp_path: Path) -> None:
    draw = random.Random("kills")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    started = time.monotonic()
    assert _evolve(whole).wait() == 0
    seconds = time.monotonic() - started

    kills = rounds = 0
    while kills < RANDOM_KILLS:
        runs_dir = killed / str(rounds)
        process = _evolve(runs_dir)
        while process.poll() is None and kills < RANDOM_KILLS:
            try:
                process.wait(draw.uniform(0.1, seconds * 0.6))
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
                process = _evolve(runs_dir)
        assert process.wait() == 0
        for number in (0, 1):
            assert summary(runs_dir, number) == summary(whole, number)
        assert leftovers(runs_dir) == []
        rounds += 1
    print(f"{kills} kills in {rounds} rounds: every summary as in the round that was not killed")


def _evolve(runs_dir: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "loop",
            "evolve",
            "+round=1",
            "policy=scripted",
            f"runs_dir={runs_dir}",
            "scale=smoke",
            "tracking=none",
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
