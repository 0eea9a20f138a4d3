"""Ray for real: the same results as in process, whoever is killed, and nothing on the screen."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.errors import ComputeError, ConfigError
from loop.composing import COMPOSE, Draft, Ground
from loop.compute.config import RayComputeConfig
from loop.compute.in_process import InProcess
from loop.compute.pool import MOST_LOSSES, Pool
from tests.loop.configs import bare_system, run_config
from tests.loop.killed_round import summary

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed"
)

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = (
    "import ray, sys; "
    "ray.init('local', num_cpus=2, include_dashboard=False, object_store_memory=100_000_000); "
    "print(ray.get_runtime_context().gcs_address, flush=True); sys.stdin.read(); ray.shutdown()"
)
ROUND = (
    "evolve", "+round=1", "policy=scripted", "scale=smoke", "task.count=2", "tracking=none",
    "environment.services=[directory,mail]", "task.walk_length=4",
)  # fmt: skip
DRAFTS = [(f"{number:06d}", Draft(seed=number)) for number in range(12)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A Ray cluster that others have started; yields its address."""
    for _ in range(3):  # Ray gives its processes 30 seconds to start; a busy machine needs more
        with subprocess.Popen(
            [sys.executable, "-c", CLUSTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"},
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            if address := process.stdout.readline().strip():
                yield address
                process.stdin.close()
                return
    raise AssertionError("Ray does not start")


@pytest.fixture(scope="module")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of a round that was made in process."""
    runs_dir = tmp_path_factory.mktemp("local")
    process = round_process(runs_dir)
    _, err = process.communicate()
    assert process.returncode == 0, err
    return runs_dir


@pytest.fixture(scope="module")
def ground() -> Ground:
    config = run_config("environment.services=[directory,mail]", "task.walk_length=4")
    return Ground(system=bare_system(config), settings=config.task)


@contextlib.contextmanager
def workers(*overrides: str, told: list[str]) -> Iterator[tuple[Pool, Any]]:
    from loop.compute.ray_pool import RayWorkers

    config = run_config("compute=ray", *overrides).compute
    assert isinstance(config, RayComputeConfig)
    backend = RayWorkers(config)
    pool = Pool(lambda: backend, told.append)
    try:
        yield pool, backend
    finally:
        pool.close()


class Guest:
    """Somebody else's actor, which takes a processor."""

    def is_there(self) -> bool:
        return True


@contextlib.contextmanager
def connected(address: str) -> Iterator[None]:
    import ray

    ray.init(address=address, namespace="guests", log_to_driver=False, logging_level=50)
    yield
    ray.shutdown()


def round_process(runs_dir: Path, *overrides: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "loop", *ROUND, f"runs_dir={runs_dir}", *overrides],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        env={**os.environ, "SELVAGE_TEST_RUNS": str(runs_dir)},
    )


def units(runs_dir: Path, number: int) -> list[tuple[str, str, str]]:
    path = runs_dir / "default" / f"round-{number:04d}" / "units.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT stage, key, sha FROM units ORDER BY 1, 2").fetchall()


def ray_processes(runs_dir: Path) -> list[str]:
    """Return the command lines of Ray's processes that a round in this folder has left."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            is_ours = f"SELVAGE_TEST_RUNS={runs_dir}".encode() in (folder / "environ").read_bytes()
            if is_ours and ("ray::" in command or "raylet" in command):
                found.append(command)
    return found


def has_units(runs_dir: Path, number: int) -> bool:
    """Tell whether a round has recorded anything; its table is made a moment after its file."""
    path = runs_dir / "default" / f"round-{number:04d}" / "units.sqlite"
    with contextlib.suppress(sqlite3.OperationalError):
        return path.exists() and bool(units(runs_dir, number))
    return False


def test_a_round_is_the_same_with_two_workers_and_says_nothing_of_ray(
    in_process: Path, tmp_path: Path
) -> None:
    process = round_process(tmp_path, "compute=ray", "compute.num_workers=2")
    out, err = process.communicate()

    assert process.returncode == 0, err
    for number in (0, 1):
        assert summary(tmp_path, number) == summary(in_process, number)
        assert units(tmp_path, number) == units(in_process, number)
    stages = ("faults", "services", "tasks", "rollout", "attribute", "repair", "reeval")
    assert [line for line in err.splitlines() if not line.startswith(stages)] == []
    assert len(out.splitlines()) == 3
    assert out.splitlines()[-1].endswith("report.html")
    assert ray_processes(tmp_path) == []


def test_a_round_is_the_same_with_one_worker_of_a_cluster_and_after_an_interruption(
    cluster: str, in_process: Path, tmp_path: Path
) -> None:
    overrides = ("compute=ray", f"compute.address={cluster}", "compute.num_workers=1")
    process = round_process(tmp_path, *overrides)
    while process.poll() is None and not has_units(tmp_path, 0):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate()

    assert process.returncode == 130, err
    assert err.splitlines()[-1].startswith("selvage: interrupted")
    assert "Traceback" not in err
    again = round_process(tmp_path, *overrides)
    assert again.communicate()[1].count("worker") == 0
    assert again.returncode == 0
    for number in (0, 1):
        assert summary(tmp_path, number) == summary(in_process, number)
        assert units(tmp_path, number) == units(in_process, number)


def test_a_killed_worker_is_replaced_and_only_its_unit_runs_again(
    cluster: str, ground: Ground
) -> None:
    told = list[str]()
    expected = list(Pool(InProcess, print).map(COMPOSE, ground, DRAFTS))

    with workers(f"compute.address={cluster}", "compute.num_workers=2", told=told) as pair:
        pool, backend = pair
        results = pool.map(COMPOSE, ground, DRAFTS)
        found = [next(results)]
        first = backend.processes
        os.kill(first[0], signal.SIGKILL)
        found += results
        last = backend.processes

    assert found == expected
    assert pool.started == len(DRAFTS) + 1
    assert len(told) == 1
    assert f"process {first[0]}" in told[0]
    assert "(compose: 1)" in told[0]
    assert first[0] not in last


def test_workers_that_are_killed_again_and_again_stop_with_one_line(
    cluster: str, ground: Ground
) -> None:
    told, is_over = list[str](), threading.Event()

    def kill_all(backend: Any) -> None:
        while not is_over.wait(0.02):
            with contextlib.suppress(RuntimeError, ProcessLookupError):
                for process in backend.processes:
                    os.kill(process, signal.SIGKILL)

    with workers(f"compute.address={cluster}", "compute.num_workers=1", told=told) as pair:
        pool, backend = pair
        results = pool.map(COMPOSE, ground, DRAFTS)
        kept = next(results)
        killer = threading.Thread(target=kill_all, args=(backend,))
        killer.start()
        with pytest.raises(ComputeError, match="under way on 3 workers that were lost") as caught:
            list(results)
        is_over.set()
        killer.join()

    assert kept[0] == DRAFTS[0][0]
    assert len(told) == MOST_LOSSES
    assert "\n" not in str(caught.value)


def test_a_worker_that_finds_no_room_holds_nothing_up(cluster: str, ground: Ground) -> None:
    import ray

    with connected(cluster):
        kind: Any = ray.remote(num_cpus=1)(Guest)
        other = kind.options(name="other", lifetime="detached").remote()
        ray.get(other.is_there.remote())
    overrides = (f"compute.address={cluster}", "compute.num_workers=2")
    with workers(*overrides, told=[]) as (pool, backend):
        results = list(pool.map(COMPOSE, ground, DRAFTS))
        num_ready = len(backend.processes)
    with connected(cluster):
        ray.kill(ray.get_actor("other"))

    assert [key for key, _ in results] == [key for key, _ in DRAFTS]
    assert num_ready == 1


def test_a_cluster_with_another_version_of_the_program_is_refused(
    cluster: str, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loop.compute import ray_pool

    monkeypatch.setattr(ray_pool, "code_version", lambda: "another")
    with (
        workers(f"compute.address={cluster}", told=[]) as (pool, _),
        pytest.raises(ComputeError, match="another version of Selvage"),
    ):
        next(pool.map(COMPOSE, ground, DRAFTS))


def test_more_workers_than_processors_are_refused(cluster: str, ground: Ground) -> None:
    overrides = (f"compute.address={cluster}", "compute.num_workers=3")

    with (
        workers(*overrides, told=[]) as (pool, _),
        pytest.raises(ConfigError, match=r"3 workers need 3 CPUs, and Ray has 2 CPUs"),
    ):
        next(pool.map(COMPOSE, ground, DRAFTS))


def test_a_refusal_advises_the_key_that_would_help() -> None:
    from loop.compute import ray_pool

    config = run_config("compute=ray", "compute.gpus_per_worker=1").compute
    assert isinstance(config, RayComputeConfig)

    told = ray_pool._too_much(config, "1 CPUs and 1 GPUs", {"CPU": 4.0})

    assert told == (
        "a worker needs 1 CPUs and 1 GPUs, and Ray has 4 CPUs and 0 GPUs; lower "
        "compute.gpus_per_worker, or set compute=local"
    )


def test_a_cluster_that_is_not_there_is_one_line(
    ground: Ground, capfd: pytest.CaptureFixture[str]
) -> None:
    with (
        workers("compute.address=127.0.0.1:9", told=[]) as (pool, _),
        pytest.raises(ComputeError, match=r"compute\.address=127\.0\.0\.1:9 cannot be reached"),
    ):
        next(pool.map(COMPOSE, ground, DRAFTS))

    assert "".join(capfd.readouterr()) == ""


def test_ray_is_not_imported_where_it_is_not_asked_for() -> None:
    program = (
        "import sys; from loop.__main__ import main; "
        "import loop.round, loop.commands.evolve; "
        "print(json.dumps([m for m in sys.modules if m.split('.')[0] == 'ray']))"
    )

    done = subprocess.run(
        [sys.executable, "-c", f"import json; {program}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout) == []
