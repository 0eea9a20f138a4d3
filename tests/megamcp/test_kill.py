from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from components.environment.state import rows_of
from components.errors import ToolError
from components.megamcp.journal import Journal
from components.megamcp.session import recover
from tests.environment.engine_desk import desk_world

ROOT = Path(__file__).parents[2]
_PLAY = """
import asyncio, sys
from pathlib import Path
from components.megamcp.journal import CommitMode, Journal
from components.megamcp.session import open_session
from tests.environment.engine_desk import desk_world

journal = Journal(Path(sys.argv[1]), CommitMode(sys.argv[2]))
world = desk_world()
sessions = [open_session(world, journal, name) for name in ("a", "b", "c")]
journal.flush()

async def play(session):
    for step in range(3):
        record = await session.acall("desk", "count_up", {"id": "t0"}, key=str(step))
        print(session.session_id, record.envelope["data"]["ticket"]["count"], flush=True)

async def play_all():
    await asyncio.gather(*map(play, sessions))

asyncio.run(play_all())
"""


def play(path: Path, mode: str, point: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if point:
        environment["SELVAGE_FAILPOINT"] = point
    return subprocess.run(
        [sys.executable, "-c", _PLAY, str(path), mode],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


# Three beginnings and nine calls: twelve commits one by one, or four in groups.
KILLS = [("each", f"journal.{side}:{n}") for side in ("before", "after") for n in (1, 3, 4, 8, 12)]
KILLS += [("group", f"journal.{side}:{n}") for side in ("before", "after") for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(("mode", "point"), KILLS)
def test_after_a_kill_nothing_acknowledged_is_lost_and_nothing_happens_twice(
    tmp_path: Path, mode: str, point: str
) -> None:
    path = tmp_path / "journal.db"
    killed = play(path, mode, point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    acknowledged = dict.fromkeys("abc", 0)
    for line in killed.stdout.splitlines():
        name, count = line.split()
        acknowledged[name] = int(count)

    world = desk_world()
    journal = Journal(path)
    for name in "abc":
        try:
            session = recover(world, journal, name)
        except ToolError:
            assert acknowledged[name] == 0
            continue
        found = rows_of(session.state, "desk", "ticket")["t0"]["count"]
        # One call may be durable though its answer never left.
        assert acknowledged[name] <= found <= acknowledged[name] + 1

        for step in range(3):
            record = session.call("desk", "count_up", {"id": "t0"}, key=str(step))
            assert record.envelope["data"]["ticket"]["count"] == step + 1
        assert rows_of(session.state, "desk", "ticket")["t0"]["count"] == 3


@pytest.mark.parametrize("mode", ["each", "group"])
def test_without_a_kill_every_call_is_there(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "journal.db"

    played = play(path, mode, "")

    assert played.returncode == 0, played.stderr
    assert len(played.stdout.splitlines()) == 9
    for name in "abc":
        session = recover(desk_world(), Journal(path), name)
        assert session.position == 3
