"""The seam between stages and whoever works, without Ray: order, what is begun, losses, answers."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections import deque
from collections.abc import Iterator
from contextlib import closing

import pytest

from components.errors import ComputeError, ConfigError, PolicyError
from components.records.base import Record, to_json
from components.records.frozen import canonical_json
from loop.composing import COMPOSE, Draft, Ground
from loop.compute.config import LocalComputeConfig, RayComputeConfig
from loop.compute.in_process import InProcess
from loop.compute.jobs import JOBS, find_job
from loop.compute.outcomes import Done, Lost
from loop.compute.pool import MOST_LOSSES, Pool, open_pool
from loop.compute.worker import Worker, as_bytes, code_version, read_answer
from tests.loop.configs import bare_system, run_config

UNITS = [(f"u{number}", Draft(seed=number)) for number in range(6)]


class Crew:
    """A place to work whose order of answers and losses is written down beforehand."""

    def __init__(self, capacity: int, script: list[str]) -> None:
        self.capacity, self.script = capacity, deque(script)
        self.under_way: dict[int, int] = {}
        self.begun: list[int] = []

    def begin(self, _job: object, _shared: Record, _concurrency: int) -> int:
        return self.capacity

    def start(self, ticket: int, unit: Record) -> None:
        assert isinstance(unit, Draft)
        self.under_way[ticket] = unit.seed
        self.begun.append(unit.seed)

    def wait(self) -> Done | Lost:
        word = self.script.popleft() if self.script else "oldest"
        if word == "lost":
            tickets = tuple(self.under_way)
            self.under_way.clear()
            return Lost(tickets, "its machine is gone")
        ticket = (max if word == "newest" else min)(self.under_way)
        return Done(ticket, self.under_way.pop(ticket))

    def stop(self) -> None:
        self.under_way.clear()

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def ground() -> Ground:
    config = run_config("environment.services=[directory,mail]", "task.walk_length=4")
    return Ground(system=bare_system(config), settings=config.task)


def crew_pool(crew: Crew, told: list[str] | None = None) -> Pool:
    return Pool(lambda: crew, (told if told is not None else []).append)


def test_map_keeps_the_order_of_the_units_whatever_ends_first(ground: Ground) -> None:
    crew = Crew(3, ["newest", "newest", "newest", "newest"])

    results = list(crew_pool(crew).map(COMPOSE, ground, UNITS))

    assert results == [("u0", 0), ("u1", 1), ("u2", 2), ("u3", 3), ("u4", 4), ("u5", 5)]


def test_as_done_tells_each_as_it_ends(ground: Ground) -> None:
    crew = Crew(3, ["newest"])

    results = list(crew_pool(crew).as_done(COMPOSE, ground, UNITS))

    assert [key for key, _ in results] == ["u2", "u0", "u1", "u3", "u4", "u5"]


def test_a_slow_first_unit_holds_up_a_bounded_number_of_others(ground: Ground) -> None:
    crew = Crew(2, ["newest"] * 50)
    endless = ((f"u{number}", Draft(seed=number)) for number in range(10**9))

    with closing(crew_pool(crew).map(COMPOSE, ground, endless)) as results:
        first = next(results)

    assert first == ("u0", 0)
    assert crew.begun == [0, 1, 2, 3]
    assert crew.under_way == {}, "who has enough gives the others up"


def test_no_unit_starts_nothing(ground: Ground) -> None:
    def refuse() -> Crew:
        raise AssertionError("nothing was to be started")

    assert list(Pool(refuse, print).map(COMPOSE, ground, [])) == []


def test_units_of_a_lost_worker_run_again_and_no_others(ground: Ground) -> None:
    crew, told = Crew(2, ["oldest", "lost"]), list[str]()
    pool = crew_pool(crew, told)

    results = list(pool.map(COMPOSE, ground, UNITS))

    assert [body for _, body in results] == [0, 1, 2, 3, 4, 5]
    assert crew.begun == [0, 1, 2, 1, 2, 3, 4, 5]
    assert pool.started == 8
    assert told == [
        "a worker was lost (its machine is gone); what it worked on runs again (compose: 2)"
    ]


def test_a_unit_that_is_lost_again_and_again_is_one_clear_error(ground: Ground) -> None:
    crew = Crew(1, ["oldest", *["lost"] * MOST_LOSSES])
    results = crew_pool(crew).map(COMPOSE, ground, UNITS)

    assert next(results) == ("u0", 0)
    with pytest.raises(ComputeError, match=r"compose u1 was under way on 3 workers that were lost"):
        next(results)


def test_in_process_a_unit_that_computes_is_not_begun_before_its_turn(ground: Ground) -> None:
    asked = []

    def units() -> Iterator[tuple[str, Draft]]:
        for key, unit in UNITS:
            asked.append(key)
            yield key, unit

    pool = Pool(InProcess, print)
    with closing(pool.as_done(COMPOSE, ground, units(), concurrency=4)) as results:
        key, body = next(results)

    assert key == "u0"
    assert set(body) in ({"rejected"}, {"task", "rubric", "certificate"})
    assert len(asked) <= 5


def test_a_worker_answers_with_the_bytes_of_what_the_job_makes(ground: Ground) -> None:
    fetched = []

    async def shared() -> bytes:
        fetched.append(1)
        return as_bytes(ground)

    async def work() -> list[bytes]:
        worker = Worker()
        answers = [
            await worker.run("compose", "compose-0", shared, as_bytes(unit))
            for _, unit in UNITS[:2]
        ]
        await worker.close()
        return answers

    there = [read_answer(answer, "compose") for answer in asyncio.run(work())]
    here = [body for _, body in Pool(InProcess, print).map(COMPOSE, ground, UNITS[:2])]

    assert [canonical_json(body) for body in there] == [canonical_json(body) for body in here]
    assert fetched == [1], "what is shared is fetched once"


async def test_errors_cross_as_text_and_keep_their_meaning() -> None:
    async def absent() -> bytes:
        raise PolicyError("there is no model at /nowhere; set policy.model")

    async def broken() -> bytes:
        return b"{}"

    told = await Worker().run("compose", "compose-0", absent, b"{}")
    bug = await Worker().run("compose", "compose-0", broken, b"{}")

    with pytest.raises(PolicyError, match="no model at /nowhere"):
        read_answer(told, "compose")
    with pytest.raises(RuntimeError, match=r"(?s)'compose' failed in a worker.*Traceback"):
        read_answer(bug, "compose")


@pytest.mark.parametrize("name", sorted(JOBS))
def test_every_job_is_found_under_its_name(name: str) -> None:
    assert find_job(name).name == name


def test_what_jobs_share_survives_the_way_to_a_worker(ground: Ground) -> None:
    again = Ground.model_validate(json.loads(as_bytes(ground)))

    assert again == ground
    assert to_json(again) == to_json(ground)


def test_the_version_of_the_program_is_one_hash() -> None:
    assert code_version() == code_version()
    assert len(code_version()) == 64


def test_missing_ray_is_one_line_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "ray" else real(name)
    )
    config = run_config("compute=ray").compute

    with pytest.raises(ConfigError, match="pip install 'ray"), open_pool(config, print):
        pass


def test_choices_and_defaults() -> None:
    assert isinstance(run_config().compute, LocalComputeConfig)
    there = run_config("compute=ray", "compute.address=10.0.0.1:6379").compute
    assert isinstance(there, RayComputeConfig)
    assert (there.num_workers, there.object_store_mb, there.gpus_per_worker) == (None, 200, 0)
