"""Processes of our own: the same results, a lost one replaced, none left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from components.records.frozen import FrozenDict, canonical_json
from components.records.spec import ServiceSpec, ToolSpec
from loop.composing import COMPOSE, Draft, Ground
from loop.compute.config import ProcessesComputeConfig
from loop.compute.in_process import InProcess
from loop.compute.outcomes import Done, Lost
from loop.compute.pool import Pool
from loop.compute.processes import Processes
from loop.synthesis.compiled import COMPILE, NoShared
from tests.loop.configs import bare_system, run_config

UNITS = [(f"u{number}", Draft(seed=number)) for number in range(6)]
ENDLESS = """
import sys
from loop.composing import COMPOSE, Draft
from tests.loop.test_processes import the_ground, pool_of
if __name__ == "__main__":
    pool, backend = pool_of(2)
    for _ in pool.as_done(COMPOSE, the_ground(), ((str(n), Draft(seed=n)) for n in range(10**9))):
        print(*backend.processes, flush=True)
"""


def the_ground() -> Ground:
    config = run_config("environment.services=[directory,mail]", "task.walk_length=4")
    return Ground(system=bare_system(config), settings=config.task)


def pool_of(num_workers: int) -> tuple[Pool, Processes]:
    backend = Processes(ProcessesComputeConfig(kind="processes", num_workers=num_workers))
    return Pool(lambda: backend, lambda line: print(line, file=sys.stderr)), backend


@pytest.fixture(scope="module")
def ground() -> Ground:
    return the_ground()


def is_alive(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def test_results_are_those_of_this_process_and_the_next_job_finds_the_workers(
    ground: Ground,
) -> None:
    pool, backend = pool_of(2)
    with closing(pool):
        there = list(pool.map(COMPOSE, ground, UNITS))
        first = backend.processes
        again = list(pool.map(COMPOSE, ground, UNITS[:3]))
        assert backend.processes == first
    here = list(Pool(InProcess, print).map(COMPOSE, ground, UNITS))

    assert canonical_json(there) == canonical_json(here)
    assert canonical_json(again) == canonical_json(here[:3])
    assert len(first) == 2
    assert not any(map(is_alive, first))


def test_a_killed_process_is_replaced_and_nothing_is_lost(
    ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:
    pool, backend = pool_of(2)
    found = []
    with closing(pool):
        for number, result in enumerate(pool.map(COMPOSE, ground, UNITS)):
            found.append(result)
            if number == 0:
                os.kill(backend.processes[0], signal.SIGKILL)

    assert [key for key, _ in found] == [key for key, _ in UNITS]
    assert "a worker was lost" in capsys.readouterr().err


def test_what_goes_wrong_there_is_raised_here(ground: Ground) -> None:
    _, backend = pool_of(1)
    with closing(backend):
        backend.begin(COMPOSE, ground, 1)
        backend._shared_file.unlink()
        backend.start(0, UNITS[0][1])
        with pytest.raises(RuntimeError, match=r"(?s)'compose' failed in a worker.*No such file"):
            backend.wait()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_the_one_that_started_them(how: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    root = Path(__file__).parents[2]
    parent = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=root,
    )
    assert parent.stdout is not None
    children = [int(word) for word in parent.stdout.readline().split()]
    assert children
    assert all(map(is_alive, children))
    parent.send_signal(how)
    parent.wait()
    parent.stdout.close()

    deadline = time.monotonic() + 20
    while any(map(is_alive, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, children))


def test_a_process_that_dies_in_the_middle_of_an_answer_keeps_nobody_waiting() -> None:
    answer = "List notes." + " " * 2**20  # told again in the answer, and more than a pipe holds
    tool = ToolSpec(name="list_notes", description=answer)
    spec = ServiceSpec(service="notes", tools=FrozenDict({"list_notes": tool}))
    _, backend = pool_of(2)
    with closing(backend):
        backend.begin(COMPILE, NoShared(), 1)
        backend.start(0, spec)
        (child,) = backend._children
        assert child.pipe.poll(60)
        os.kill(backend.processes[0], signal.SIGKILL)

        assert backend.wait() == Lost((0,), "a process ended")
        backend.start(1, spec)
        done = backend.wait()

    assert isinstance(done, Done)
    assert done.ticket == 1
