"""What every composed task promises: its services, its order, its revisit, its words."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise

import pytest

from components.environment.state import rows_of
from components.environment.world import build_world
from components.records.task import FromInstruction, FromObservation, RejectedDraft
from components.task.compose import ComposedTask, compose_task
from components.task.gates import length_of, steps_of
from components.task.provenance import at_path, observations_of
from components.task.reasons import Reason
from tests.task.builders import Settings, builtin_system, composed

SHAPES = [(2, 4, 4), (2, 6, 4), (3, 5, 6), (3, 7, 6)]


def tasks() -> Iterator[ComposedTask]:
    for k, length, num in SHAPES:
        yield from composed(k, length, num)


@pytest.mark.parametrize(("k", "length", "num"), SHAPES)
def test_a_walk_has_the_services_and_the_length_that_were_asked_for(
    k: int, length: int, num: int
) -> None:
    for item in composed(k, length, num):
        rest = {name for clause in item.task.clauses.values() for name in steps_of(clause)[1:]}
        names = sorted(set(item.task.gold) - rest)
        services = [item.task.gold[name].service for name in names]

        assert len(services) == length_of(item.task) == length
        assert sorted(set(services)) == list(item.task.world.services)
        assert len(set(services)) == k
        assert all(left != right for left, right in pairwise(services))


def test_every_step_after_the_first_needs_an_observation() -> None:
    for item in tasks():
        for name in sorted(item.task.gold)[1:]:
            sources = item.task.gold[name].arguments.values()

            assert any(observations_of(source) for source in sources), item.task.instruction


def test_the_value_read_again_is_new_and_used() -> None:
    for item in tasks():
        task, run = item.task, item.certificate.gold_run
        (again,) = [name for name, step in task.gold.items() if step.revisit_of]
        before, after = run[str(task.gold[again].revisit_of)], run[again]
        used = [
            place
            for source in (
                *(source for step in task.gold.values() for source in step.arguments.values()),
                *task.answer.values(),
            )
            for place in observations_of(source)
            if place.step == again
        ]
        values = [at_path(after.envelope["data"], place.path)[1] for place in used]

        assert before.service == after.service
        assert used
        assert not all(str(value) in str(before.envelope["data"]) for value in values)


def test_the_request_shows_its_literals_and_no_internal_id() -> None:
    for item in tasks():
        task = item.task
        world = build_world(builtin_system(), task.world)
        words = set(re.findall(r"\w+", task.instruction))
        for service, compiled in world.services.items():
            for table, entity in compiled.blueprint.entities.items():
                if entity.generated_key:
                    assert not words & set(rows_of(world.initial, service, table))
        for step in task.gold.values():
            for source in step.arguments.values():
                if isinstance(source, FromInstruction):
                    assert task.instruction[source.start : source.end].strip()


def test_the_request_hides_what_has_to_be_observed() -> None:
    for item in tasks():
        for step in item.task.gold.values():
            for source in step.arguments.values():
                if isinstance(source, FromObservation):
                    data = item.certificate.gold_run[source.step].envelope["data"]
                    _found, value = at_path(data, source.path)

                    assert str(value).lower() not in item.task.instruction.lower()


def test_the_same_seed_gives_the_same_task() -> None:
    settings = Settings(k=3, walk_length=5)

    first = [compose_task(builtin_system(), settings, seed) for seed in range(3)]
    second = [compose_task(builtin_system(), settings, seed) for seed in reversed(range(3))]

    assert first == list(reversed(second))


def test_distractors_are_as_many_as_there_are() -> None:
    drawn = compose_task(builtin_system(), Settings(k=3, walk_length=5, distractors=4), 1)

    assert isinstance(drawn, ComposedTask)
    assert drawn.task.world.distractors == ()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (Settings(k=4, walk_length=6), Reason.TOO_FEW_SERVICES),
        (Settings(k=2, walk_length=4, domains=("mail",)), Reason.TOO_FEW_SERVICES),
        (Settings(k=1, walk_length=4), Reason.NO_REACTION),
    ],
)
def test_a_dead_end_is_a_rejected_draft_with_a_reason(settings: Settings, reason: Reason) -> None:
    drawn = compose_task(builtin_system(), settings, 0)

    assert isinstance(drawn, RejectedDraft)
    assert drawn.reason == reason.value


def test_domains_limit_what_a_task_is_about() -> None:
    settings = Settings(k=2, walk_length=4, domains=("communication", "people"))
    drawn = [compose_task(builtin_system(), settings, seed) for seed in range(3)]

    found = [item.task.world.services for item in drawn if isinstance(item, ComposedTask)]
    assert found
    assert set(found) == {("directory", "mail")}


def test_drafts_do_not_depend_on_the_order_of_hashes() -> None:
    code = (
        "from tests.task.builders import Settings, builtin_system;"
        "from components.task.compose import compose_task;"
        "keys = Settings(k=2, walk_length=5);"
        "made = [compose_task(builtin_system(), keys, n) for n in range(4)];"
        "print([getattr(item, 'reason', None) or item.task.task_id for item in made])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
