"""What worlds cost: calls, forks, diffs and memory, beside the same work elsewhere in the same run.

Owns the measurements of the environment and of sessions. Everything is CPU time, repeated and
interleaved with the peers, and reported as median and spread with its count; bars are ratios or
counts. A peer that is not installed is reported as that, and its bars as not decided.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from components.environment.engine import execute
from components.environment.state import Row, diff_states, net_changes, rows_of, state_hash
from components.environment.world import World
from components.megamcp.journal import CommitMode, Journal
from components.megamcp.session import Session, open_session, recover
from components.records.calls import RowChange
from loop.bench_retail import SERVICE, build_shop, episode_calls

LARGE_USERS = 500
"""Comes to about 1.4 MB."""
SMALL_USERS = 50
ROLLOUT_USERS = 43
"""Comes to about 120 KB."""
_PEER_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchWorldSettings:
    """How much is measured."""

    sessions: int = 64
    """Sessions that share a commit."""
    calls: int = 20
    """Calls of each session in one repeat."""
    episodes: int = 10_000
    """Live rollouts for the memory figure."""
    repeats: int = 9
    """Repeats of everything that is timed."""
    peer: bool = True
    """Measure the peers too, where they are installed."""
    seed: int = 0


QUICK = BenchWorldSettings(sessions=16, calls=5, episodes=200, repeats=2, peer=False)
"""A few seconds: shows that everything runs, decides nothing."""


def settings_of(scale: str, seed: int) -> BenchWorldSettings:
    """Return what one of the scales `smoke`, `small` and `full` measures."""
    if scale == "smoke":
        return replace(QUICK, seed=seed)
    return BenchWorldSettings(repeats=25 if scale == "full" else 9, seed=seed)


@dataclass(frozen=True, slots=True)
class Bar:
    """What the median of a figure must reach."""

    figure: str
    at_least: float | None = None
    at_most: float | None = None

    def is_met(self, value: float) -> bool:
        """Whether a value reaches it."""
        is_high = self.at_least is None or value >= self.at_least
        return is_high and (self.at_most is None or value <= self.at_most)

    def text(self) -> str:
        """The bar as a reader sees it."""
        return f">= {self.at_least:g}" if self.at_least is not None else f"<= {self.at_most:g}"


def run_bench_world(settings: BenchWorldSettings) -> dict[str, Any]:
    """Measure, print a table, and return it.

    Returns:
        `figures`: name -> unit, median, low, high, repeats, count; or `missing` with the reason.
        `bars`: name -> figure, bar, met (None where it could not be decided).
    """
    samples: dict[str, list[float]] = {}
    missing: dict[str, str] = {}
    peers = _Peers() if settings.peer else None
    large = build_shop(LARGE_USERS, settings.seed)
    small = build_shop(SMALL_USERS, settings.seed)

    def take(name: str, value: float) -> None:
        samples.setdefault(name, []).append(value)

    def ask(name: str, measurement: str, count: int) -> float | None:
        if peers is None:
            missing[name] = "not asked for"
            return None
        answer = peers.ask(measurement, count)
        if isinstance(answer, str):
            missing[name] = answer
            return None
        take(name, answer)
        return answer

    try:
        for repeat in range(settings.repeats):
            group = _calls_us(large, settings, CommitMode.GROUP)
            tau2 = ask("tau2_call", "tau2_call", 500)
            sdk = ask("mcp_sdk_call", "sdk_call", 200)
            each = _calls_us(large, settings, CommitMode.EACH)
            take("call_group_commit", group)
            take("call_commit_each", each)
            take("call_group_commit_async", _async_calls_us(large, settings))
            fork, reset = _fork_us(large), _open_us(large)
            tau2_reset = ask("tau2_reset", "tau2_reset", 3)
            take("fork_1400kb", fork)
            take("reset_1400kb", reset)
            if tau2 is not None:
                take("ratio_tau2_call", tau2 / group)
            if sdk is not None:
                take("ratio_mcp_sdk_call", sdk / group)
            if tau2_reset is not None:
                take("ratio_tau2_reset", tau2_reset / max(fork, reset))
            _take_writes(take, large, small, repeat)
    finally:
        if peers is not None:
            peers.close()
    memory = _rollout_memory(settings)
    take("rollouts_peak", memory["peak_mb"])
    report = _report(settings, samples, missing, memory, (large, small))
    print(_table(report))
    return report


def _calls_us(world: World, settings: BenchWorldSettings, mode: CommitMode) -> float:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.db", mode)
        sessions, plans = _prepared(world, settings, journal)
        started = time.process_time()
        for step in range(settings.calls):
            for session, plan in zip(sessions, plans, strict=True):
                call = plan[step]
                record = session.call(SERVICE, call.tool, call.arguments)
                assert record.envelope["ok"]
            journal.flush()
        spent = time.process_time() - started
        _check_recovery(world, journal, sessions[-1])
        journal.close()
    return spent / settings.calls / settings.sessions * 1e6


def _async_calls_us(world: World, settings: BenchWorldSettings) -> float:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.db", CommitMode.GROUP)
        sessions, plans = _prepared(world, settings, journal)

        async def play(session: Session, plan: list[Any]) -> None:
            for call in plan:
                await session.acall(SERVICE, call.tool, call.arguments)

        async def play_all() -> float:
            started = time.process_time()
            await asyncio.gather(*map(play, sessions, plans))
            return time.process_time() - started

        spent = asyncio.run(play_all())
        journal.close()
    return spent / settings.calls / settings.sessions * 1e6


def _prepared(
    world: World, settings: BenchWorldSettings, journal: Journal
) -> tuple[list[Session], list[list[Any]]]:
    sessions = [open_session(world, journal) for _ in range(settings.sessions)]
    journal.flush()
    plans = []
    for number in range(settings.sessions):
        episodes = range(number, number + settings.calls)
        calls = [call for episode in episodes for call in episode_calls(LARGE_USERS, episode)]
        plans.append(calls[: settings.calls])
    return sessions, plans


def _check_recovery(world: World, journal: Journal, session: Session) -> None:
    again = recover(world, journal, session.session_id)
    assert state_hash(again.state) == state_hash(session.state)
    assert again.position == session.position


def _open_us(world: World) -> float:
    return _timed(lambda: open_session(world), 2000)


def _fork_us(world: World) -> float:
    session = open_session(world)
    call = episode_calls(LARGE_USERS, 3)[3]
    session.call(SERVICE, call.tool, call.arguments)
    return _timed(session.fork, 2000)


def _timed(function: Callable[[], object], count: int) -> float:
    started = time.process_time()
    for _ in range(count):
        function()
    return (time.process_time() - started) / count * 1e6


def _take_writes(
    take: Callable[[str, float], None], large: World, small: World, repeat: int
) -> None:
    costs = {}
    for size, world, users in (("1400kb", large, LARGE_USERS), ("140kb", small, SMALL_USERS)):
        for num_writes in (10, 20):
            cost = _writes_us(world, users, num_writes, repeat)
            take(f"{num_writes}_writes_{size}", cost.writes)
            take(f"diff_hash_after_{num_writes}_writes_{size}", cost.after)
            take(f"diff_of_states_after_{num_writes}_writes_{size}", cost.compared)
            costs[size, num_writes] = cost.after
    take("ratio_diff_hash_1400kb_to_140kb", costs["1400kb", 10] / costs["140kb", 10])
    take("ratio_diff_hash_20_to_10_writes", costs["1400kb", 20] / costs["1400kb", 10])


@dataclass(frozen=True, slots=True, kw_only=True)
class _WritesCost:
    """CPU-us of some writes, and of diff and hash after them."""

    writes: float
    after: float
    """With the digests of the changed rows once more: kept up to date, they are a part of the
    writes.
    """
    compared: float
    """To find the same diff from the two states alone, without the engine's changes: this grows
    with the tables that were written to.
    """


def _writes_us(world: World, users: int, num_writes: int, repeat: int) -> _WritesCost:
    calls = [
        episode_calls(users, (repeat + place) % users)[3] for place in range(0, 2 * num_writes, 2)
    ]
    writes = after = compared = 0.0
    count = 30
    for _ in range(count):
        state, changes = world.initial, list[RowChange]()
        started = time.process_time()
        for call in calls:
            outcome = execute(world, state, SERVICE, call.tool, call.arguments)
            state = outcome.state
            changes.extend(outcome.changes)
        written = time.process_time()
        diff, digest = net_changes(changes), state_hash(state)
        for change in diff:
            assert change.after is not None
            Row(change.after, change.service, change.table, change.row_id)
        ended = time.process_time()
        found = diff_states(world.initial, state)
        compared += time.process_time() - ended
        assert [change.row_id for change in found] == [change.row_id for change in diff]
        assert len(diff) == num_writes
        assert digest != state_hash(world.initial)
        writes, after = writes + written - started, after + ended - written
    return _WritesCost(
        writes=writes / count * 1e6, after=after / count * 1e6, compared=compared / count * 1e6
    )


def _rollout_memory(settings: BenchWorldSettings) -> dict[str, Any]:
    found = subprocess.run(
        [
            sys.executable,
            "-m",
            "loop.bench_rollouts",
            str(settings.episodes),
            str(ROLLOUT_USERS),
            str(settings.seed),
        ],
        env=_child_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    memory: dict[str, Any] = json.loads(found.stdout)
    return memory


class _Peers:
    """The process that measures the peers; lives as long as the benchmark."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "loop.bench_peers"],
            env=_child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, measurement: str, count: int) -> float | str:
        """Return CPU-us an operation, or why there is no figure."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watchdog = threading.Timer(_PEER_SECONDS, self._process.kill)
        watchdog.start()
        try:
            self._process.stdin.write(f"{measurement} {count}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watchdog.cancel()
        if not line:
            return "the process that measures the peers ended"
        answer = json.loads(line)
        return str(answer["missing"]) if "missing" in answer else float(answer["cpu_us"])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def _child_environment() -> dict[str, str]:
    root = str(Path(__file__).parents[1])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _report(
    settings: BenchWorldSettings,
    samples: dict[str, list[float]],
    missing: dict[str, str],
    memory: dict[str, Any],
    worlds: tuple[World, World],
) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, values in samples.items():
        unit = "x" if name.startswith("ratio") else "MB" if name == "rollouts_peak" else "cpu_us"
        figures[name] = {
            "unit": unit,
            "median": statistics.median(values),
            "low": min(values),
            "high": max(values),
            "repeats": len(values),
        }
    figures |= {
        name: {"missing": reason} for name, reason in missing.items() if name not in figures
    }
    bars = {}
    for name, bar in _BARS.items():
        found = figures.get(bar.figure, {}).get("median")
        is_enough = bar.figure != "rollouts_peak" or settings.episodes >= 10_000
        met = None if found is None or not is_enough else bar.is_met(found)
        bars[name] = {"figure": found, "bar": bar.text(), "met": met}
    return {
        "schema_version": 1,
        "settings": asdict(settings),
        "python": sys.version.split()[0],
        "world_bytes": [_world_bytes(world) for world in worlds],
        "calls_a_repeat": settings.sessions * settings.calls,
        "memory": memory,
        "figures": figures,
        "bars": bars,
    }


_BARS = {
    "a journaled call, 64 sessions, beside tau2 retail's": Bar("ratio_tau2_call", at_least=4.0),
    "the same beside the MCP SDK's in memory": Bar("ratio_mcp_sdk_call", at_least=15.0),
    "fork and reset of 1.4 MB beside tau2's reset": Bar("ratio_tau2_reset", at_least=400.0),
    "diff and hash after 10 writes in 1.4 MB": Bar(
        "diff_hash_after_10_writes_1400kb", at_most=200.0
    ),
    "the same in 1.4 MB beside 140 KB": Bar("ratio_diff_hash_1400kb_to_140kb", at_most=2.0),
    "10,000 live rollouts of a 120 KB world": Bar("rollouts_peak", at_most=500.0),
}


def _world_bytes(world: World) -> int:
    tables = world.initial.services[SERVICE]
    rows = {table: rows_of(world.initial, SERVICE, table) for table in sorted(tables)}
    return len(orjson.dumps(rows))


def _table(report: dict[str, Any]) -> str:
    lines = [f"{'figure':38s}{'median':>12s}{'low':>12s}{'high':>12s}  unit (repeats)"]
    for name, figure in report["figures"].items():
        if "missing" in figure:
            lines.append(f"{name:38s}{figure['missing']}")
            continue
        numbers = "".join(f"{figure[part]:12.2f}" for part in ("median", "low", "high"))
        lines.append(f"{name:38s}{numbers}  {figure['unit']} ({figure['repeats']})")
    for name, bar in report["bars"].items():
        word = {True: "met", False: "NOT met", None: "not decided"}[bar["met"]]
        found = "-" if bar["figure"] is None else f"{bar['figure']:.2f}"
        lines.append(f"{name}: {found}, bar {bar['bar']}: {word}")
    return "\n".join(lines)
