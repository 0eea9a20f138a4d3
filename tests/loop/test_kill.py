"""`kill -9` at any moment, then the same command again: the same bytes as if nothing had
happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def toy(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.loop.toy_round", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def test_a_round_killed_at_any_failpoint_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    told = json.loads(toy(str(tmp_path)))

    assert told["differing"] == []
    assert told["killed"] == told["points"] > 50
    for kind in ("config", "manifest", "store.put", "timing", "units.put"):
        assert {f"{kind}.before", f"{kind}.after"} <= set(told["kinds"])


def test_hash_seed_locale_and_time_zone_change_nothing(tmp_path: Path) -> None:
    first = toy("--once", str(tmp_path / "a"), PYTHONHASHSEED="1", LC_ALL="C", TZ="UTC")
    second = toy(
        "--once",
        str(tmp_path / "b"),
        PYTHONHASHSEED="2",
        LC_ALL="tr_TR.UTF-8",
        TZ="Pacific/Kiritimati",
        PYTHONUTF8="0",
    )

    assert first == second
