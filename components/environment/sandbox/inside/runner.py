"""The program inside the walls: keeps a copy of a state and runs each call in a child of its own.

Started by path, with the standard library, pydantic and the kit alone. It never runs a service's
code itself: a child is forked for each call, under a filter that lets it start nothing, and killed
when it has answered or its time is over. So nothing of a call outlives it: no global, thread, file
or open descriptor, and no call reaches the wire to the host.

Wire: one JSON object a line comes in; out goes a JSON line and, where it says `size`, that many
bytes, which are passed on unread.
"""

from __future__ import annotations

import base64
import ctypes
import gc
import importlib.util
import json
import marshal
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from types import CodeType, ModuleType
from typing import Any

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2
_CHUNK = 1 << 16
ENTRY = "service"


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


class Runner:
    """One worker: its settings, the code that it was given and the state that it mirrors."""

    def __init__(self, settings: Mapping[str, Any], kit: Any, wire: tuple[int, int]) -> None:
        """Args: settings: from the host; kit: the module `kit`; wire: ends to read and write."""
        self._settings, self._kit, self._wire = settings, kit, wire
        self._code: dict[str, bytes] = {}
        self._tables: dict[str, dict[str, Any]] = {}
        steps = base64.b64decode(settings["call_filter"])
        self._steps = ctypes.create_string_buffer(steps, len(steps))
        self._program = _Program(len(steps) // 8, ctypes.addressof(self._steps))
        self._libc = ctypes.CDLL(None, use_errno=True)

    def handle(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Return the head and the body of the answer to one request."""
        if request["do"] == "load":
            return self._load(request["sources"])
        self._update(request["tables"], request["is_whole"])
        return self._child(lambda: self._perform(request))

    def _load(self, sources: Mapping[str, str]) -> tuple[dict[str, Any], bytes]:
        self._code = {}
        self._tables = {}
        for name, source in sorted(sources.items()):
            # Even compiling is the child's: a hostile source can crash or stall the compiler.
            head, body = self._child(partial(_compiled, name, source))
            if head["came"] != "answer" or body[:1] != b"\0":
                return head, body
            self._code[name.removesuffix(".py")] = body[1:]
        return self._child(lambda: self._answer(self._kit.describe))

    def _perform(self, request: Mapping[str, Any]) -> bytes:
        return self._answer(
            lambda _module: self._kit.perform(
                request["tool"], request["arguments"], request["now"], self._tables
            )
        )

    def _answer(self, act: Callable[[ModuleType], Any]) -> bytes:
        """In a child: execute the service's modules, act, and return what came as JSON."""
        try:
            found = act(self._module())
        except BaseException as error:  # noqa: BLE001 (a call may raise anything at all)
            found = {"fault": _fault(error)}
        try:
            return json.dumps(found, allow_nan=False).encode("utf-8", "surrogatepass")
        except BaseException as error:  # noqa: BLE001
            return json.dumps({"fault": _fault(error)}).encode()

    def _module(self) -> ModuleType:
        sys.meta_path.insert(0, _Modules({n: marshal.loads(c) for n, c in self._code.items()}))
        return importlib.import_module(ENTRY)

    def _update(self, tables: Mapping[str, Any], is_whole: bool) -> None:
        if is_whole:
            self._tables = {}
        for name, change in tables.items():
            rows = self._tables.setdefault(name, {})
            rows.update(change["put"])
            for row_id in change["drop"]:
                rows.pop(row_id, None)

    def _child(self, act: Callable[[], bytes]) -> tuple[dict[str, Any], bytes]:
        """Run `act` in a child and return what it wrote until it ended or was ended."""
        reads, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(reads)
                for end in self._wire:
                    os.close(end)
                self._confine()
                _write_all(writes, act())
            finally:
                os._exit(0)
        os.close(writes)
        came, body = "answer", b""
        try:
            came, body = self._collect(reads)
        finally:
            os.close(reads)
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            _empty(self._settings["tmp"])
        if came == "answer" and not body:
            return {"came": "died", "why": _ending(status)}, b""
        return {"came": came, "size": len(body)}, body

    def _collect(self, reads: int) -> tuple[str, bytes]:
        parts: list[bytes] = []
        size = 0
        end = time.monotonic() + self._settings["deadline_seconds"]
        poll = select.poll()
        poll.register(reads, select.POLLIN | select.POLLHUP)
        while True:
            left = end - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                return "late", b""
            part = os.read(reads, _CHUNK)
            if not part:
                return "answer", b"".join(parts)
            parts.append(part)
            size += len(part)
            if size > self._settings["answer_bytes"]:
                return "large", b""

    def _confine(self) -> None:
        """In a child: no more than the call's share of time, and nothing that could outlive it."""
        seconds = int(self._settings["deadline_seconds"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if self._libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or self._libc.prctl(
            _PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(self._program), 0, 0
        ):
            raise OSError(ctypes.get_errno(), "the filter of system calls was refused")


class _Modules:
    """Finder and loader of a service's own modules, from compiled code."""

    def __init__(self, code: Mapping[str, CodeType]) -> None:
        self._code = code

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        if name in self._code:
            return importlib.util.spec_from_loader(name, self)  # type: ignore[arg-type]
        return None

    def create_module(self, _spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code[module.__name__], module.__dict__)


def _compiled(name: str, source: str) -> bytes:
    try:
        return b"\0" + marshal.dumps(compile(source, name, "exec", dont_inherit=True))
    except BaseException as error:  # noqa: BLE001
        return json.dumps({"fault": _fault(error)}).encode()


def _fault(error: BaseException) -> dict[str, Any]:
    """Say what was raised and where in the service's own files; without addresses of memory."""
    places = [
        {"file": frame.filename, "line": frame.lineno, "in": frame.name}
        for frame in traceback.extract_tb(error.__traceback__)
        if "/" not in frame.filename and not frame.filename.startswith("<")
    ]
    try:
        problem = str(error)[:2000]
    except BaseException:  # noqa: BLE001 (an error's own text may be code)
        problem = ""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    return {"kind": type(error).__name__, "problem": problem, "places": places[-5:], "line": line}


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            return f"it was ended by {signal.Signals(number).name}"
    return "it ended without an answer"


def _write_all(end: int, body: bytes) -> None:
    view = memoryview(body)
    while view:
        view = view[os.write(end, view) :]


def _empty(folder: str | None) -> None:
    """Take away whatever a call left in its folder, whatever it may do to stay."""
    folders = [] if folder is None else [folder]
    for place in folders:  # it grows while it is read: inner folders come after outer ones
        os.chmod(place, 0o700)
        with os.scandir(place) as entries:
            for entry in list(entries):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    os.unlink(entry.path)
    for place in reversed(folders[1:]):
        os.rmdir(place)


def _lines(end: int) -> Any:
    with os.fdopen(end, "rb", buffering=_CHUNK) as wire:
        yield from wire


def main(kit_path: str, *site: str) -> None:
    """Serve requests until the host closes the wire."""
    wire = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDWR)
    for end in (0, 1):
        os.dup2(null, end)
    sys.path.extend(site)
    lines = _lines(wire[0])
    settings = json.loads(next(lines))
    spec = importlib.util.spec_from_file_location("service_kit", kit_path)
    assert spec is not None
    assert spec.loader is not None
    kit = importlib.util.module_from_spec(spec)
    sys.modules["service_kit"] = kit
    spec.loader.exec_module(kit)
    kit.warm_up()
    for name, most in settings["limits"].items():
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (value, value))
    runner = Runner(settings, kit, wire)
    os.dup2(null, 2)  # until here it tells the host why a worker does not start
    os.close(null)
    _write_all(wire[1], json.dumps({"came": "ready"}).encode() + b"\n")
    gc.collect()
    gc.freeze()
    for line in lines:
        head, body = runner.handle(json.loads(line))
        _write_all(wire[1], json.dumps(head).encode() + b"\n" + body)


if __name__ == "__main__":
    main(*sys.argv[1:])
