"""`dry_run=true`: says what the round then does, refuses what it then refuses, and writes
nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from components.records.trajectory import Trajectory
from loop.__main__ import main
from loop.dry_run.plan import ROUND_STAGES, SEED_STAGES, Plan, plan_round
from loop.dry_run.tokens import tokens_of
from loop.hydra_entry import job_suffix
from loop.ledger import Ledger
from tests.loop.played import SMALL, config_of, files_of, unit_bodies


def dry(runs_dir: Path, capsys: pytest.CaptureFixture[str], *overrides: str) -> str:
    """Return what a dry run prints, after checking that it succeeds and writes nothing."""
    before = files_of(runs_dir)
    arguments = ["evolve", "dry_run=true", f"runs_dir='{runs_dir}'", *SMALL, *overrides]
    status = main(arguments)
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 100
    assert files_of(runs_dir) == before
    return out


def planned(runs_dir: Path, *overrides: str) -> Plan:
    return plan_round(config_of(runs_dir, "dry_run=true", *overrides))


def summary(runs_dir: Path, run: str, number: int) -> dict[str, Any]:
    path = runs_dir / run / f"round-{number:04d}" / "summary.json"
    body: dict[str, Any] = json.loads(path.read_text())
    return body


@pytest.fixture
def copied(played: Path, tmp_path: Path) -> Path:
    runs = tmp_path / "runs"
    shutil.copytree(played, runs)
    return runs


def test_a_first_round_is_planned_in_an_empty_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = dry(tmp_path, capsys, "run=new", "+round=1")

    assert "Round 1 of run new starts (nothing is run or written)" in out
    assert "8 a pass (4 tasks x 2)" in out
    assert "3: directory, helpdesk, mail" in out
    assert "drafted for this" in out
    assert "seconds are unknown: of 0 finished rounds" in out
    for stage in (*SEED_STAGES, *ROUND_STAGES):
        assert [stage, "to", "do", "unknown"] in [line.split()[1:5] for line in out.splitlines()]
    assert list(tmp_path.iterdir()) == []


def test_the_stages_of_a_plan_are_those_of_a_round(played: Path) -> None:
    ledger = Ledger(played, "a")
    for number, stages in ((0, SEED_STAGES), (1, ROUND_STAGES)):
        manifest = ledger.manifest(number)
        assert manifest is not None
        assert tuple(stage.name for stage in manifest.stages) == stages


def test_a_plan_foretells_what_the_round_then_did(played: Path, tmp_path: Path) -> None:
    plan = planned(tmp_path, "run=a", "+round=1")
    did = summary(played, "a", 1)

    assert plan.num_rollouts == did["rollouts"]["total"] == did["reeval"]["after"]["rollouts"]
    assert plan.sizes.num_tasks == did["tasks"]["certified"]
    assert len(plan.services) == did["services"]["admitted"]
    recorded = [
        Trajectory.model_validate(body) for body in unit_bodies(played, "b", 1, "reeval").values()
    ]
    found = tokens_of(recorded, "recorded")
    assert plan.tokens is not None
    assert found is not None
    for name in ("sent", "new", "sampled", "turns"):
        assert 0.5 < getattr(plan.tokens, name) / getattr(found, name) < 2.0


def test_tokens_of_a_conversation_counted_by_hand() -> None:
    turn = {"policy_version": "v", "calls": (), "observations": ()}
    trajectory = Trajectory.model_validate(
        {
            "rollout_id": "r",
            "task_id": "t",
            "group_index": 0,
            "seed": 0,
            "simulated": True,
            "component_hashes": {},
            "system_text": "s" * 60,
            "user_text": "u" * 30,
            "turns": [
                {**turn, "index": 0, "raw_text": "w" * 25, "problem": "p", "feedback": "f" * 50},
                {**turn, "index": 1, "raw_text": "w" * 5, "token_ids": [1, 2, 3]},
            ],
            "stop_reason": "gave_up",
            "initial_state": "",
            "final_state": "",
        }
    )

    told = tokens_of([trajectory], "one")

    # 90 / 3 characters to begin with; 25 / 2.5 are said and 50 / 2.5 answered; 3 are sampled last.
    assert told is not None
    assert (told.sent, told.new, told.sampled, told.turns) == (30 + 60, 30 + 20, 10 + 3, 2)


def test_a_further_round_goes_by_what_the_last_one_recorded_and_took(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(played, "run=a")
    out = dry(played, capsys, "run=a")

    assert (plan.number, plan.state, plan.num_there) == (3, "starts", 4)
    assert "8 rollouts that round 2 recorded" in out
    told = {stage.name: stage.seconds for stage in plan.stages}
    rollout = told["rollout"]
    assert rollout is not None
    assert rollout.rounds == ("a/round-0001", "a/round-0002", "b/round-0001")
    times = sorted(
        json.loads((played / name / "timing.json").read_text())["rollout"]
        for name in rollout.rounds
    )
    assert [rollout.low, rollout.middle, rollout.high] == pytest.approx(times)
    assert "what finished rounds with this policy took (3: a/round-0001," in " ".join(out.split())


def test_seconds_grow_with_the_units_of_a_stage(played: Path) -> None:
    small, large = (planned(played, "run=n", f"task.count={count}") for count in (4, 12))

    by_name = [{stage.name: stage.seconds for stage in plan.stages} for plan in (small, large)]
    for name in ("tasks", "rollout", "reeval", "attribute"):
        before, after = by_name[0][name], by_name[1][name]
        assert before is not None
        assert after is not None
        assert after.middle == pytest.approx(3 * before.middle)
    assert by_name[0]["repair"] is not None
    assert by_name[1]["repair"] is None


def test_new_tasks_of_a_later_round_take_what_the_first_ones_took(played: Path) -> None:
    plan = planned(played, "run=a", "task.count=6", "grow.tasks=1")

    (grow,) = [stage for stage in plan.stages if stage.name == "grow"]
    assert grow.work == "2 more tasks to certify, and at most 1 by growth"
    assert grow.seconds is not None
    seconds = [
        json.loads((played / name / "timing.json").read_text())["tasks"] / count * 2
        for name, count in (
            ("a/round-0000", 4),
            ("b/round-0000", 4),
            ("c/round-0000", 4),
            ("d/round-0000", 1),
        )
    ]
    assert grow.seconds.rounds == ("a/round-0000", "b/round-0000", "c/round-0000", "d/round-0000")
    assert [grow.seconds.low, grow.seconds.high] == pytest.approx([min(seconds), max(seconds)])


def test_services_that_are_named_between_rounds_are_a_stage_of_the_later_one(
    played: Path,
) -> None:
    plan = planned(played, "run=a", "environment.services=[helpdesk,directory,mail,crm]")

    first, second, *_ = plan.stages
    assert (first.round, first.name, second.name) == (3, "services", "grow")
    assert first.work == "services that the configuration names since, through their gates"


def test_a_round_that_trains_has_one_more_stage(tmp_path: Path) -> None:
    plan = planned(tmp_path, "run=n", "policy=local", "train=sft")

    assert [stage.name for stage in plan.stages][-1] == "train"
    assert plan.stages[-1].work == "at most 8 trajectories to learn from"
    assert plan.stages[-1].seconds is None


def test_rounds_of_another_policy_tell_nothing(played: Path) -> None:
    plan = planned(played, "run=n", "policy=openai", "policy.model=m")

    assert plan.samples
    assert plan.policy == "m"
    assert plan.num_past == 7
    assert {stage.seconds for stage in plan.stages} == {None}


def test_an_interrupted_round_says_what_is_done(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = dry(played, capsys, "run=c", "+round=1")
    rows = {line.split()[1]: line for line in out.splitlines() if line.startswith("  1 ")}
    judged = len(unit_bodies(played, "c", 1, "attribute"))

    assert "Round 1 of run c resumes" in out
    assert " done " in rows["grow"]
    assert " done " in rows["rollout"]
    assert " to do " in rows["attribute"]
    assert f"at most 8 verdicts, {judged} recorded" in rows["attribute"]
    assert " to do " in rows["repair"]
    assert not [line for line in out.splitlines() if line.startswith("  0 ")]


def test_a_finished_round_has_nothing_to_do(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = dry(played, capsys, "run=a", "+round=1")

    assert "Round 1 of run a is finished" in out
    assert "there is nothing to do" in out


def test_servers_are_named_and_not_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marker, servers = tmp_path / "started", tmp_path / "mcp.json"
    entry = {"command": "touch", "args": [str(marker)]}
    servers.write_text(json.dumps({"mcpServers": {"notes": entry}}))

    out = dry(
        tmp_path,
        capsys,
        "run=n",
        f"environment.mcp_config='{servers}'",
        "task.k=3",
        "task.walk_length=5",
    )

    assert "notes: started and listed then, their tools are unknown now" in out
    assert not marker.exists()


def test_a_file_for_results_is_not_written(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dry(played, capsys, "run=a", f"out='{tmp_path / 'result.json'}'")

    assert list(tmp_path.iterdir()) == []


def break_manifest(runs: Path) -> None:
    path = runs / "a" / "round-0002" / "manifest.json"
    path.write_bytes(path.read_bytes()[:-40])


def break_chain(runs: Path) -> None:
    shutil.rmtree(runs / "a" / "round-0000")
    shutil.copytree(runs / "b" / "round-0000", runs / "a" / "round-0000")


def remove_units(runs: Path) -> None:
    (runs / "a" / "round-0002" / "units.sqlite").unlink()


def nothing(_runs: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("spoil", "overrides"),
    [
        (nothing, ["run=a", "+round=9"]),
        (nothing, ["run=a", "+round=2", "task.k=3", "task.walk_length=5"]),
        (nothing, ["run=a", "+round=0", "faults=none"]),
        (nothing, ["run=c", "+round=1", "rollout.group_size=5"]),
        (nothing, ["run=n", "environment.services=[helpdsk]"]),
        (nothing, ["run=n", "task.domains=[hr]"]),
        (nothing, ["run=n", "environment.mcp_config=none.json"]),
        (nothing, ["run=n", "policy=local", "policy.model=/none"]),
        (nothing, ["run=n", "policy=local", "policy.adapter=/none"]),
        (nothing, ["run=n", "out=."]),
        (nothing, ["run=n", "out=/dev/null/x.json"]),
        (nothing, ["run=n", "scale=smal"]),
        (nothing, ["run=n", "tsk.k=3"]),
        (break_manifest, ["run=a", "+round=2"]),
        (break_chain, ["run=a", "+round=3"]),
        (remove_units, ["run=a", "+round=2"]),
    ],
    ids=lambda value: getattr(value, "__name__", None) or " ".join(value),
)
def test_a_dry_run_refuses_what_the_round_refuses(
    spoil: Any, overrides: list[str], copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(copied)
    told = []
    for flag in ("dry_run=true", "dry_run=false"):
        status = main(["evolve", f"runs_dir='{copied}'", *SMALL, *overrides, flag])
        told.append((status, *capsys.readouterr()))

    assert told[0] == told[1]
    status, out, err = told[0]
    assert (status, out, err.count("\n")) == (2, "", 1)


def test_a_run_that_is_being_driven_is_refused(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Ledger(copied, "b").locked():
        status = main(["evolve", "dry_run=true", f"runs_dir='{copied}'", *SMALL, "run=b"])

    assert status == 2
    assert "is being driven by process" in capsys.readouterr().err


def test_a_round_under_a_file_cannot_be_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")

    status = main(["evolve", "dry_run=true", f"runs_dir='{tmp_path / 'file' / 'runs'}'", *SMALL])

    assert status == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_dry_sweep_names_the_folders_that_the_sweep_will_have() -> None:
    assert job_suffix(["task.k=2", "dry_run=true"]) == job_suffix(["task.k=2"])


def test_the_key_changes_no_result_and_a_real_round_goes_on_after_it(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dry(copied, capsys, "run=c", "+round=1")

    status = main(["evolve", f"runs_dir='{copied}'", *SMALL, "run=c", "+round=1"])

    assert status == 0
    told = summary(copied, "c", 1)
    assert told["verdicts"] == summary(copied, "a", 1)["verdicts"]
    assert told["reeval"] == summary(copied, "a", 1)["reeval"]
