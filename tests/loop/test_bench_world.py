from __future__ import annotations

import io
import json
import sys

import pytest

from components.environment.engine import execute
from loop.bench_peers import main as answer_peers
from loop.bench_retail import SERVICE, build_shop, episode_calls
from loop.bench_world import QUICK, Bar, run_bench_world, settings_of


def test_the_quick_benchmark_reports_every_figure_and_decides_no_peer() -> None:
    report = run_bench_world(QUICK)

    assert json.loads(json.dumps(report)) == report
    for name in ("call_group_commit", "call_commit_each", "fork_1400kb", "rollouts_peak"):
        assert 0 < report["figures"][name]["low"] <= report["figures"][name]["median"]
    assert report["figures"]["tau2_call"] == {"missing": "not asked for"}
    assert report["bars"]["a journaled call, 64 sessions, beside tau2 retail's"]["met"] is None
    assert report["bars"]["10,000 live rollouts of a 120 KB world"]["met"] is None
    assert report["memory"]["rollouts"] == QUICK.episodes
    assert 1_200_000 < report["world_bytes"][0] < 1_600_000
    assert 110_000 < report["world_bytes"][1] < 160_000


def test_a_larger_scale_measures_more() -> None:
    smoke, small, full = (settings_of(scale, 7) for scale in ("smoke", "small", "full"))

    assert smoke.repeats < small.repeats < full.repeats
    assert (smoke.peer, small.peer) == (False, True)
    assert smoke.seed == small.seed == full.seed == 7


def test_a_bar_says_when_it_is_met() -> None:
    assert Bar("x", at_least=4).is_met(4.0)
    assert not Bar("x", at_least=4).is_met(3.9)
    assert Bar("x", at_most=200).is_met(200)
    assert not Bar("x", at_most=200).is_met(201)
    assert (Bar("x", at_least=4).text(), Bar("x", at_most=200).text()) == (">= 4", "<= 200")


def test_a_peer_that_is_not_installed_is_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "loguru", None)
    monkeypatch.setattr(sys, "stdin", io.StringIO("tau2_call 5\ntau2_reset 1\n"))

    answer_peers()

    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["missing"][:13] for answer in answers] == ["not installed", "not installed"]


def test_the_calls_of_an_episode_all_succeed_and_one_of_them_writes() -> None:
    world = build_shop(20, 0)
    state, num_changes = world.initial, 0

    for call in episode_calls(20, 33):
        outcome = execute(world, state, SERVICE, call.tool, call.arguments)
        assert outcome.envelope["ok"] is True
        state, num_changes = outcome.state, num_changes + len(outcome.changes)

    assert num_changes == 1
    assert outcome.envelope["data"]["order"]["address"]["city"] == "city 33"
