"""The operating system's walls around a worker: bubblewrap, and what may be seen through it.

Owns the command line: no network, no /proc, a read-only root that holds Python, pydantic and the
two files of `inside/`, a private /tmp of limited size, an empty environment, own namespaces for
users, processes, IPC and names. It refuses to start without bubblewrap unless told otherwise.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from components.environment.sandbox.filters import machine_is_known, worker_filter
from components.environment.sandbox.limits import SandboxLimits
from components.errors import ComputeError

INSIDE = Path(__file__).resolve().parent / "inside"
_MODULES = (
    "annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection",
)  # fmt: skip
"""Packages that are bound beside the standard library."""
_SITE, _OWN = "/sandbox/site", "/sandbox/own"
_ENVIRONMENT = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYDANTIC_DISABLE_PLUGINS": "1",
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
}
_FLAGS = ("-s", "-S", "-P", "-B", "-X", "utf8")
_LIBRARIES = """
import sys
import bz2, ctypes, datetime, decimal, hashlib, json, lzma, math, random, uuid, zlib, zoneinfo
sys.path += sys.argv[1:]
import pydantic_core
print(open("/proc/self/maps").read())
"""
"""Whatever these map are the libraries that a service may need."""
_PROBE_SECONDS = 20.0


class Walls(StrEnum):
    """What stands between a worker and this machine."""

    BUBBLEWRAP = "bubblewrap"
    UNSAFE = "unsafe"
    """Limits and filters only: the code can read whatever this user can."""


def worker_command(walls: Walls, limits: SandboxLimits, tmp: str, filter_fd: int) -> list[str]:
    """Return the command that starts a worker.

    Args:
        walls: which walls.
        limits: gives the size of /tmp.
        tmp: folder for the worker's files where there are no walls.
        filter_fd: open file with the worker's filter; bubblewrap reads it.
    """
    if walls is Walls.UNSAFE:
        runner, kit = str(INSIDE / "runner.py"), str(INSIDE / "kit.py")
        return [_python(), *_FLAGS, runner, kit, *_roots()]
    program = shutil.which("bwrap") or "bwrap"
    command = [program, *_namespaces(), "--seccomp", str(filter_fd)]
    for source, place in _seen():
        command += ["--ro-bind", source, place]
    for folder in _hidden():
        command += ["--size", "4096", "--tmpfs", folder, "--remount-ro", folder]
    command += ["--dev-bind", "/dev/null", "/dev/null"]
    command += ["--size", str(limits.tmp_bytes), "--perms", "0700", "--tmpfs", tmp]
    command += ["--remount-ro", "/", "--chdir", tmp]
    python = [_python(), *_FLAGS, f"{_OWN}/runner.py", f"{_OWN}/kit.py", _SITE]
    return [*command, "--", *python]


def worker_environment(walls: Walls) -> dict[str, str]:
    """Return the environment of the started program; bubblewrap clears it again."""
    return dict(_ENVIRONMENT) if walls is Walls.UNSAFE else {}


def check_walls(walls: Walls, key: str) -> None:
    """Make sure that the walls stand.

    Args:
        walls: which walls.
        key: configuration key that chose them, for the message.

    Raises:
        ComputeError: they do not, and how to mend it.
    """
    problem = walls_problem(walls)
    if problem:
        raise ComputeError(
            f"{key}={walls.value}: {problem}; or set {key}=unsafe where the code may be trusted"
        )


@lru_cache(maxsize=2)
def walls_problem(walls: Walls) -> str:
    """Return why the walls do not stand and what mends it; empty when they do."""
    if not sys.platform.startswith("linux"):
        return f"the sandbox needs Linux, and this is {sys.platform}"
    if not machine_is_known():
        return "there is no filter of system calls for this kind of processor"
    if walls is Walls.UNSAFE:
        return ""
    if shutil.which("bwrap") is None:
        return (
            "the program bwrap was not found; install bubblewrap "
            "(apt-get install bubblewrap, dnf install bubblewrap)"
        )
    with tempfile.TemporaryFile() as rules:
        rules.write(worker_filter())
        rules.seek(0)
        command = worker_command(walls, SandboxLimits(), "/tmp", rules.fileno())
        command = [*command[: command.index("--") + 1], _python(), *_FLAGS, "-c", "print('here')"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env={}, timeout=_PROBE_SECONDS,
                pass_fds=(rules.fileno(),), stdin=subprocess.DEVNULL, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bwrap could not be run ({type(error).__name__})"
    if done.returncode == 0 and done.stdout == "here\n":
        return ""
    said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:200]
    return (
        f"bwrap cannot build its walls here ({said}); allow user namespaces "
        "(sysctl kernel.unprivileged_userns_clone=1, or "
        "kernel.apparmor_restrict_unprivileged_userns=0; in a container: --privileged)"
    )


def _namespaces() -> list[str]:
    options = ["user", "pid", "ipc", "uts", "net"]
    command = [f"--unshare-{option}" for option in options]
    command += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--clearenv"]
    command += ["--uid", "65534", "--gid", "65534", "--hostname", "sandbox", "--cap-drop", "ALL"]
    for name, value in _ENVIRONMENT.items():
        command += ["--setenv", name, value]
    return command


@lru_cache(maxsize=1)
def _seen() -> tuple[tuple[str, str], ...]:
    """Return (path here, path inside) of everything that is bound, read-only."""
    found = {name: name for name in (_python(), *_stdlib(), *_libraries())}
    found |= {str(place): f"{_SITE}/{place.name}" for place in _packages()}
    found |= {str(INSIDE / name): f"{_OWN}/{name}" for name in ("kit.py", "runner.py")}
    for name in ("/etc/ld.so.cache", "/usr/share/zoneinfo"):
        if os.path.exists(name):
            found[name] = name
    return tuple(found.items())


def _hidden() -> list[str]:
    """Return the folders within what is bound that hold other packages."""
    return [
        str(folder)
        for root in _stdlib()
        for name in ("site-packages", "dist-packages")
        if (folder := Path(root) / name).is_dir()
    ]


def _python() -> str:
    """Return this Python's own program, outside of any virtual environment."""
    program: str = getattr(sys, "_base_executable", None) or sys.executable
    return os.path.realpath(program)


def _stdlib() -> tuple[str, ...]:
    folder = Path(os.__file__).resolve().parent
    shared = sysconfig.get_config_var("DESTSHARED")
    is_apart = shared and Path(shared).is_dir() and folder not in Path(shared).parents
    return (str(folder), str(shared)) if is_apart else (str(folder),)


@lru_cache(maxsize=1)
def _libraries() -> tuple[str, ...]:
    """Return the shared libraries that Python maps, with each name that the loader asks for."""
    said = subprocess.run(
        [_python(), "-I", "-S", "-B", "-c", _LIBRARIES, *_roots()],
        capture_output=True, text=True, timeout=_PROBE_SECONDS, check=True,
    ).stdout  # fmt: skip
    own = tuple(f"{root}/" for root in (*_stdlib(), *_roots()))
    files = set(re.findall(r"(/\S+\.so[.\d]*)$", said, flags=re.MULTILINE))
    found = (_names_of(file) for file in files if not file.startswith(own))
    return tuple(sorted({name for names in found for name in names}))


def _names_of(file: str) -> Iterator[str]:
    """Yield a library's path and the links beside it that lead to it."""
    yield file
    folder, start = Path(file).parent, Path(file).name.partition(".so")[0]
    for place in {folder, Path("/lib64"), Path("/lib")}:
        for link in place.glob(f"{start}*.so*") if place.is_dir() else ():
            if os.path.realpath(link) == os.path.realpath(file):
                yield str(link)


@lru_cache(maxsize=1)
def _packages() -> tuple[Path, ...]:
    """Return the folder or file of each package of `_MODULES`."""
    found = []
    for name in _MODULES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ComputeError(f"sandbox: the package {name} is not installed; install the project")
        file = Path(spec.origin).resolve()
        found.append(file.parent if file.name == "__init__.py" else file)
    return tuple(found)


def _roots() -> list[str]:
    """Return the folders that hold the packages."""
    return sorted({str(place.parent) for place in _packages()})
