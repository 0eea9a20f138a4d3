"""No way out of the sandbox, one test a kind of escape; each call ends in time.

A probe only looks whether a door opens: should a wall ever be missing, nothing here does harm.
Every probe hands back what it could get hold of. A secret lies in this process's environment, in
a file and in the home directory; servers listen here for whoever gets through.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from components.environment.sandbox.walls import INSIDE, Walls, walls_problem
from components.environment.sandbox.worker import Came, Said
from tests.environment.sandbox.probes import Bench, source

_PROBLEM = walls_problem(Walls.BUBBLEWRAP)
pytestmark = pytest.mark.skipif(bool(_PROBLEM), reason=f"no walls here: {_PROBLEM}")

SECRET = "open_sesame_51"


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SELVAGE_TEST_SECRET", SECRET)
        found = Bench()
        yield found
        found.close()


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text(SECRET)
    path.chmod(0o644)
    return path


def data(said: Said) -> object:
    """What the probe returned; fails where it did not return."""
    assert said.came is Came.ANSWER, said
    found = orjson.loads(said.body)
    assert "data" in found, found
    return found["data"]


def fault(said: Said) -> str:
    """The kind of exception that ended the probe."""
    assert said.came is Came.ANSWER, said
    return str(orjson.loads(said.body)["fault"]["kind"])


TRY = """
    def tried(act):
        try:
            return act()
        except BaseException as error:
            return "denied: " + type(error).__name__
"""


def test_dunder_walk_finds_no_program_to_start_and_no_secret(bench: Bench) -> None:
    body = """
        found = []
        for kind in ().__class__.__base__.__subclasses__():
            names = getattr(getattr(kind, "__init__", None), "__globals__", {})
            if "environ" in names:
                found.append(dict(names["environ"]))
            if kind.__name__ == "Popen":
                found.append(tried(lambda: kind(["/bin/sh", "-c", "id"])))
        import subprocess
        found.append(tried(lambda: subprocess.run(["/bin/sh", "-c", "env"])))
        found.append(tried(lambda: os.system("env > out")))
        return str(found)
    """

    [said] = bench.run(source(body, TRY))

    assert SECRET not in str(data(said))
    assert str(data(said)).count("denied") >= 1
    assert "uid=" not in str(data(said))


def test_format_walk_reads_no_secret(bench: Bench) -> None:
    body = """
        import json, logging
        forms = ("{0.__init__.__globals__}", "{0.__class__.__mro__}", "{0.__module__}")
        things = (tool, state, logging.Logger, json.JSONEncoder, threading.Thread)
        return [form.format(thing) for thing in things for form in forms
                if not tried(lambda: form.format(thing)).startswith("denied")]
    """

    [said] = bench.run(source(body, TRY))

    assert len(str(data(said))) > 1000
    assert SECRET not in str(data(said))


def test_ctypes_opens_no_file_and_makes_no_call_that_is_denied(
    bench: Bench, secret_file: Path
) -> None:
    body = f"""
        libc = ctypes.CDLL(None, use_errno=True)
        argv = (ctypes.c_char_p * 2)(sys.executable.encode(), None)
        def error(name, *args):
            ctypes.set_errno(0)
            found = getattr(libc, name)(*args)
            if name == "fork" and found == 0:
                os._exit(0)
            return ctypes.get_errno() if found == -1 else "done"
        return [
            error("open", {str(secret_file)!r}.encode(), 0),
            error("open", b"/proc/1/mem", 2),
            error("execve", sys.executable.encode(), argv, None),
            error("fork"),
            error("unshare", 0x10000000),
            error("mount", b"none", b"/none", b"tmpfs", 0, None),
            error("chroot", b"/none"),
            error("ptrace", 0, 0, None, None),
            error("memfd_create", b"x", 0),
            error("shmget", 0, 4096, 0o600),
        ]
    """

    [said] = bench.run(source(body))

    assert data(said) == [errno.ENOENT] * 2 + [errno.EPERM] * 8


def test_another_calling_convention_gets_past_no_filter(bench: Bench) -> None:
    body = """
        libc = ctypes.CDLL(None, use_errno=True)
        return libc.syscall(0x40000000 + 41, 2, 1, 0)
    """

    [said] = bench.run(source(body))

    assert said.came is Came.DIED
    assert "SIGSYS" in said.why


def test_frames_lead_to_no_wire_and_no_later_call(bench: Bench) -> None:
    body = """
        frame, seen = sys._getframe(), []
        while frame is not None:
            seen.append(frame.f_code.co_name)
            for value in list(frame.f_locals.values()):
                if hasattr(value, "_wire"):
                    for end in value._wire:
                        seen.append(tried(lambda: os.write(end, b'{"came": "answer"}\\n')))
                    value._tables["forged"] = {"a": {}}
                    value._code.clear()
            frame = frame.f_back
        return seen
    """

    first, second = bench.run(source(body, TRY), times=2)

    assert first == second
    assert "handle" in str(data(first))
    found = data(first)
    assert isinstance(found, list)
    assert "denied: OSError" in found
    assert all(isinstance(item, str) for item in found)  # a number would be bytes on the wire


def test_import_hooks_and_patches_do_not_outlive_their_call(bench: Bench) -> None:
    body = """
        import json, service_kit
        before = (len(sys.meta_path), json.dumps.__name__, service_kit.perform.__name__, STATE)
        class Hook:
            def find_spec(self, *_args):
                raise SystemExit
        sys.meta_path.insert(0, Hook())
        json.dumps = lambda *_args, **_kwargs: '{"data": "forged", "changes": []}'
        service_kit.perform = lambda *_args: {"data": "forged", "changes": []}
        os._exit = lambda _code: None
        STATE.append("touched")
        return before
    """

    first, second = bench.run(source(body, "STATE = []\n"), times=2)

    assert first.body == b'{"data": "forged", "changes": []}'  # its own answer is its own affair
    assert second == first


def test_globals_do_not_carry_over_from_call_to_call(bench: Bench) -> None:
    body = """
        COUNT.append(1)
        sys.modules["service_kit"].SPOT = getattr(sys.modules["service_kit"], "SPOT", 0) + 1
        return [len(COUNT), sys.modules["service_kit"].SPOT]
    """

    said = bench.run(source(body, "COUNT = []\n"), times=3)

    assert [data(item) for item in said] == [[1, 1]] * 3


def test_proc_is_not_there(bench: Bench) -> None:
    body = """
        names = ("/proc/self/environ", "/proc/1/environ", "/proc/self/maps", "/dev/mem",
                 "/proc/1/root/etc/passwd", "/proc/self/fd/0", "/proc/sys/kernel/hostname",
                 "/sys/class/net")
        found = [tried(lambda: open(name, "rb").read()[:99]) for name in names]
        return found + [os.path.isdir("/proc")]
    """

    [said] = bench.run(source(body, TRY))

    assert data(said) == ["denied: FileNotFoundError"] * 8 + [False]


def test_links_lead_to_nothing_outside(bench: Bench, secret_file: Path) -> None:
    body = f"""
        found = []
        for place, target in (("a", {str(secret_file)!r}), ("b", "/"), ("c", "../../..")):
            os.symlink(target, place)
        found.append(tried(lambda: open("a").read()))
        found.append(tried(lambda: open("b{secret_file}").read()))
        found.append(tried(lambda: open("c{secret_file}").read()))
        found.append(tried(lambda: os.link({str(secret_file)!r}, "d")))
        found.append(sorted(os.listdir("b")))
        return found
    """

    [said] = bench.run(source(body, TRY))

    found = data(said)
    assert isinstance(found, list)
    assert found[:4] == ["denied: FileNotFoundError"] * 4
    assert not {"work", "home", "proc", "sys", "boot", "srv", "var"} & set(found[4])


def test_environment_holds_only_what_the_sandbox_sets(bench: Bench) -> None:
    [said] = bench.run(source("return dict(os.environ)"))

    found = data(said)
    assert isinstance(found, dict)
    assert set(found) <= {
        "HOME", "LANG", "LC_CTYPE", "PWD", "PYDANTIC_DISABLE_PLUGINS", "PYTHONHASHSEED", "TZ",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("family", "kind"),
    [("AF_INET", "SOCK_STREAM"), ("AF_INET", "SOCK_DGRAM"), ("AF_INET6", "SOCK_STREAM")],
)
def test_no_internet_socket_is_made(bench: Bench, family: str, kind: str) -> None:
    with socket.socket(socket.AF_INET, getattr(socket, kind)) as here:
        here.bind(("127.0.0.1", 0))
        here.settimeout(0.05)
        if kind == "SOCK_STREAM":
            here.listen()
        body = f"""
            def send():
                there = socket.socket(socket.{family}, socket.{kind})
                there.connect(("127.0.0.1", {here.getsockname()[1]}))
                there.send(b"out")
                return "sent"
            return tried(send)
        """

        [said] = bench.run(source(body, TRY))

        assert data(said) == "denied: PermissionError"
        with pytest.raises(TimeoutError):
            here.accept() if kind == "SOCK_STREAM" else here.recv(9)


@pytest.mark.parametrize("is_abstract", [False, True])
def test_no_unix_socket_is_reached(bench: Bench, tmp_path: Path, is_abstract: bool) -> None:
    address = f"\0selvage-test-{os.getpid()}" if is_abstract else str(tmp_path / "door")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as here:
        here.bind(address)
        here.listen()
        here.settimeout(0.05)
        body = f"""
            def send():
                there = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                there.connect({address!r})
                return "sent"
            return [tried(send), tried(socket.socketpair)]
        """

        [said] = bench.run(source(body, TRY))

        assert data(said) == ["denied: PermissionError"] * 2
        with pytest.raises(TimeoutError):
            here.accept()


def test_source_tree_and_root_cannot_be_written(bench: Bench, tmp_path: Path) -> None:
    body = f"""
        writing, making = os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_CREAT | os.O_EXCL
        there = ("/sandbox/own/kit.py", "/sandbox/site/pydantic/main.py", "/etc/passwd",
                 os.__file__, sys.executable, {str(INSIDE / "kit.py")!r})
        new = ("/sandbox/own/new.py", "/sandbox/new", {str(tmp_path / "new")!r},
               os.path.dirname(os.__file__) + "/new_module.py")
        return [tried(lambda: os.open(place, writing)) for place in there] + [
            tried(lambda: os.open(place, making)) for place in new] + [
            tried(lambda: os.chmod("/sandbox/own/kit.py", 0o777)),
            tried(lambda: os.rename("/sandbox/own", "/sandbox/other"))]
    """

    [said] = bench.run(source(body, TRY))

    found = data(said)
    assert isinstance(found, list)
    assert len(found) == 12
    assert all(str(item).startswith("denied: ") for item in found)


def test_passwords_home_and_project_cannot_be_read(bench: Bench, secret_file: Path) -> None:
    home = Path.home() / ".bashrc"
    body = f"""
        places = ("/etc/passwd", "/etc/shadow", "/etc/hosts", {str(home)!r}, {str(secret_file)!r},
                  {str(Path(__file__).resolve())!r}, {str(INSIDE.parent / "walls.py")!r})
        return [tried(lambda: open(place).read()[:99]) for place in places]
    """

    [said] = bench.run(source(body, TRY))

    assert data(said) == ["denied: FileNotFoundError"] * 7


def test_files_that_a_call_leaves_are_gone_in_the_next(bench: Bench) -> None:
    body = """
        found = sorted(os.listdir("."))
        os.makedirs("locked/inner")
        open("locked/inner/note", "w").write("remember")
        open(".hidden", "w").write("me")
        os.symlink("/", "root")
        os.mkfifo("pipe")
        os.chmod("locked/inner", 0)
        os.chmod("locked", 0)
        return found
    """

    said = bench.run(source(body), times=3)

    assert [data(item) for item in said] == [[]] * 3


def test_signals_reach_no_other_process(bench: Bench) -> None:
    body = """
        return [tried(lambda: os.kill(pid, 0)) for pid in (os.getppid(), 1, -1, 0)]
    """

    first, second = bench.run(source(body, TRY), times=2)

    assert data(first) == data(second) == ["denied: PermissionError"] * 4


def test_limits_cannot_be_raised(bench: Bench) -> None:
    body = """
        import resource
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        names = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE")
        return [tried(lambda: resource.setrlimit(getattr(resource, n), unlimited)) for n in names]
    """

    [said] = bench.run(source(body, TRY))

    found = data(said)
    assert isinstance(found, list)
    assert all(str(item).startswith("denied: ") for item in found)
