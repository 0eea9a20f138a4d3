"""The sandbox refuses to run without its walls, says what mends that, and runs unsafe when told."""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.environment.sandbox.filters import _MACHINES, call_filter, worker_filter
from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls, walls_problem, worker_command
from components.environment.sandbox.worker import Came, Worker
from components.environment.sandbox.workers import Workers
from components.errors import ComputeError
from tests.environment.sandbox.probes import CALL, LIMITS, source


@pytest.fixture
def fresh() -> Iterator[None]:
    walls_problem.cache_clear()
    yield
    walls_problem.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_without_bubblewrap_it_refuses_and_names_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(ComputeError) as caught:
        Workers(Walls.BUBBLEWRAP, key="environment.author.sandbox")

    line = str(caught.value)
    assert line.startswith("environment.author.sandbox=bubblewrap: the program bwrap was not found")
    assert "apt-get install bubblewrap" in line
    assert "environment.author.sandbox=unsafe" in line
    assert "\n" not in line


@pytest.mark.usefixtures("fresh")
def test_a_bubblewrap_that_cannot_build_walls_is_quoted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    problem = walls_problem(Walls.BUBBLEWRAP)

    assert "setting up uid map: Permission denied" in problem
    assert "user namespaces" in problem


def test_unsafe_runs_without_walls_but_within_limits(tmp_path: Path) -> None:
    worker = Worker(Walls.UNSAFE, LIMITS)
    body = (
        "def tried(act):\n    try: return act()\n    except BaseException as e: return 'denied'\n"
    )
    probe = source("return [tried(os.fork), tried(lambda: bytearray(4 << 30))]", body)
    try:
        worker.request({"do": "load", "sources": {"service.py": probe}}, num_calls=2)
        said = worker.request(CALL)
    finally:
        worker.close()

    assert said.came is Came.ANSWER
    assert said.body == b'{"data": ["denied", "denied"], "changes": []}'


def test_command_binds_nothing_that_can_be_written() -> None:
    command = worker_command(Walls.BUBBLEWRAP, SandboxLimits(), "/tmp", 9)

    assert "--bind" not in command
    assert "--proc" not in command
    assert "--share-net" not in command
    assert command[command.index("--dev-bind") + 1] == "/dev/null"
    sources = [command[i + 1] for i, part in enumerate(command) if part == "--ro-bind"]
    assert not {"/", "/usr", "/etc", "/root", "/home", "/work"} & set(sources)


@pytest.mark.parametrize("machine", sorted(_MACHINES))
def test_filters_are_well_formed_and_a_call_may_do_less(
    monkeypatch: pytest.MonkeyPatch, machine: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)

    denied = {}
    for name, program in (("worker", worker_filter()), ("call", call_filter())):
        steps = list(struct.iter_unpack("=HBBI", program))
        assert len(steps) < 4096
        assert steps[-1] == (0x06, 0, 0, 0x7FFF0000)
        denied[name] = {value for code, _, _, value in steps[6:] if code == 0x15}
    numbers = _MACHINES[machine][1]

    assert denied["worker"] < denied["call"]
    assert {numbers[n] for n in ("socket", "ptrace", "mount", "bpf")} <= denied["worker"]
    assert {numbers[n] for n in ("clone", "execve", "kill")} <= denied["call"] - denied["worker"]
