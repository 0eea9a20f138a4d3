"""The machine: Python, cores, memory, shared memory, programs on the path."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from loop.doctor.check import Check, graded

GIB = 2**30
LEAST_MEMORY = 2 * GIB
"""A round of the built-in services fits in a quarter of it; a small model on a CPU needs all."""
LEAST_SHARED = 2 * GIB
"""Ray keeps its objects in shared memory, and falls back to slow files where there is less."""
_CGROUP = Path("/sys/fs/cgroup/memory.max")
_MEMINFO = Path("/proc/meminfo")
_SHARED = Path("/dev/shm")


def check_machine() -> list[Check]:
    """Return the checks of the machine."""
    return [
        check_python(sys.version_info[:3]),
        _check_cores(),
        _check_memory(),
        _check_shared_memory(),
        *(_check_launcher(name, what) for name, what in LAUNCHERS),
    ]


LAUNCHERS = (("npx", "Node.js"), ("uvx", "uv"))
"""Programs that most MCP servers are started with, and what brings them."""


def check_python(version: tuple[int, ...]) -> Check:
    """Return whether this version of Python is new enough."""
    return graded(
        "python",
        f"{'.'.join(map(str, version))} at {sys.executable}",
        fails=version < (3, 11),
        mend="install Python 3.11 or newer and make the environment anew",
    )


def _check_cores() -> Check:
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        count = os.cpu_count() or 1
    return graded(
        "cores",
        f"{count} to use",
        warns=count < 2,
        mend="rounds run, and take their time; give the machine two or more",
    )


def _check_memory() -> Check:
    total = _total_memory()
    if total is None:
        return graded("memory", "cannot be told on this system")
    return graded(
        "memory",
        f"{total / GIB:.1f} GiB",
        warns=total < LEAST_MEMORY,
        mend=f"at least {LEAST_MEMORY // GIB} GiB are wanted; lower rollout.concurrency",
    )


def _total_memory() -> int | None:
    """Return the bytes of memory that this process may have."""
    try:
        line = next(text for text in _MEMINFO.read_text().splitlines() if "MemTotal" in text)
        total = int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError):
            return None
    try:
        return min(total, int(_CGROUP.read_text()))
    except (OSError, ValueError):  # no such limit, or "max"
        return total


def _check_shared_memory() -> Check:
    if not _SHARED.is_dir():
        return graded("shared memory", "not a folder on this system; Ray does without")
    free = shutil.disk_usage(_SHARED).free
    return graded(
        "shared memory",
        f"{free / GIB:.1f} GiB free in {_SHARED}",
        warns=free < LEAST_SHARED,
        mend="Ray will be slow; start the container with --shm-size=4g",
    )


def _check_launcher(name: str, bringer: str) -> Check:
    place = shutil.which(name)
    return graded(
        name,
        place or "not on the path",
        warns=place is None,
        mend=f"MCP servers that are started with {name} cannot be; install {bringer}",
    )
