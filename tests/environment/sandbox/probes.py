"""Code that a worker is given in tests: one tool, `probe`, with a body of the test's own."""

from __future__ import annotations

import textwrap
import time
from dataclasses import dataclass

from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls
from components.environment.sandbox.worker import Said, Worker

NOW = "2026-03-02T09:00:00Z"
LIMITS = SandboxLimits(deadline_seconds=15.0, memory_bytes=256 << 20, answer_bytes=1 << 20)
"""For calls that end by themselves, on a machine that may have much else to do."""
HASTY = LIMITS.model_copy(update={"deadline_seconds": 1.0})
"""For calls that never end."""
SLACK_SECONDS = 1.0
"""What a call may take beyond its deadline before this is a fault of the sandbox."""


def source(body: str, before: str = "") -> str:
    """Return a service file with one tool, `probe`, of this body, and lines before it."""
    head = "import ctypes, os, signal, socket, sys, threading, time\nfrom service_kit import tool\n"
    tool = '\n@tool("probe")\ndef probe(state, args):\n'
    return head + textwrap.dedent(before) + tool + textwrap.indent(textwrap.dedent(body), "    ")


@dataclass
class Bench:
    """A warm worker that is replaced when it is lost."""

    limits: SandboxLimits = LIMITS
    worker: Worker | None = None

    def run(self, text: str, times: int = 1) -> list[Said]:
        """Load a service and call its probe, each within its deadline and a second."""
        if self.worker is None or not self.worker.is_alive:
            self.worker = Worker(Walls.BUBBLEWRAP, self.limits)
        worker = self.worker
        start = time.perf_counter()
        said = [worker.request({"do": "load", "sources": {"service.py": text}}, num_calls=2)]
        assert time.perf_counter() - start < 2 * self.limits.deadline_seconds + SLACK_SECONDS
        if b'"fault"' in said[0].body or not said[0].body:
            return said
        for _ in range(times):
            start = time.perf_counter()
            said.append(worker.request(CALL))
            assert time.perf_counter() - start < self.limits.deadline_seconds + SLACK_SECONDS
        return said[1:]

    def close(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.close()


CALL = {
    "do": "call", "tool": "probe", "arguments": {}, "now": NOW, "tables": {}, "is_whole": True,
}  # fmt: skip
