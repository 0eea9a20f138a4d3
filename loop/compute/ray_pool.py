"""The door to Ray: workers in other processes and on other machines.

Ray carries bytes, numbers and names: canonical JSON of what a job shares, put once into the object
store, and of each unit and its result. Workers hold no truth; Ray neither restarts nor retries
anything, since the pool counts losses itself. Ray starts with the first unit and ends with the
round, and says nothing: no banner, no dashboard, no statistics, no logs of workers.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import os
import signal
import socket
import threading
import time
import warnings
from collections import deque
from collections.abc import Iterator
from typing import Any

from components.errors import ComputeError, ConfigError
from components.records.base import Record
from loop.compute.config import RayComputeConfig
from loop.compute.jobs import Job
from loop.compute.outcomes import Done, Lost
from loop.compute.worker import Worker, as_bytes, code_version, read_answer

# Read when Ray is imported. It writes to stdout what its daemons report (a worker that died),
# whatever `log_to_driver` says, unless each line is to be skipped as a duplicate.
os.environ.update(
    RAY_USAGE_STATS_ENABLED="0",
    RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
    RAY_DEDUP_LOGS="1",
    RAY_DEDUP_LOGS_ALLOW_REGEX="",
    RAY_DEDUP_LOGS_SKIP_REGEX=".",
)

import ray
from ray.exceptions import (
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayError,
    WorkerCrashedError,
)

START_SECONDS = 300.0
"""Longest wait for a first worker."""
_TRIES = 2
"""Tries to start Ray here: it gives its own processes 30 seconds, and a busy machine needs more."""
_MOST_FAILED_STARTS = 3
_KNOCK_SECONDS = 10.0
_LOOK_SECONDS = 1.0
"""How often a wait looks up, so that Ctrl-C is seen at once and a start that takes too long too."""
_LOSSES = (RayActorError, ObjectLostError, OutOfMemoryError, WorkerCrashedError)


class Shell:
    """What Ray runs: a worker, and nothing of its own."""

    def __init__(self) -> None:
        self._worker = Worker()

    async def greet(self) -> tuple[str, int]:
        """Return the version of the program here, and the process."""
        return code_version(), os.getpid()

    async def run(self, job: str, key: str, shared: list[Any], unit: bytes) -> bytes:
        """Work on one unit. Args: shared: one reference, so that it is fetched only when needed."""

        async def fetch() -> bytes:
            found: bytes = await shared[0]
            return found

        return await self._worker.run(job, key, fetch, unit)


class RayWorkers:
    """Workers of Ray. Those that are lost are replaced while there is work."""

    def __init__(self, config: RayComputeConfig) -> None:
        self._config = config
        self._num_workers = 0
        self._has_started = False
        self._starting: dict[Any, Any] = {}
        """Greeting that is awaited -> its worker."""
        self._ready: dict[Any, int] = {}
        """Worker -> its process; in the order in which they greeted."""
        self._num_failed_starts = 0
        self._numbers = itertools.count()
        self._job = self._key = ""
        self._shared: Any = None
        self._per_worker = 1
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._flying: dict[Any, tuple[int, Any]] = {}
        """Answer that is awaited -> ticket and worker."""

    @property
    def processes(self) -> tuple[int, ...]:
        """Process ids of the workers that are ready, each on its own machine."""
        return tuple(self._ready.values())

    def begin(self, job: Job[Any, Any], shared: Record, concurrency: int) -> int:
        """Start the workers, if they are not there, and put what the job shares where they find it.

        Raises:
            ComputeError: Ray cannot be started or reached.
            ConfigError: more is asked for than there is.
        """
        if not self._has_started:
            self._start_ray()
        self._job, self._key = job.name, f"{job.name}-{next(self._numbers)}"
        self._shared = ray.put(as_bytes(shared))
        self._per_worker = math.ceil(concurrency / self._num_workers)
        return self._num_workers * self._per_worker

    def start(self, ticket: int, unit: Record) -> None:
        """Take one unit; it goes to a worker as soon as one has room."""
        self._waiting.append((ticket, as_bytes(unit)))
        self._hand_out()

    def wait(self) -> Done | Lost:
        """Wait for an answer; take in workers that have started, and replace those that are gone.

        Raises:
            ComputeError: no worker starts.
            UserError: what the job raised.
        """
        deadline = time.perf_counter() + START_SECONDS
        while True:
            awaited = [*self._flying, *self._starting]
            ready, _ = ray.wait(awaited, num_returns=1, timeout=_LOOK_SECONDS)
            for reference in ready:
                if reference in self._starting:
                    self._welcome(reference)
                else:
                    return self._outcome(reference)
            if not self._ready and time.perf_counter() > deadline:
                raise ComputeError(
                    f"no Ray worker started in {START_SECONDS:.0f} seconds; see that the cluster "
                    f"has {self._needs(1)} free, or lower compute.cpus_per_worker and "
                    "compute.gpus_per_worker"
                )

    def stop(self) -> None:
        """Give up the units that are under way."""
        for reference in self._flying:
            with contextlib.suppress(RayError):
                ray.cancel(reference)
        self._flying.clear()
        self._waiting.clear()
        self._shared = None

    def close(self) -> None:
        """End the workers, and Ray where it was started here."""
        if not self._has_started:
            return
        for worker in (*self._ready, *self._starting.values()):
            with contextlib.suppress(RayError):
                ray.kill(worker)
        self._has_started = False
        self._ready.clear()
        self._starting.clear()
        ray.shutdown()

    def _start_ray(self) -> None:
        config = self._config
        wanted = config.num_workers
        options: dict[str, Any] = {
            "log_to_driver": False,
            "logging_level": logging.CRITICAL,
            "include_dashboard": False,
        }
        if config.address is None:
            count = wanted or max(1, int((os.cpu_count() or 1) / config.cpus_per_worker))
            options["num_cpus"] = max(1, math.ceil(count * config.cpus_per_worker))
            options["object_store_memory"] = config.object_store_mb * 1_000_000
            options["address"] = "local"
        else:
            del options["include_dashboard"]
            options["address"] = config.address
        self._has_started = True
        ends = signal.getsignal(signal.SIGTERM)
        for tries_left in reversed(range(_TRIES)):
            try:
                if config.address is not None and config.address != "auto":
                    _refuse_silence(config.address)
                with warnings.catch_warnings(), _silent_stderr():
                    warnings.simplefilter("ignore")
                    ray.init(**options)
                break
            except Exception as error:
                ray.shutdown()
                if config.address is not None or not tries_left:
                    raise ComputeError(_unstarted(config, error)) from error
        if callable(ends) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, ends)  # Ray puts its own there, which ends in silence
        there: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        self._num_workers = self._fitting(there)
        for _ in range(self._num_workers):
            self._start_worker()

    def _fitting(self, there: dict[str, float]) -> int:
        """Return how many workers to start, of those that fit into what is there."""
        config = self._config
        most = math.floor(there.get("CPU", 0.0) / config.cpus_per_worker)
        if config.gpus_per_worker:
            most = min(most, math.floor(there.get("GPU", 0.0) / config.gpus_per_worker))
        if most < (config.num_workers or 1):
            raise ConfigError(_too_much(config, self._needs(config.num_workers or 1), there))
        return config.num_workers or most

    def _needs(self, count: int) -> str:
        config = self._config
        text = f"{count * config.cpus_per_worker:g} CPUs"
        return text + (
            f" and {count * config.gpus_per_worker:g} GPUs" * (config.gpus_per_worker > 0)
        )

    def _start_worker(self) -> None:
        kind: Any = ray.remote(
            num_cpus=self._config.cpus_per_worker,
            num_gpus=self._config.gpus_per_worker,
            max_restarts=0,
            max_task_retries=0,
        )(Shell)
        worker = kind.remote()
        self._starting[worker.greet.remote()] = worker

    def _welcome(self, greeting: Any) -> None:
        """Take in a worker that has greeted; start another for one that could not."""
        worker = self._starting.pop(greeting)
        try:
            version, process = ray.get(greeting)
        except RayError as error:
            self._num_failed_starts += 1
            if self._num_failed_starts >= _MOST_FAILED_STARTS:
                raise ComputeError(
                    f"Ray workers do not start ({_reason(error)}); on an existing cluster, see "
                    "that each machine has the same version of Selvage installed"
                ) from error
            self._start_worker()
            return
        if version != code_version():
            raise ComputeError(
                "a machine of the Ray cluster has another version of Selvage (or of a file in it) "
                "than this one; install the same on each, or set compute.address=null"
            )
        self._num_failed_starts = 0
        self._ready[worker] = process
        self._hand_out()

    def _hand_out(self) -> None:
        """Give waiting units to workers with room, the idlest first."""
        loads = dict.fromkeys(self._ready, 0)
        for _, worker in self._flying.values():
            loads[worker] += 1
        while self._waiting and loads:
            worker = min(loads, key=lambda item: loads[item])
            if loads[worker] >= self._per_worker:
                return
            ticket, unit = self._waiting.popleft()
            answer = worker.run.remote(self._job, self._key, [self._shared], unit)
            self._flying[answer] = ticket, worker
            loads[worker] += 1

    def _outcome(self, reference: Any) -> Done | Lost:
        ticket, worker = self._flying[reference]
        try:
            answer = ray.get(reference)
        except _LOSSES as error:
            return self._replace(worker, _reason(error))
        del self._flying[reference]
        self._hand_out()
        return Done(ticket, read_answer(answer, self._job))

    def _replace(self, worker: Any, why: str) -> Lost:
        process = self._ready.pop(worker)
        gone = [answer for answer, (_, owner) in self._flying.items() if owner == worker]
        tickets = tuple(self._flying.pop(answer)[0] for answer in gone)
        with contextlib.suppress(RayError):  # cut off rather than dead: it must not go on
            ray.kill(worker)
        self._start_worker()
        return Lost(tickets, f"process {process}: {why}")


@contextlib.contextmanager
def _silent_stderr() -> Iterator[None]:
    """Keep what Ray's C++ half writes of each failed try off the screen; errors tell it anyway."""
    try:
        kept = os.dup(2)
    except OSError:  # there is no stderr
        yield
        return
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _refuse_silence(address: str) -> None:
    """Raise OSError where nobody listens; Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS):
        pass


def _unstarted(config: RayComputeConfig, error: Exception) -> str:
    reason = _reason(error)
    if "AuthenticationError" in f"{error.__context__!r}":
        reason = "it asks for a token: set RAY_AUTH_MODE=token, with the token in ~/.ray/auth_token"
    if config.address is None:
        return f"Ray cannot be started ({reason}); mend that, or set compute=local"
    return (
        f"compute.address={config.address} cannot be reached ({reason}); start this program on a "
        "machine of the cluster, give its HOST:PORT, or set compute.address=null"
    )


def _too_much(config: RayComputeConfig, needed: str, there: dict[str, float]) -> str:
    """Return the line for workers that do not fit; it advises the keys that would help."""
    num_cpus, num_gpus = there.get("CPU", 0.0), there.get("GPU", 0.0)
    keys = []
    if config.gpus_per_worker > num_gpus:
        keys.append("compute.gpus_per_worker")
    if config.cpus_per_worker > num_cpus:
        keys.append("compute.cpus_per_worker")
    mend = " and ".join(keys) or "compute.num_workers"
    workers = f"{config.num_workers} workers need"
    if config.num_workers in (None, 1):
        workers = "a worker needs"
    return (
        f"{workers} {needed}, and Ray has {num_cpus:g} CPUs and {num_gpus:g} GPUs; lower {mend}, "
        "or set compute=local"
    )


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")
