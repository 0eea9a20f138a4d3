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
from components.environment.author.records import Authored
from components.environment.sandbox.limits import SandboxLimits
from components.environment.sandbox.walls import Walls, walls_problem
from components.environment.sandbox.workers import Workers
from components.records.frozen import FrozenDict
from tests.environment.author.scripted import (
    GOOD,
    SEED,
    author_config,
    empty_blueprint,
    plays,
    python,
    serve,
    small_spec,
)
from tests.environment.author.test_author import FORGETFUL
from tests.model.served import Play

_PROBLEM = walls_problem(Walls.BUBBLEWRAP)
needs_walls = pytest.mark.skipif(bool(_PROBLEM), reason=f"no walls here: {_PROBLEM}")
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
from tests.model.served import Play
config = ModelAuthorConfig.model_validate_json(sys.argv[1])
author_service(small_spec(), empty_blueprint(), SEED, config, open_recording(config))
"""
