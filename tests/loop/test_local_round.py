"""Claims about rounds in which a local model acts: batches and kills."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_after_a_kill_only_the_batches_under_way_are_played_again(tmp_path: Path) -> None:
    """What the first batch took is still there to the microsecond: it was not played again."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.loop.killed_local", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "died": True,
        "recorded": 2,
        "kept": True,
        "batches": 4,
        "rollouts": 8,
        "same": True,
        "leftovers": [],
    }
