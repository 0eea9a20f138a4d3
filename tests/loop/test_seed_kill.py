"""Round 0 killed with `kill -9`, run again: the same summary as one that was never killed.

In a file of its own, so that it runs beside the same test of a later round.
"""

from __future__ import annotations

from pathlib import Path

from tests.loop.killed_round import killed


def test_the_seed_round_killed_at_its_renames_and_commits_ends_with_the_same_summary(
    tmp_path: Path,
) -> None:
    told = killed(tmp_path, number=0, step=0)

    assert told["differing"] == []
    assert told["killed"] > 3
    assert {"planted.before", "planted.after"} <= set(told["kinds"])
