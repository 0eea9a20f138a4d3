"""Claims about the scripted policy: seeded slips on top of the oracle."""

from __future__ import annotations

import asyncio
import random

import pytest

from components.harness.oracle import Call, OraclePolicy, write_calls
from components.harness.parsing import parse_turn
from components.records.trajectory import StopReason, Trajectory
from loop.policy.config import ErrorRates
from loop.policy.scripted import ScriptedPolicy, garbled
from tests.harness.builders import make_settings, make_task, play

RIGHT = {"customer": "ann@example.com", "note": "mailed ann@example.com"}
GOLD = ["shop__get_order", "mail__send", "shop__get_order", "shop__set_status", "finish"]


def rates(**given: float) -> ErrorRates:
    none = {"skip_step": 0.0, "stale_value": 0.0, "wrong_argument": 0.0, "malformed_call": 0.0}
    return ErrorRates(**{**none, **given})


def names(trajectory: Trajectory) -> list[str]:
    return [call.name for turn in trajectory.turns for call in turn.calls]


async def test_without_slips_it_plays_like_the_oracle() -> None:
    scripted = await play(ScriptedPolicy(make_task(), rates(), 1))
    oracle = await play(OraclePolicy(make_task()))

    assert [turn.raw_text for turn in scripted.turns] == [turn.raw_text for turn in oracle.turns]
    assert scripted.simulated
    assert scripted.turns[0].policy_version.startswith("scripted-v1:")


async def test_the_same_seeds_slip_at_the_same_places() -> None:
    mixed = rates(skip_step=0.3, stale_value=0.3, wrong_argument=0.3, malformed_call=0.3)
    runs = [
        await play(ScriptedPolicy(make_task(), mixed, 5), seed=seed)
        for seed in (1, 2, 3, 4, 1, 2, 3, 4)
    ]

    assert runs[:4] == runs[4:]
    assert len({tuple(names(run)) for run in runs}) > 1


async def test_it_keeps_nothing_between_rollouts_at_once() -> None:
    policy = ScriptedPolicy(make_task(), rates(wrong_argument=0.5, malformed_call=0.5), 2)

    together = await asyncio.gather(*(play(policy, seed=seed) for seed in range(4)))
    alone = [await play(policy, seed=seed) for seed in range(4)]

    assert list(together) == alone


async def test_skipping_everything_leaves_only_a_guessed_answer() -> None:
    trajectory = await play(ScriptedPolicy(make_task(), rates(skip_step=1), 1))

    assert names(trajectory) == ["finish"]
    assert trajectory.answer == {"customer": "unknown", "note": "unknown"}


async def test_skipping_one_step_goes_on_with_the_others() -> None:
    policy = ScriptedPolicy(make_task(), rates(skip_step=0.25), 1)
    runs = [names(await play(policy, seed=seed)) for seed in range(40)]

    shorter = [run for run in runs if len(run) == len(GOLD) - 1]
    assert shorter
    assert all(run[-1] == "finish" for run in runs)
    # Without the first reading nobody knows whom to write to.
    assert ["shop__get_order", "shop__set_status", "finish"] in runs
    assert ["shop__get_order", "mail__send", "shop__set_status", "finish"] in runs


async def test_a_stale_value_is_the_first_reading() -> None:
    trajectory = await play(ScriptedPolicy(make_task(), rates(stale_value=1), 1))

    assert names(trajectory) == GOLD
    assert trajectory.answer == {**RIGHT, "note": "no news"}


async def test_a_wrong_argument_is_plausible_and_changes_one_value() -> None:
    policy = ScriptedPolicy(make_task(), rates(wrong_argument=1), 3)
    runs = [await play(policy, seed=seed) for seed in range(20)]

    given = [call for run in runs for turn in run.turns for call in turn.calls]
    statuses = {call.arguments["status"] for call in given if call.name == "shop__set_status"}
    assert statuses <= {"open", "done", "lost"}
    assert statuses != {"done"}
    assert any(call.arguments.get("order_id") == "ord_a2" for call in given)
    assert all(run.answer != RIGHT for run in runs)


async def test_wrong_arguments_recover_only_sometimes() -> None:
    policy = ScriptedPolicy(make_task(), rates(wrong_argument=1), 3)
    runs = [await play(policy, seed=seed) for seed in range(40)]

    firsts = [[c.arguments for t in run.turns[:2] for c in t.calls] for run in runs]
    wrong = [pair for pair in firsts if pair[0]["order_id"] == "ord_a2"]
    recovered = [pair for pair in wrong if pair[1] == {"order_id": "ord_a1"}]
    assert 0 < len(recovered) < len(wrong)


async def test_a_malformed_call_is_recovered_or_ends_the_episode() -> None:
    policy = ScriptedPolicy(make_task(), rates(malformed_call=1), 4)
    runs = [await play(policy, seed=seed) for seed in range(20)]

    assert all(run.turns[0].problem for run in runs)
    ends = {run.stop_reason for run in runs}
    assert StopReason.INVALID_TURNS in ends
    assert StopReason.FINISHED in ends


async def test_it_shows_nothing_of_its_slips() -> None:
    mixed = rates(skip_step=0.5, stale_value=0.5, wrong_argument=0.5)
    trajectory = await play(ScriptedPolicy(make_task(), mixed, 1))

    text = trajectory.model_dump_json()
    assert not any(word in text for word in ("skip_step", "stale", "wrong_argument", "malformed"))


def test_the_version_names_the_rates() -> None:
    task = make_task()

    assert ScriptedPolicy(task, rates(), 1).version == ScriptedPolicy(task, rates(), 2).version
    assert (
        ScriptedPolicy(task, rates(), 1).version
        != ScriptedPolicy(task, rates(skip_step=1), 1).version
    )


@pytest.mark.parametrize("style", ["hermes", "json_block", "bare_json", "openai"])
@pytest.mark.parametrize("way", [0, 1, 2])
def test_no_parser_reads_a_garbled_call(way: int, style: str) -> None:
    rng = random.Random(0)
    calls: list[Call] = [
        ("shop__list_orders", {}),
        ("shop__set_status", {"order_id": "ord_a1", "status": "done"}),
        ("finish", {"answer": {"n": 1, "text": "a {b} \"c\" 'd'", "list": [1, {"x": None}]}}),
        ("shop__x", {"value": rng.random()}),
    ]

    for call in calls:
        parsed = parse_turn(garbled(write_calls([call], style), way), make_settings(), {})

        assert parsed.calls == ()
