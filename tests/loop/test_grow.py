"""Growth between rounds: what asks for it, what comes of it, and what does not.

Most tests run the first stages of round 2 alone, on a copy of the same first round.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from attribution.records import Attribution, Decision, Verdict
from components.records.base import hash_record, to_json
from components.records.system import System
from loop.compute.pool import open_pool
from loop.config import RunConfig
from loop.console import Console
from loop.context import RoundContext, live_tasks
from loop.grow import grow, growth_in
from loop.growth.records import GrowthRound, Rule
from loop.growth.services import take_in
from loop.growth.shapes import shape_of
from loop.ledger import Ledger, load_system
from loop.round import evolve
from loop.summary import RoundSummary
from loop.units import UnitLog
from tests.loop.configs import run_config
from tests.loop.played import LISTING

SLIPS = ("skip_step", "stale_value", "wrong_argument", "malformed_call")
SMALL = (
    "tracking=none",
    "faults=none",
    "environment.services=[directory,helpdesk,mail,payments]",
    "task.count=4",
    "rollout.group_size=1",
    "attribution.audit_share=0",
    *(f"policy.error_rates.{name}=0" for name in SLIPS),
)
"""Four tasks, played by a policy that solves all of them."""
HARDER = ("grow.breadth=false", "grow.diversity=false")
WIDER = ("grow.complexity=false", "grow.diversity=false")
OTHER = ("grow.complexity=false", "grow.breadth=false")


@dataclass(frozen=True)
class Grown:
    """A round as far as its stage `grow`."""

    start: System
    system: System
    record: GrowthRound
    drafted: int
    num_drafts: int
    """Drafts that are recorded."""

    def added(self, rule: Rule) -> dict[str, tuple[str, ...]]:
        """Return what a rule asked for, with the tasks that it got."""
        return {it.subject: it.admitted for it in self.record.steps if it.rule is rule}


def config_of(runs_dir: Path, number: int, *overrides: str) -> RunConfig:
    return run_config(f"+round={number}", f"runs_dir='{runs_dir}'", *SMALL, *overrides)


def play(runs_dir: Path, number: int, *overrides: str) -> RoundSummary:
    """Run a whole round and return its summary."""
    with open(os.devnull, "w") as silence:
        result = evolve(config_of(runs_dir, number, *overrides), Console(silence))
    return RoundSummary.model_validate_json(result.summary_path.read_bytes())


def grown(runs_dir: Path, *overrides: str) -> Grown:
    """Run the first stages of round 2."""
    config = config_of(runs_dir, 2, *overrides)
    with (
        open(os.devnull, "w") as silence,
        Ledger(runs_dir, config.run).open_round(2, config) as folder,
        open_pool(config.compute, lambda _line: None) as pool,
    ):
        context = RoundContext(2, config, folder, Console(silence), pool)
        start = load_system(folder.store, folder.system_version())
        system = grow(context, take_in(context, start))
        result = folder.stage_result("grow")
        num_drafts = len(folder.units.keys("grow"))
        return Grown(start, system, growth_in(result), result["drafted"], num_drafts)


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

    assert body["grown"]["note"] == "there is no round before this one to look at"
    assert body["grown"]["steps"] == []
    assert body["tasks"]["drafted"] == 0
    assert body["system_before"] == body["system_after"]


def test_rounds_of_a_policy_that_solves_everything_have_harder_tasks_each_time(runs: Path) -> None:
    first = RoundSummary.model_validate_json(
        (runs / "default" / "round-0001" / "summary.json").read_bytes()
    )

    second = play(runs, 2, *HARDER, "grow.tasks=4", "grow.max_tasks=8")
    third = play(runs, 3, *HARDER, "grow.tasks=4", "grow.max_tasks=8")

    (step,) = second.grown.steps
    assert (step.subject, len(step.admitted)) == ("2 services, 4 calls", 4)
    assert step.why.startswith("every rollout passed in 4 of 4 tasks of 2 services, 3 calls")
    (step,) = third.grown.steps
    assert (step.subject, len(step.admitted)) == ("3 services, 4 calls", 4)
    assert first.growth.walk_length < second.growth.walk_length < third.growth.walk_length
    assert (second.growth.complexity, third.growth.complexity) == (4, 4)
    page = (runs / "default" / "round-0003" / "report.html").read_text()
    assert "What grew, and why" in page
    assert step.why in page


def test_what_is_added_has_passed_every_gate_and_is_what_was_asked_for(runs: Path) -> None:
    found = grown(runs, *HARDER, "grow.tasks=4", "grow.max_tasks=8")

    ((_, names),) = found.added(Rule.COMPLEXITY).items()
    assert set(live_tasks(found.system)) == {*live_tasks(found.start), *names}
    for name in names:
        shape = shape_of(found.system.tasks[name])
        assert (shape.k, shape.walk_length, shape.distractors) == (2, 4, 0)
        certificate = found.system.reference.certificates[name]
        assert certificate.task_hash == hash_record(found.system.tasks[name])
        assert len(certificate.probes) > 4
        assert all(it.should_pass == it.did_pass for it in certificate.probes.values())
        assert name in found.system.evaluator.rubrics


def test_drafts_that_the_gates_refuse_are_counted_and_add_nothing(runs: Path) -> None:
    apart = "task.domains=[helpdesk,payments]"  # these two do not react to each other

    found = grown(runs, *HARDER, apart, "task.max_drafts_per_task=2")

    (step,) = found.record.steps
    assert (step.wanted, step.admitted, step.drafted) == (1, (), 2)
    assert step.rejected == {"no_reaction": 2}
    assert found.drafted == found.num_drafts == 2
    assert found.system == found.start


def test_harder_tasks_leave_as_many_turns_as_the_first_ones_did(runs: Path) -> None:
    found = grown(runs, *HARDER)

    before, after = (it.harness.limits.max_turns for it in (found.start, found.system))
    assert (before, after) == (8, 10)
    assert found.record.limits == {"max_turns": 10}


def test_a_limit_of_turns_that_was_set_is_kept_and_nothing_outgrows_it(runs: Path) -> None:
    found = grown(runs, "harness.max_turns=8", "grow.tasks=4")

    assert found.system.harness == found.start.harness
    assert list(found.added(Rule.COMPLEXITY)) == ["2 services, 3 calls, 1 distractor"]
    assert found.added(Rule.DIVERSITY) == {}  # a conversation takes more turns


def test_nothing_grows_where_nothing_asks_for_it(runs: Path) -> None:
    found = grown(runs, "grow.mastery=0.6", "grow.diversity=false")

    assert [(it.solved, it.tasks, it.is_mastered) for it in found.record.shapes] == [(4, 4, False)]
    assert found.record.note == "no rule asks for anything"
    assert found.drafted == found.num_drafts == 0
    assert found.system == found.start


def test_a_success_that_a_verdict_holds_for_false_solves_nothing(runs: Path) -> None:
    path = runs / "default" / "round-0001" / "units.sqlite"
    with contextlib.closing(UnitLog(path)) as units:
        rollout = units.keys("reeval")[0]
        verdict = Verdict(
            rollout_id=rollout,
            task_id=rollout.rpartition("-")[0],
            decision=Decision.UNDECIDED,
            is_false_pass=True,
        )
        units.put("attribute", rollout, to_json(Attribution(verdict=verdict, evidence=())))

    (shape,) = grown(runs, "grow.diversity=false").record.shapes

    assert (shape.solved, shape.tasks) == (3, 4)


@pytest.mark.parametrize("override", ["policy.error_rates.skip_step=0.01", "grow.tasks=0"])
def test_another_policy_or_the_switch_makes_no_task_harder(override: str, runs: Path) -> None:
    found = grown(runs, override, "grow.diversity=false")

    assert found.record.shapes == ()
    assert found.record.steps == ()
    assert found.system == found.start


def test_where_all_requests_are_said_at_once_some_are_said_in_a_conversation(runs: Path) -> None:
    found = grown(runs, *OTHER, "grow.tasks=2")

    ((subject, names),) = found.added(Rule.DIVERSITY).items()
    assert subject == "conversation: other than said at once"
    assert len(names) == 2
    assert all(found.system.tasks[name].user is not None for name in names)


def test_a_kind_that_nothing_is_known_to_be_solved_of_is_tried_and_not_piled_up(
    runs: Path,
) -> None:
    many = ("grow.tasks=9", "grow.max_tasks=20", "grow.most_share=0.2")

    found = grown(runs, *OTHER, *many, "policy.error_rates.skip_step=0.01")

    assert [(step.wanted, len(step.admitted)) for step in found.record.steps] == [(4, 4)]


def test_solved_tasks_make_room_where_the_cap_demands_it(runs: Path) -> None:
    found = grown(runs, *HARDER, "grow.max_tasks=4")

    (gone,) = found.record.retired
    assert gone in found.start.tasks
    assert gone in found.system.tasks
    assert found.system.retired[gone].startswith("solved in round 1")
    assert len(live_tasks(found.system)) == 4
    assert len(found.added(Rule.COMPLEXITY)["2 services, 4 calls"]) == 1
    needed = [
        {name for key in live_tasks(it) for name in it.tasks[key].world.services}
        for it in (found.start, found.system)
    ]
    assert needed[0] <= needed[1]


def test_services_that_no_task_needs_get_tasks(tmp_path: Path) -> None:
    play(tmp_path, 1, "task.domains=[helpdesk,mail]")

    found = grown(tmp_path, *WIDER, "grow.tasks=2")

    added = found.added(Rule.BREADTH)
    assert {*added} == {"directory", "payments"}
    assert all(step.why.startswith("0 of 4 tasks need") for step in found.record.steps)
    for service, (name,) in added.items():
        assert service in found.system.tasks[name].world.services


def test_what_is_named_between_rounds_comes_in_through_its_gates(runs: Path) -> None:
    listing, thin = runs.parent / "notes.json", runs.parent / "thin.json"
    listing.write_text(json.dumps(LISTING))
    thin.write_text(json.dumps({"tools": LISTING["tools"][:1]}))
    sources = ",".join(f"{{kind: tools_list, path: '{path}'}}" for path in (listing, thin))
    services = "environment.services=[crm,helpdesk]"

    found = grown(runs, services, f"environment.sources=[{sources}]", *WIDER, "grow.tasks=2")

    assert found.record.services == ("crm", "notes")
    assert {*found.record.refused} == {"thin"}
    there = {"directory", "helpdesk", "mail", "payments"}  # what is named no more stays
    assert {*found.system.reference.specs} == there | {"crm", "notes"}
    assert {key: len(names) for key, names in found.added(Rule.BREADTH).items()} == {
        "crm": 1,
        "notes": 1,
    }
    ((name,),) = (names for key, names in found.added(Rule.BREADTH).items() if key == "notes")
    assert "notes" in found.system.tasks[name].world.services


def test_a_growth_that_is_killed_grows_the_same(runs: Path) -> None:
    more = ("environment.services=[crm,helpdesk]", "grow.diversity=false", "grow.tasks=2")
    whole = grown(Path(shutil.copytree(runs, runs.parent / "whole")), *more)
    assert whole.num_drafts > 1

    # The manifest is written first when the round begins, then for the new service, then for this.
    for point in ("units.put.after:1", "manifest.before:3"):
        killed = Path(shutil.copytree(runs, runs.parent / point.replace(":", "-")))
        child = os.fork()
        if child == 0:
            os.environ["SELVAGE_FAILPOINT"] = point
            grown(killed, *more)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

        again = grown(killed, *more)

        assert again.system == whole.system
        assert again.record == whole.record
        assert again.num_drafts == whole.num_drafts
