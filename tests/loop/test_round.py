"""A whole round on real parts: what it finds, what it leaves on disk, and what it never does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from components.errors import ConfigError, LedgerError, PolicyError
from loop.console import Console
from loop.round import RoundResult, evolve
from tests.loop.configs import run_config
from tests.loop.endpoint import ANSWER, BROKEN, HOSTILE, careless_endpoint, reply, serve
from tests.loop.killed_round import summary

ROOT = Path(__file__).resolve().parents[2]
NOTES_SERVER = ROOT / "tests" / "servers" / "notes_server.py"
CANARY = "canary-7f3e9a10c2"


def play(runs_dir: Path, *overrides: str) -> tuple[RoundResult, dict[str, Any]]:
    config = run_config("+round=1", f"runs_dir='{runs_dir}'", "scale=smoke", *overrides)
    with open(os.devnull, "w") as silence:
        result = evolve(config, Console(silence))
    return result, json.loads((result.folder / "summary.json").read_bytes())


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> tuple[RoundResult, dict[str, Any]]:
    """One round on the system with its demonstration faults, tracked offline."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        return play(tmp_path_factory.mktemp("faulty"))


def test_planted_faults_are_found_and_repaired_without_wrong_blame(
    faulty: tuple[RoundResult, dict[str, Any]],
) -> None:
    _result, told = faulty

    assert told["faults"]["planted"] == 8
    assert told["faults"]["found"] >= 7
    assert told["faults"]["repaired"] >= 6
    assert told["faults"]["wrongly_blamed"] == 0


def test_every_figure_has_its_denominator(faulty: tuple[RoundResult, dict[str, Any]]) -> None:
    _result, told = faulty

    rollouts, verdicts = told["rollouts"], told["verdicts"]
    assert rollouts["total"] == 6
    assert rollouts["passed"] + rollouts["failed"] + rollouts["unscored"] == rollouts["total"]
    assert verdicts["attributed"] == rollouts["total"]
    assert told["faults"]["found"] + told["faults"]["missed"] == told["faults"]["planted"]
    assert told["tools"]["total"] == told["tools"]["deterministic"] + told["tools"]["quarantined"]
    assert told["patches"]["proposed"] == (
        told["patches"]["accepted"] + told["patches"]["rolled_back"]
    )
    assert told["reeval"]["after"]["passed"] > told["reeval"]["before"]["passed"]


def test_report_opens_with_the_faults_and_needs_nothing_beside_it(
    faulty: tuple[RoundResult, dict[str, Any]],
) -> None:
    result, told = faulty
    page = result.report_path.read_text()

    places = [page.index(f'id="{name}"') for name in ("picture", "planted", "verdicts", "patches")]
    assert places == sorted(places)
    assert f"{told['faults']['found']} of 8" in page
    assert "The policy is a simulation." in page
    for mark in ("<script", "<link", "src=", "@import", "url("):
        assert mark not in page


def test_tracking_holds_metrics_tables_and_the_round(
    faulty: tuple[RoundResult, dict[str, Any]],
) -> None:
    result, _told = faulty
    (log,) = result.folder.glob("wandb/offline-run-*/run-*.wandb")
    kept = log.read_bytes()

    for mark in (b"faults/found", b"reeval/after/rate", b"patches", b"verdicts", b"round-0001"):
        assert mark in kept


def test_finished_round_is_not_run_again(faulty: tuple[RoundResult, dict[str, Any]]) -> None:
    result, _told = faulty
    before = {path: path.stat().st_mtime_ns for path in result.folder.rglob("*") if path.is_file()}

    again, _ = play(result.folder.parents[1])

    assert again.was_finished
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_changed_configuration_is_refused_with_the_difference(
    faulty: tuple[RoundResult, dict[str, Any]],
) -> None:
    result, _told = faulty

    with pytest.raises(LedgerError, match=r"task\.k: 2 -> 3"):
        play(result.folder.parents[1], "task.k=3", "task.walk_length=4")


def test_second_round_starts_from_the_repaired_system(
    faulty: tuple[RoundResult, dict[str, Any]],
) -> None:
    result, first = faulty
    runs_dir = result.folder.parents[1]

    second, told = play(runs_dir, "round=2", "tracking=none", "grow.tasks=0")

    assert second.number == 2
    assert told["system_before"] == first["system_after"]
    assert told["rollouts"]["passed"] > first["rollouts"]["passed"]
    assert told["faults"] == first["faults"], "what was found and mended stays so"


def test_clean_system_gets_no_blame(tmp_path: Path) -> None:
    _result, told = play(tmp_path, "faults=none", "tracking=none", "rollout.group_size=4")

    components = ("environment", "task", "harness", "evaluator")
    assert told["rollouts"]["failed"] > 0
    assert [told["verdicts"][name] for name in components] == [0, 0, 0, 0]
    assert told["faults"]["wrongly_blamed"] == told["patches"]["proposed"] == 0


def test_clock_locale_hash_seed_and_concurrency_change_no_figure(tmp_path: Path) -> None:
    later = "import time; real = time.time; time.time = lambda: real() + 4e8; "
    run = "import sys; from loop.__main__ import main; sys.exit(main(sys.argv[1:]))"
    tiny = ("evolve", "+round=1", "policy=scripted", "scale=smoke", "tracking=none", "task.count=2")
    variants = {
        "a": (run, "16", {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"}),
        "b": (
            later + run,
            "1",
            {"PYTHONHASHSEED": "77", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"},
        ),
    }
    for name, (program, concurrency, environment) in variants.items():
        subprocess.run(
            [
                sys.executable,
                "-c",
                program,
                *tiny,
                f"rollout.concurrency={concurrency}",
                f"runs_dir={tmp_path / name}",
            ],
            cwd=ROOT,
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
        )

    assert summary(tmp_path / "a", 1) == summary(tmp_path / "b", 1)
    stores = [
        {path.name for path in (tmp_path / name / "store").rglob("*.json")} for name in variants
    ]
    assert stores[0] == stores[1]


def test_secrets_of_a_live_server_reach_nothing_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    servers = tmp_path / "mcp.json"
    entry = {
        "command": sys.executable,
        "args": [str(ROOT / "tests" / "servers" / "notes_server.py")],
        "env": {"NOTES_TOKEN": CANARY},
    }
    servers.write_text(json.dumps({"mcpServers": {"notes <script>\ud83d": entry}}))

    result, told = play(
        tmp_path / "runs", f"environment.mcp_config='{servers}'", "task.count=2", "tracking=wandb"
    )

    assert told["services"]["total"] == 13
    kept = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert len(kept) > 20
    assert [path for path in kept if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in "".join(capfd.readouterr())
    page = result.report_path.read_text(encoding="utf-8")
    assert "stdio:notes &lt;script&gt;" in page
    assert "<script" not in page


def test_a_model_behind_an_endpoint_is_blamed_for_its_own_failures(
    tmp_path: Path,
) -> None:
    with careless_endpoint() as base_url:
        _result, told = play(
            tmp_path,
            "faults=none",
            "tracking=none",
            "task.count=2",
            "policy=openai",
            f"policy.base_url={base_url}",
            "policy.model=careless",
        )

    assert told["policy"] == "careless"
    assert told["policy_simulated"] is False
    assert told["rollouts"] == {"total": 4, "passed": 0, "failed": 4, "unscored": 0}
    assert told["verdicts"]["policy"] == 4


def test_what_a_model_writes_is_text_in_the_report(tmp_path: Path) -> None:
    with serve(reply(ANSWER + HOSTILE)) as base_url:
        result, _told = play(
            tmp_path,
            "tracking=none",
            "task.count=3",
            "policy=openai",
            f"policy.base_url={base_url}",
            "policy.model='<script>alert(3)</script>'",
        )
    page = result.report_path.read_text(encoding="utf-8")

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;script&gt;alert(3)&lt;/script&gt;" in page
    assert "{{ 7 * 7 }} {% raw %}" in page
    assert "<script" not in page
    assert "<img" not in page


def test_rubbish_from_an_endpoint_leaves_rollouts_unscored(tmp_path: Path) -> None:
    gives_up = [reply("I do not know.")] * 3  # three messages without a call end an episode
    with serve(*BROKEN[:3], *gives_up) as base_url:
        _result, told = play(
            tmp_path,
            "faults=none",
            "tracking=none",
            "task.count=2",
            "policy=openai",
            f"policy.base_url={base_url}",
            "policy.model=broken",
            "policy.max_retries=0",
            "rollout.concurrency=1",
        )

    assert told["rollouts"] == {"total": 4, "passed": 0, "failed": 1, "unscored": 3}
    assert told["reeval"]["before"]["scored"] == 1
    parties = ("environment", "task", "harness", "evaluator", "policy", "undecided")
    assert [told["verdicts"][name] for name in parties] == [0, 0, 0, 0, 1, 3]


def test_tracking_that_cannot_begin_never_fails_a_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")

    result, _told = play(tmp_path, "task.count=1", "tracking.project='no/such?name'")

    assert "tracking failed, the round is not affected" in caplog.text
    assert result.report_path.exists()


def test_an_endpoint_that_answers_nothing_stops_the_round_and_costs_it_nothing(
    tmp_path: Path,
) -> None:
    settings = (
        "faults=none",
        "tracking=none",
        "task.count=1",
        "policy=openai",
        "policy.model=careless",
        "policy.max_retries=0",
    )

    with pytest.raises(PolicyError, match="answered none of 2 rollouts"):
        play(tmp_path, *settings, "policy.base_url=http://127.0.0.1:9/v1")
    with careless_endpoint() as base_url:
        _result, told = play(tmp_path, *settings, f"policy.base_url={base_url}")

    assert told["rollouts"] == {"total": 2, "passed": 0, "failed": 2, "unscored": 0}


def test_servers_of_which_none_can_be_used_stop_the_round(tmp_path: Path) -> None:
    servers = tmp_path / "mcp.json"
    servers.write_text(json.dumps({"mcpServers": {"gone": {"command": "no-such-program"}}}))

    with pytest.raises(ConfigError, match="none of its servers could be used"):
        play(tmp_path / "runs", f"environment.mcp_config='{servers}'", "tracking=none")


@pytest.mark.parametrize("key", ["task.domains=[notes]", "environment.services=[]"])
def test_tasks_of_compiled_services_alone_are_refused_with_what_would_help(
    key: str, tmp_path: Path
) -> None:
    servers = tmp_path / "mcp.json"
    entry = {"command": sys.executable, "args": [str(NOTES_SERVER)]}
    servers.write_text(json.dumps({"mcpServers": {"notes": entry}}))
    named = f"environment.mcp_config='{servers}'"

    with pytest.raises(ConfigError, match="no task can be made of notes alone") as refused:
        play(tmp_path / "runs", named, key, "task.k=3", "task.walk_length=4", "tracking=none")
    assert key.partition("=")[0] in str(refused.value)
    assert "name built-in ones beside them, such as " in str(refused.value)


def test_an_allowed_call_is_made_once_and_its_answer_is_kept(tmp_path: Path) -> None:
    servers = tmp_path / "mcp.json"
    entry = {"command": sys.executable, "args": [str(NOTES_SERVER)]}
    servers.write_text(json.dumps({"mcpServers": {"notes": entry}}))

    result, _told = play(
        tmp_path / "runs",
        f"environment.mcp_config='{servers}'",
        "environment.allow_calls=[notes.list_notes]",
        "task.count=1",
        "tracking=none",
    )

    store = result.folder.parents[1] / "store"
    kept = [path for path in store.rglob("*.json") if b"notes.list_notes" in path.read_bytes()]
    assert any(b"recorded" in path.read_bytes() for path in kept)


def test_services_whose_links_lead_out_of_the_system_still_make_tasks(tmp_path: Path) -> None:
    _result, told = play(
        tmp_path,
        "environment.services=[helpdesk,mail]",
        "task.walk_length=6",
        "task.count=2",
        "tracking=none",
    )

    assert told["services"]["admitted"] == 2
    assert told["tasks"]["certified"] == 2
