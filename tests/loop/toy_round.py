"""A round that does everything a real one does to the disk, and nothing else; killed at every
failpoint when run.

    python -m tests.loop.toy_round FOLDER

kills one process at each failpoint in turn, starts another, and prints as JSON how many points
there were, how many processes died there, and which of the resumed rounds differ from the one that
was never killed. Processes are forked from this one, which has imported everything: a start costs
milliseconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from components.records.base import Record, to_json
from components.records.frozen import FrozenDict
from components.records.harness import HarnessSettings
from components.records.system import Environment, Reference, System
from loop.ledger import Ledger, RoundFolder, save_system
from loop.units import UnitLog

UNITS = ("a", "b", "c", "d")


class ToyConfig(Record):
    """As much of a configuration as the ledger looks at."""

    seed: int = 3
    runs_dir: str = "runs"
    label: str = "h\u00e9llo \u2713"


def toy_system(prompt: str) -> System:
    """Return the smallest system there is."""
    return System(
        environment=Environment(blueprints=FrozenDict(), seeds=FrozenDict()),
        harness=HarnessSettings(
            system_prompt=prompt,
            user_prompt="u",
            observation="o",
            invalid_call_feedback="f",
            parsers=FrozenDict(),
        ),
        reference=Reference(specs=FrozenDict()),
    )


def run_toy(runs_dir: Path) -> None:
    """Run rounds 0 and 1 to their end, resuming whatever is there."""
    ledger = Ledger(runs_dir, "toy")
    with ledger.locked():
        for number in (0, 1):
            with ledger.open_round(number, ToyConfig()) as folder:
                if not folder.is_finished:
                    _stages(folder, number)
                    folder.finish()


def _stages(folder: RoundFolder, number: int) -> None:
    if number:
        folder.run_stage("report", lambda: {"number": number})
        return
    prompt = f"round {number} caf\u00e9 \u4e2d"
    folder.run_stage(
        "system", lambda: {"system": to_json(save_system(folder.store, toy_system(prompt)))}
    )
    counted = folder.run_stage("count", lambda: _count(folder))
    folder.run_stage("report", lambda: {"double": 2 * counted["sum"]})


def _count(folder: RoundFolder) -> dict[str, int]:
    done = folder.units.done("count")
    for key in UNITS[:2]:
        if key not in done:
            folder.units.put("count", key, {"value": ord(key)})
    rest = {key: {"value": ord(key)} for key in UNITS[2:] if key not in done}
    if rest:
        folder.units.put_many("count", rest)
    return {"sum": sum(body["value"] for body in folder.units.done("count").values())}


def snapshot(runs_dir: Path) -> dict[str, str]:
    """Return the hash of everything that must not depend on kills: files by path, units by key."""
    found = {}
    for path in sorted(runs_dir.rglob("*.json")):
        if path.name != "timing.json":
            name = str(path.relative_to(runs_dir))
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    for path in sorted(runs_dir.rglob("units.sqlite")):
        with UnitLog(path) as units:
            name = str(path.relative_to(runs_dir))
            found[name] = json.dumps(units.done("count"))
    leftovers = list(runs_dir.rglob("round-*/.*.tmp"))
    found["leftovers"] = str(len(leftovers))
    return found


def _forked(runs_dir: Path, environment: dict[str, str]) -> int:
    """Run the toy round in a process of its own; return the signal that ended it, or 0."""
    process = os.fork()
    if process == 0:
        os.environ.update(environment)
        try:
            run_toy(runs_dir)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status)
    assert os.WEXITSTATUS(status) == 0, "the toy round failed"
    return 0


def kill_everywhere(folder: Path) -> dict[str, Any]:
    """Kill at each failpoint in turn and say what came of it."""
    trace = folder / "trace"
    _forked(folder / "whole", {"SELVAGE_FAILPOINT_TRACE": str(trace)})
    points = trace.read_text().split()
    wanted = snapshot(folder / "whole")
    num_killed, differing = 0, []
    for number in range(1, len(points) + 1):
        runs_dir = folder / f"killed-{number}"
        num_killed += _forked(runs_dir, {"SELVAGE_FAILPOINT": f"*:{number}"}) == signal.SIGKILL
        _forked(runs_dir, {})
        if snapshot(runs_dir) != wanted:
            differing.append(f"{number} {points[number - 1]}")
    kinds = sorted(set(points))
    return {
        "points": len(points),
        "kinds": kinds,
        "killed": num_killed,
        "differing": differing,
        "hash": hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest(),
    }


if __name__ == "__main__":
    if sys.argv[1] == "--once":
        run_toy(Path(sys.argv[2]))
        print(hashlib.sha256(json.dumps(snapshot(Path(sys.argv[2]))).encode()).hexdigest())
    else:
        print(json.dumps(kill_everywhere(Path(sys.argv[1]))))
