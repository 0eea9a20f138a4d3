"""Every exchange is kept: a run replays without an endpoint, and a killed one goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.environment.author.author import author_service, open_recording
from components.environment.author.config import ModelAuthorConfig
from components.environment.author.recording import Recording
from components.environment.author.records import Authored, Message, Request, Stage, Tried
from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls, walls_problem
from components.environment.sandbox.workers import Workers
from components.errors import ConfigError
from components.records.frozen import FrozenDict
from tests.environment.author.scripted import (
    GOOD,
    SEED,
    Play,
    author_config,
    empty_blueprint,
    plays,
    python,
    serve,
    small_spec,
)
from tests.environment.author.test_author import FORGETFUL

_PROBLEM = walls_problem(Walls.BUBBLEWRAP)
needs_walls = pytest.mark.skipif(bool(_PROBLEM), reason=f"no walls here: {_PROBLEM}")
REQUEST = Request(
    stage=Stage.WRITE, model="m", temperature=0.0, seed=1,
    messages=(Message(role="system", content="s"), Message(role="user", content="p")),
)  # fmt: skip
SCRIPT: dict[str, list[Play] | Play] = {
    "write": python(FORGETFUL),
    "revise": [Play(status=500), python(GOOD)],
}


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    found = Workers(Walls.BUBBLEWRAP, SandboxLimits(deadline_seconds=20.0), max_workers=1)
    yield found
    found.close()


def write(config: ModelAuthorConfig, workers: Workers) -> Authored:
    authored = author_service(
        small_spec(), empty_blueprint(), SEED, config, open_recording(config),
        workers=workers, sleep=lambda _seconds: None,
    )  # fmt: skip
    timeless = {
        name: item.model_copy(update={"seconds": 0.0}) for name, item in authored.stages.items()
    }
    return authored.model_copy(update={"stages": FrozenDict(timeless)})


@needs_walls
def test_a_run_replays_without_an_endpoint(workers: Workers, tmp_path: Path) -> None:
    path = tmp_path / "runs" / "exchanges.jsonl"
    with serve(plays(**SCRIPT)) as served:
        config = author_config(served.base_url, record=str(path), revisions=1, max_retries=1)
        live = write(config, workers)
    body = path.read_bytes()

    replayed = write(author_config(replay=str(path), revisions=1, max_retries=1), workers)

    assert live.code is not None
    assert "need(args" in live.code.sources["service.py"]
    assert replayed == live
    assert path.read_bytes() == body
    assert len(body.splitlines()) == 2 * len(served.requests) == 12


@needs_walls
def test_a_killed_run_goes_on_where_it_stopped(workers: Workers, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    with serve(plays(**SCRIPT)) as served:
        config = author_config(served.base_url, record=str(whole), revisions=1, max_retries=1)
        uninterrupted = write(config, workers)
    hanging: dict[str, list[Play] | Play] = {**SCRIPT, "revise": Play(hang_seconds=60)}
    with serve(plays(**hanging)) as served:
        config = author_config(
            served.base_url, record=str(cut), revisions=1, max_retries=1, timeout_seconds=60.0
        )
        child = subprocess.Popen(
            [sys.executable, "-c", _RUN, config.model_dump_json()], start_new_session=True
        )
        end = time.perf_counter() + 120
        while "revise" not in served.stages and time.perf_counter() < end:
            time.sleep(0.02)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    with open(cut, "ab") as file:
        file.write(b'{"schema_version": 1, "key": "torn')

    with serve(plays(**SCRIPT)) as served:
        config = author_config(served.base_url, record=str(cut), revisions=1, max_retries=1)
        resumed = write(config, workers)

    assert served.stages == ["revise", "revise", "simplify"]
    of_both = {"code", "seed", "reason", "versions", "blueprint"}
    assert resumed.model_dump(include=of_both) == uninterrupted.model_dump(include=of_both)
    lost = resumed.stages["revise"].requests - uninterrupted.stages["revise"].requests
    assert lost == 1  # it was under way, and may have been paid for
    assert write(author_config(replay=str(cut), revisions=1, max_retries=1), workers) == resumed


_RUN = """
import sys
from components.environment.author.config import ModelAuthorConfig
from components.environment.author.author import author_service, open_recording
from tests.environment.author.scripted import SEED, empty_blueprint, small_spec
config = ModelAuthorConfig.model_validate_json(sys.argv[1])
author_service(small_spec(), empty_blueprint(), SEED, config, open_recording(config))
"""


def test_a_replay_that_lacks_an_answer_names_the_key(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.touch()
    recording = Recording(path, is_replay=True)

    with pytest.raises(ConfigError, match=r"environment.author.replay: .* of stage write"):
        recording.check_live(REQUEST)


def test_a_file_of_something_else_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"name": "a spec"}\n')

    with pytest.raises(ConfigError, match=r"line 1 of .* is no exchange"):
        Recording(path)

    assert path.read_text() == '{"name": "a spec"}\n'


def test_a_missing_replay_is_a_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"environment.author.replay: .* No such file"):
        Recording(tmp_path / "none.jsonl", is_replay=True)


def test_failed_requests_of_a_stopped_run_are_asked_again_but_stay_counted(tmp_path: Path) -> None:
    path = tmp_path / "exchanges.jsonl"
    first = Recording(path)
    first.ask(REQUEST, 300)
    first.answer(REQUEST, Tried(problem="no answer within 5 s", may_retry=True))
    first.ask(REQUEST, 200)

    second = Recording(path)

    assert second.take(REQUEST) is None
    assert [(item.max_tokens, item.tried.may_cost) for item in second.failed] == [
        (300, True), (200, True),
    ]  # fmt: skip


def test_the_key_is_never_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from components.environment.author.endpoint import open_door

    monkeypatch.setenv("SELVAGE_TEST_KEY", "sk-very-secret")
    path = tmp_path / "exchanges.jsonl"
    with serve(plays(write=Play(status=401, body=b"sk-very-secret is wrong"))) as served:
        tried = open_door(author_config(served.base_url))(REQUEST, 256)
    recording = Recording(path)
    recording.ask(REQUEST, 256)
    recording.answer(REQUEST, tried)

    assert served.keys == ["Bearer sk-very-secret"]
    assert b"secret" not in path.read_bytes()
