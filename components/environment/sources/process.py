"""The process of one local server: its lines in and out, its last words, and its end.

Owns the process group. Whatever the server does (floods a pipe, ignores its end, leaves children
behind), memory stays bounded and nothing of its group outlives `stop`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence

from components.environment.sources.last_words import last_words

MAX_LINE_BYTES = 32_000_000
"""Longest line, which is one message, that is read."""
MAX_OUTPUT_BYTES = 128_000_000
"""Most that is read from one server."""
_CHUNK = 65_536
_STDERR_BYTES = 16_384
_GRACE_SECONDS = 1.0
"""From the end of its input to a polite signal, and from there to the last one."""


class ServerProcess:
    """A started server. `start`, then `lines` and `write`, then `stop`, once."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Args: process: started with pipes, as the leader of its own group."""
        self._process = process
        self._stderr = bytearray()
        self._said_much = False
        self._listening = asyncio.create_task(self._listen())
        self.flaw = ""
        """Why reading was given up; empty while it was not."""

    @classmethod
    async def start(
        cls, command: str, args: Sequence[str], env: Mapping[str, str], cwd: str | None
    ) -> ServerProcess:
        """Start a program.

        Raises:
            OSError: it cannot be started.
        """
        process = await asyncio.create_subprocess_exec(
            command,
            *args,
            env=dict(env),
            cwd=cwd,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        return cls(process)

    async def lines(self) -> AsyncIterator[bytes]:
        """Return the lines that it writes, until its end or until it is too much."""
        stdout = self._process.stdout
        assert stdout is not None
        parts: list[bytes] = []
        size = total = 0
        while chunk := await stdout.read(_CHUNK):
            total += len(chunk)
            first, *others = chunk.split(b"\n")
            parts.append(first)
            size += len(first)
            for other in others:
                yield b"".join(parts)
                parts, size = [other], len(other)
            if size > MAX_LINE_BYTES:
                self.flaw = f"it wrote a line of more than {MAX_LINE_BYTES} bytes"
                return
            if total > MAX_OUTPUT_BYTES:
                self.flaw = f"it wrote more than {MAX_OUTPUT_BYTES} bytes"
                return
        await self._ended()  # who is told of the end is told how it ended

    async def write(self, line: bytes) -> None:
        """Send one line.

        Raises:
            OSError: it reads no more.
        """
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(line + b"\n")
        await stdin.drain()

    def last_words(self) -> str:
        """Return what it said last on stderr (see `last_words`)."""
        tail = bytes(self._stderr).decode("utf-8", "replace")
        if self._said_much:  # the first line begins in the middle
            tail = tail.partition("\n")[2]
        return last_words(tail)

    def told_status(self) -> str:
        """Return how it ended, as a part of a message; empty where it ended well or was ended."""
        code = self._process.returncode
        return f" with exit status {code}" if code is not None and code > 0 else ""

    async def stop(self) -> None:
        """End it and all that it started in its group."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not await self._ended():
            self._signal(signal.SIGTERM)
            await self._ended()
        self._signal(signal.SIGKILL)  # also what a server that is gone has left behind
        await self._ended()
        await asyncio.wait([self._listening], timeout=_GRACE_SECONDS / 4)
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listening
        # A child that left the group may hold the pipes open for ever: close our ends of them.
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            with contextlib.suppress(PermissionError):
                transport.close()
        await asyncio.sleep(0)

    async def _ended(self) -> bool:
        # `wait` also waits for pipes that a child may hold open, so look instead.
        for _ in range(int(_GRACE_SECONDS / 0.01)):
            if self._process.returncode is not None:
                return True
            await asyncio.sleep(0.01)
        return self._process.returncode is not None

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _listen(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while chunk := await stderr.read(_CHUNK):
            self._stderr += chunk
            if len(self._stderr) > _STDERR_BYTES:
                del self._stderr[:-_STDERR_BYTES]
                self._said_much = True
