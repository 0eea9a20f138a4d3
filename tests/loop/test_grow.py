"""Growth between rounds: what asks for it, what comes of it, and what does not."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from components.records.system import System
from components.task.gates import length_of
from loop.config import RunConfig
from loop.console import Console
from loop.context import live_tasks
from loop.growth.records import GrowthStep, Rule
from loop.ledger import Ledger, load_system
from loop.round import evolve
from loop.summary import RoundSummary
from tests.loop.configs import run_config
from tests.loop.killed_round import leftovers, run, summary
from tests.loop.played import LISTING

SMALL = (
    "tracking=none",
    "faults=none",
    "environment.services=[directory,helpdesk,mail,payments]",
    "task.count=4",
    "rollout.group_size=2",
    *(
        f"policy.error_rates.{name}=0"
        for name in ("skip_step", "stale_value", "wrong_argument", "malformed_call")
    ),
)
"""Four tasks, played by a policy that solves all of them."""


def config_of(runs_dir: Path, number: int, *overrides: str) -> RunConfig:
    return run_config(f"+round={number}", f"runs_dir='{runs_dir}'", *SMALL, *overrides)


def play(runs_dir: Path, number: int, *overrides: str) -> RoundSummary:
    """Run a round and return its summary."""
    with open(os.devnull, "w") as silence:
        result = evolve(config_of(runs_dir, number, *overrides), Console(silence))
    return RoundSummary.model_validate_json(result.summary_path.read_bytes())


def system_of(runs_dir: Path, number: int) -> System:
    """Return the system that a round leaves."""
    ledger = Ledger(runs_dir, "default")
    with ledger.read_round(number) as folder:
        return load_system(folder.store, folder.system_version())


def steps_of(found: RoundSummary, rule: Rule) -> list[GrowthStep]:
    return [step for step in found.grown.steps if step.rule is rule]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rounds 0 and 1."""
    runs_dir = tmp_path_factory.mktemp("one") / "runs"
    play(runs_dir, 1)
    return runs_dir


@pytest.fixture
def runs(one: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    return Path(shutil.copytree(one, tmp_path / "runs"))


def test_the_first_round_grows_nothing(one: Path) -> None:
    body = json.loads((one / "default" / "round-0001" / "summary.json").read_bytes())

    assert body["grown"]["steps"] == []
    assert body["grown"]["note"] == "there is no round before this one to look at"
    assert body["tasks"]["drafted"] == 0


def test_a_solved_shape_has_harder_tasks_composed_until_they_can_be_judged(runs: Path) -> None:
    only = ("grow.breadth=false", "grow.diversity=false")
    second = play(runs, 2, "grow.tasks=3", *only)
    third = play(runs, 3, "grow.tasks=3", "grow.max_tasks=20", *only)
    fourth = play(runs, 4, "grow.tasks=3", "grow.max_tasks=20", *only)

    assert [(item.subject, len(item.admitted)) for item in second.grown.steps] == [
        ("2 services, 4 calls", 2)  # beyond six live tasks there is no room
    ]
    assert "4 of 4 tasks of 2 services, 3 calls" in second.grown.steps[0].why
    assert [(item.subject, len(item.admitted)) for item in third.grown.steps] == [
        ("2 services, 4 calls", 2)
    ]
    assert [(item.subject, len(item.admitted)) for item in fourth.grown.steps] == [
        ("3 services, 4 calls", 3)
    ]
    assert second.growth.walk_length < third.growth.walk_length < fourth.growth.walk_length
    system = system_of(runs, 4)
    for step in (item for it in (second, third, fourth) for item in it.grown.steps):
        for name in step.admitted:
            assert length_of(system.tasks[name]) == 4
            probes = system.reference.certificates[name].probes
            assert probes
            assert all(probe.should_pass == probe.did_pass for probe in probes.values())
    page = (runs / "default" / "round-0002" / "report.html").read_text()
    assert "What grew, and why" in page
    assert second.grown.steps[0].why in page


def test_harder_tasks_leave_as_many_turns_as_the_first_ones_did(runs: Path) -> None:
    before = system_of(runs, 1).harness.limits.max_turns

    found = play(runs, 2, "grow.breadth=false", "grow.diversity=false")

    assert found.grown.limits == {"max_turns": before + 2}
    assert system_of(runs, 2).harness.limits.max_turns == before + 2


def test_a_set_limit_of_turns_ends_the_ladder(runs: Path) -> None:
    found = play(runs, 2, "harness.max_turns=8")

    assert found.grown.limits == {}
    assert found.growth.complexity == found.growth.diversity == 0


def test_nothing_grows_where_nothing_asks_for_it(runs: Path) -> None:
    before = system_of(runs, 1)

    found = play(runs, 2, "grow.mastery=0.6", "grow.most_share=0.99", "grow.diversity=false")

    assert found.grown.note == "no rule asks for anything"
    assert [item.is_mastered for item in found.grown.shapes] == [False]  # 4 of 4 is 0.51 at least
    assert found.tasks.drafted == 0
    assert found.system_before == found.system_after
    assert system_of(runs, 2) == before


def test_what_another_policy_solved_makes_no_task_harder(runs: Path) -> None:
    found = play(runs, 2, "policy.error_rates.skip_step=0.01")

    assert found.grown.shapes == ()
    assert found.growth.complexity == 0


def test_growth_can_be_switched_off(runs: Path) -> None:
    found = play(runs, 2, "grow.tasks=0")

    assert found.tasks.drafted == found.tasks.retired == 0
    assert found.grown.steps == ()


def test_where_requests_are_all_said_at_once_some_are_said_in_a_conversation(runs: Path) -> None:
    found = play(runs, 2, "grow.complexity=false", "grow.breadth=false", "grow.tasks=2")

    (step,) = steps_of(found, Rule.DIVERSITY)
    assert step.subject == "conversation: other than said at once"
    system = system_of(runs, 2)
    assert len(step.admitted) == 2
    assert all(system.tasks[name].user is not None for name in step.admitted)


def test_solved_tasks_make_room_only_where_the_cap_demands_it(runs: Path) -> None:
    roomy = play(Path(shutil.copytree(runs, runs.parent / "more")), 2, "grow.diversity=false")
    found = play(runs, 2, "grow.max_tasks=4", "grow.diversity=false")

    assert roomy.grown.retired == {}
    system, before = system_of(runs, 2), system_of(runs, 1)
    assert len(live_tasks(system)) == 4
    assert len(found.grown.retired) == found.growth.made_room == found.growth.complexity == 1
    (gone,) = found.grown.retired
    assert gone in before.tasks
    assert gone in system.tasks
    assert system.retired[gone].startswith("solved in round 1")
    left = {name for key in live_tasks(system) for name in system.tasks[key].world.services}
    assert left >= {name for task in before.tasks.values() for name in task.world.services}


def test_services_that_no_task_needs_get_tasks(tmp_path: Path) -> None:
    narrow = "task.domains=[directory,helpdesk]"
    play(tmp_path, 1, narrow)

    found = play(tmp_path, 2, "grow.complexity=false", "grow.diversity=false", "grow.tasks=2")

    steps = steps_of(found, Rule.BREADTH)
    assert {step.subject for step in steps} == {"mail", "payments"}
    assert all(step.why.startswith("0 of 4 tasks need") for step in steps)
    system = system_of(tmp_path, 2)
    for step in steps:
        (name,) = step.admitted
        assert step.subject in system.tasks[name].world.services


def test_a_source_that_is_named_between_rounds_comes_in_through_its_gates(runs: Path) -> None:
    listing, thin = runs.parent / "notes.json", runs.parent / "thin.json"
    listing.write_text(json.dumps(LISTING))
    thin.write_text(json.dumps({"tools": LISTING["tools"][:1]}))
    sources = ",".join(f"{{kind: tools_list, path: '{path}'}}" for path in (listing, thin))

    found = play(
        runs,
        2,
        "environment.services=[directory,helpdesk,mail,payments,crm]",
        f"environment.sources=[{sources}]",
        "grow.complexity=false",
        "grow.diversity=false",
        "grow.tasks=2",
    )
    again = play(
        runs,
        3,
        "environment.services=[directory,helpdesk,mail,payments,crm]",
        f"environment.sources=[{sources}]",
    )

    assert found.grown.services == ("crm", "notes")
    assert set(found.grown.refused) == {"thin"}
    assert found.services.admitted == 6
    assert {step.subject: len(step.admitted) for step in found.grown.steps} == {
        "crm": 1,
        "notes": 1,
    }
    assert again.grown.services == ()
    assert again.services.admitted == 6


def test_a_growth_that_is_killed_grows_the_same(runs: Path) -> None:
    grow = ("grow.tasks=4", "grow.max_tasks=6")
    whole = Path(shutil.copytree(runs, runs.parent / "whole"))
    play(whole, 2, *grow)

    for point in ("units.put.before:1", "units.put.after:3", "manifest.before:2"):
        killed = Path(shutil.copytree(runs, runs.parent / point.replace(":", "-")))
        config = config_of(killed, 2, *grow)
        assert run(config, SELVAGE_FAILPOINT=point) == -signal.SIGKILL
        assert run(config) == 0

        assert summary(killed, 2) == summary(whole, 2)
        assert system_of(killed, 2) == system_of(whole, 2)
        assert leftovers(killed) == []
