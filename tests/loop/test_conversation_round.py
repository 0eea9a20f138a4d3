"""A round whose tasks have a user: composed, played, judged and shown."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from loop.__main__ import main
from loop.seed_round import TURNS_PER_STEP, seed_harness
from tests.loop.configs import run_config

TALKING = ("task.multi_turn=1.0", "task.k=2", "task.walk_length=4")


def test_a_harness_for_conversations_has_room_for_the_messages() -> None:
    plain = seed_harness(run_config("task.walk_length=9", "task.k=5")).limits
    talking = seed_harness(
        run_config("task.walk_length=9", "task.k=5", "task.multi_turn=0.1")
    ).limits

    assert plain.max_turns == TURNS_PER_STEP * 10
    assert (talking.max_turns, talking.max_user_turns) == (2 * plain.max_turns, 20)


def test_a_share_over_one_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compose", "task.multi_turn=1.5"]) == 2

    error = capsys.readouterr().err
    assert "task.multi_turn" in error
    assert error.count("\n") == 1


def test_a_round_plays_judges_and_shows_what_the_user_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = f"runs_dir={tmp_path}"
    services = "environment.services=[directory,helpdesk,mail]"
    sizes = ("task.count=2", "rollout.group_size=1", "tracking=none", "train=none", "faults=none")
    arguments = ["evolve", "policy=scripted", runs, services, *sizes, *TALKING]

    assert main(arguments) == 0

    page = unescape((tmp_path / "default" / "round-0001" / "report.html").read_text())
    rollouts = sorted(set(re.findall(r"t_[0-9a-f]{10}-00", page)))
    assert len(rollouts) == 2
    capsys.readouterr()
    assert main(["show", f"rollout={rollouts[0]}", runs]) == 0
    shown = capsys.readouterr().out
    assert main(["show", f"task={rollouts[0][:-3]}", runs]) == 0
    task = capsys.readouterr().out
    said = re.search(r"the user answered\n +\| (.*)", shown)
    assert said is not None
    assert said[1][:30] in page
    assert "says first" in task
    assert said[1][:15] in " ".join(task.split())
