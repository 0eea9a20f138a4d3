"""One sandboxed worker as the host sees it: requests go in, bounded bytes come out, in time.

Owns the process, its wire and the deadlines. It trusts nothing that comes out: heads are small and
checked, bodies are bytes of a stated, limited size for the caller to parse. A worker that is late,
dies or breaks the protocol is killed with everything in it.
"""

from __future__ import annotations

import base64
import contextlib
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from components.environment.sandbox.filters import call_filter, worker_filter
from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls, worker_command, worker_environment
from components.errors import ComputeError

_GRACE_SECONDS = 0.5
"""What a worker has beyond a call's deadline, to end the call itself and go on."""
_MAX_HEAD_BYTES = 4096
_CHUNK = 1 << 16


class Came(StrEnum):
    """How a request ended."""

    ANSWER = "answer"
    DIED = "died"
    """The call's own process ended without an answer; the worker goes on."""
    LATE = "late"
    LARGE = "large"
    LOST = "lost"
    """The worker itself is gone: it died or broke the protocol."""


@dataclass(frozen=True, slots=True)
class Said:
    """What came back for one request."""

    came: Came
    body: bytes = b""
    why: str = ""


class Worker:
    """A live process until `close`, or until a request is answered with `LOST`."""

    def __init__(self, walls: Walls, limits: SandboxLimits) -> None:
        """Start it and wait until it is ready.

        Raises:
            ComputeError: it did not become ready.
        """
        self._limits = limits
        self._walls = walls
        self._tmp = tempfile.mkdtemp(prefix="sandbox-") if walls is Walls.UNSAFE else "/tmp"
        with tempfile.TemporaryFile() as rules, tempfile.TemporaryFile() as told:
            rules.write(worker_filter())
            rules.seek(0)
            self._process = subprocess.Popen(
                worker_command(walls, limits, self._tmp, rules.fileno()),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=told,
                env=worker_environment(walls),
                cwd=self._tmp,
                pass_fds=(rules.fileno(),),
                start_new_session=True,
            )
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
            os.set_blocking(self._to, False)
            os.set_blocking(self._from, False)
            self._pending = b""
            self.is_alive = True
            said = self._exchange(orjson.dumps(self._settings()), limits.start_seconds)
            if said.came is not Came.ANSWER:
                self.close()
                told.seek(0)
                lines = told.read(1 << 16).decode(errors="replace").strip().splitlines()
                problem = lines[-1][:200] if lines else said.why
                raise ComputeError(f"sandbox: a worker did not start: {problem}")

    def request(self, request: Mapping[str, Any], num_calls: int = 1) -> Said:
        """Send one request and return what came, within its deadline and half a second.

        Args:
            request: JSON values.
            num_calls: how many times the worker may use the deadline for it.
        """
        if not self.is_alive:
            return Said(Came.LOST)
        try:
            body = orjson.dumps(request)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the request is no JSON: {error}") from error
        seconds = self._limits.deadline_seconds * num_calls + _GRACE_SECONDS
        said = self._exchange(body, seconds)
        if said.came is Came.LOST or (said.came is Came.LATE and said.why):
            self.close()
        return said

    def close(self) -> None:
        """Kill it, and with it everything inside."""
        if not self.is_alive:
            return
        self.is_alive = False
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert stream is not None
                stream.close()
        if self._walls is Walls.UNSAFE:
            shutil.rmtree(self._tmp, ignore_errors=True)

    def _settings(self) -> dict[str, Any]:
        limits = self._limits
        return {
            "deadline_seconds": limits.deadline_seconds,
            "answer_bytes": limits.answer_bytes,
            "call_filter": base64.b64encode(call_filter()).decode(),
            "tmp": self._tmp,
            "limits": {
                "RLIMIT_AS": limits.memory_bytes,
                "RLIMIT_CORE": 0,
                "RLIMIT_FSIZE": limits.file_bytes,
                "RLIMIT_NOFILE": limits.open_files,
                # Without an own user namespace this would count everything that the user runs.
                **({} if self._walls is Walls.UNSAFE else {"RLIMIT_NPROC": limits.processes}),
            },
        }

    def _exchange(self, body: bytes, seconds: float) -> Said:
        end = time.perf_counter() + seconds
        try:
            if self._pending or select.select([self._from], [], [], 0)[0]:
                return Said(Came.LOST, why="it spoke without being asked")
            self._send(body + b"\n", end)
            head = self._head(end)
            size = head.get("size", 0)
            came = "answer" if head.get("came") == "ready" else str(head.get("came"))
            if type(size) is not int or not 0 <= size <= self._limits.answer_bytes + _CHUNK:
                return Said(Came.LOST, why="it broke the protocol")
            return Said(Came(came), self._take(size, end), str(head.get("why", ""))[:200])
        except TimeoutError:
            return Said(Came.LATE, why="its worker did not answer either")
        except (OSError, ValueError, EOFError):
            return Said(Came.LOST, why="its worker ended")

    def _send(self, body: bytes, end: float) -> None:
        view = memoryview(body)
        while view:
            if not select.select([], [self._to], [], max(0.0, end - time.perf_counter()))[1]:
                raise TimeoutError
            view = view[os.write(self._to, view[:_CHUNK]) :]

    def _head(self, end: float) -> dict[str, Any]:
        while b"\n" not in self._pending:
            if len(self._pending) > _MAX_HEAD_BYTES:
                raise ValueError("no head")
            self._pending += self._read(end)
        line, _, self._pending = self._pending.partition(b"\n")
        head = orjson.loads(line)
        if not isinstance(head, dict):
            raise ValueError("no head")
        return head

    def _take(self, size: int, end: float) -> bytes:
        parts, left = [self._pending[:size]], size - len(self._pending)
        self._pending = self._pending[size:]
        while left > 0:
            part = self._read(end)
            parts.append(part[:left])
            self._pending = part[left:]
            left -= len(part)
        return b"".join(parts)

    def _read(self, end: float) -> bytes:
        if not select.select([self._from], [], [], max(0.0, end - time.perf_counter()))[0]:
            raise TimeoutError
        part = os.read(self._from, _CHUNK)
        if not part:
            raise EOFError
        return part
