"""Claims about one rollout: what runs, what is refused, how it ends, what is recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from components.environment.engine import replay
from components.environment.state import state_hash
from components.environment.world import build_world
from components.errors import ConfigError, EnvironmentFault
from components.harness.oracle import OraclePolicy, write_calls
from components.harness.policy import PolicyReply, PolicyRequest, PrefixPolicy, trajectory_messages
from components.megamcp.session import open_session
from components.records.calls import CallRecord
from components.records.frozen import FrozenDict
from components.records.trajectory import StopReason, Trajectory
from tests.harness.builders import (
    PlainSession,
    Says,
    make_settings,
    make_system,
    make_task,
    play,
)

READ = ("shop__get_order", {"order_id": "ord_a1"})
SET = ("shop__set_status", {"order_id": "ord_a1", "status": "done"})
ANSWER = {"note": "n", "customer": "c"}
FINISH = ("finish", {"answer": ANSWER})


def say(*calls: tuple[str, Mapping[str, Any]]) -> str:
    return write_calls(calls, "hermes")


def shown(trajectory: Trajectory, turn: int) -> list[str]:
    return [item.shown for item in trajectory.turns[turn].observations]


async def test_a_rollout_records_text_calls_answers_and_states() -> None:
    task = make_task()
    world = build_world(make_system(), task.world)
    session = PlainSession(world)

    trajectory = await play(Says(say(READ), say(SET), say(FINISH)), session=session, seed=7)

    assert trajectory.stop_reason is StopReason.FINISHED
    assert trajectory.answer == ANSWER
    assert [turn.raw_text for turn in trajectory.turns] == [say(READ), say(SET), say(FINISH)]
    assert [turn.policy_version for turn in trajectory.turns] == ["says-v1"] * 3
    assert trajectory.simulated
    assert trajectory.seed == 7
    assert trajectory.component_hashes == {"harness": "h"}
    assert trajectory.initial_state == state_hash(world.initial)
    assert trajectory.final_state == state_hash(session.state) != trajectory.initial_state
    calls = [item.call for turn in trajectory.turns for item in turn.observations if item.call]
    final, again = replay(world, world.initial, calls)
    assert state_hash(final) == trajectory.final_state
    assert list(again) == calls
    assert Trajectory.model_validate_json(trajectory.model_dump_json()) == trajectory


async def test_the_policy_sees_its_own_text_and_the_answers() -> None:
    policy = Says(say(READ), say(FINISH))

    trajectory = await play(policy)

    last = policy.requests[-1]
    assert [message.role for message in last.messages] == ["system", "user", "assistant", "tool"]
    assert last.messages[2].content == say(READ)
    assert last.messages[3].content == shown(trajectory, 0)[0]
    assert last.messages == trajectory_messages(trajectory, 1)
    assert (last.turn_index, last.max_turn_tokens) == (1, 512)


async def test_parallel_calls_run_in_order_under_keys_of_their_own() -> None:
    session = PlainSession(build_world(make_system(), make_task().world))

    trajectory = await play(Says(say(READ, SET, READ), say(FINISH)), session=session)

    statuses = [
        item.call.envelope["data"]["order"]["status"]
        for item in trajectory.turns[0].observations
        if item.call
    ]
    assert statuses == ["open", "done", "done"]
    assert session.keys == ["r1/t00c1", "r1/t00c2", "r1/t00c3"]


async def test_calls_over_the_limit_are_refused_and_not_dropped() -> None:
    settings = make_settings(limits={"max_calls_per_turn": 2})

    trajectory = await play(Says(say(READ, READ, SET), say(FINISH)), settings=settings)

    observations = trajectory.turns[0].observations
    assert [item.call is None for item in observations] == [False, False, True]
    assert "at most 2 calls run in one message; this one did not" in observations[2].shown
    assert trajectory.initial_state == trajectory.final_state


async def test_an_invalid_answer_is_refused_and_may_be_given_again() -> None:
    wrong = say(("finish", {"answer": {"note": 3, "customer": "c"}}))

    trajectory = await play(Says(wrong, say(("finish", {})), say(FINISH)))

    assert "answer/note: 3 is not of type" in shown(trajectory, 0)[0]
    assert "finish needs an argument `answer` that is an object" in shown(trajectory, 1)[0]
    assert trajectory.stop_reason is StopReason.FINISHED
    assert trajectory.answer == ANSWER


async def test_nothing_runs_after_finish_in_the_same_message() -> None:
    trajectory = await play(Says(say(FINISH, SET)))

    assert "nothing runs after finish" in shown(trajectory, 0)[1]
    assert trajectory.stop_reason is StopReason.FINISHED
    assert trajectory.initial_state == trajectory.final_state


async def test_an_unknown_tool_is_answered_with_the_nearest_name() -> None:
    trajectory = await play(Says(say(("shop__get_orders", {})), say(FINISH)))

    observation = trajectory.turns[0].observations[0]
    assert observation.call is None
    assert '"code":"unknown_tool"' in observation.shown
    assert "did you mean shop__get_order?" in observation.shown
    assert trajectory.turns[0].calls[0].name == "shop__get_orders"


async def test_a_hidden_tool_cannot_be_called() -> None:
    settings = make_settings(hidden_tools=("shop__set_status",))

    trajectory = await play(Says(say(SET), say(FINISH)), settings=settings)

    assert '"code":"unknown_tool"' in shown(trajectory, 0)[0]
    assert trajectory.initial_state == trajectory.final_state


async def test_endless_invalid_calls_end_the_episode() -> None:
    trajectory = await play(Says('<tool_call>{"name": </tool_call>'))

    assert trajectory.stop_reason is StopReason.INVALID_TURNS
    assert len(trajectory.turns) == 3
    assert trajectory.turns[0].problem.startswith("in <tool_call>, the JSON breaks")
    assert trajectory.turns[0].problem in trajectory.turns[0].feedback


async def test_endless_unknown_tools_end_the_episode() -> None:
    trajectory = await play(Says(say(("nothing__like_it", {}))))

    assert trajectory.stop_reason is StopReason.INVALID_TURNS


async def test_a_policy_that_only_talks_has_given_up() -> None:
    trajectory = await play(Says("I am done."))

    assert trajectory.stop_reason is StopReason.GAVE_UP
    assert len(trajectory.turns) == 3
    assert trajectory.answer is None


async def test_a_usable_turn_forgives_the_invalid_ones_before() -> None:
    talk = "Hm."

    trajectory = await play(Says(talk, talk, say(READ), talk, talk, say(FINISH)))

    assert trajectory.stop_reason is StopReason.FINISHED


async def test_turns_and_context_are_budgets() -> None:
    turns = await play(Says(say(READ)), settings=make_settings(limits={"max_turns": 4}))
    context = await play(
        Says(say(READ)), settings=make_settings(limits={"max_context_chars": 3500})
    )

    assert (turns.stop_reason, len(turns.turns)) == (StopReason.MAX_TURNS, 4)
    assert context.stop_reason is StopReason.CONTEXT_FULL
    assert 0 < len(context.turns) < 24


async def test_a_long_answer_is_paged_and_kept_whole() -> None:
    settings = make_settings(limits={"max_observation_chars": 50})
    more = say(*(("read_more", {"call_id": "t00c1", "page": page}) for page in (2, 3)))

    trajectory = await play(Says(say(READ), more, say(FINISH)), settings=settings)

    first = trajectory.turns[0].observations[0]
    assert first.truncated
    assert first.call
    assert first.call.envelope["data"]["order"]["quantity"] == 3
    body = [text.split("\n")[2] for text in (first.shown, *shown(trajectory, 1))]
    assert json.loads("".join(body)) == {
        "ok": True,
        "data": {"order": first.call.envelope["data"]["order"]},
    }
    assert "[69 more characters: call read_more" in first.shown


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"call_id": "t09c9", "page": 2}, "no earlier answer has this call_id"),
        ({"call_id": ["t00c1"], "page": 2}, "no earlier answer has this call_id"),
        ({"call_id": "t00c1", "page": 2}, "page must be a whole number from 1 to 1"),
        ({"call_id": "t00c1", "page": True}, "page must be a whole number from 1 to 1"),
    ],
)
async def test_pages_that_do_not_exist_are_refused(arguments: dict[str, Any], problem: str) -> None:
    trajectory = await play(Says(say(READ), say(("read_more", arguments)), say(FINISH)))

    assert problem in shown(trajectory, 1)[0]


async def test_readable_calls_run_beside_a_broken_one() -> None:
    trajectory = await play(Says(say(SET) + "<tool_call>{oops}</tool_call>", say(FINISH)))

    turn = trajectory.turns[0]
    assert turn.observations[0].call
    assert turn.problem
    assert turn.problem in turn.feedback
    assert trajectory.initial_state != trajectory.final_state


class Breaks:
    """A policy whose endpoint is gone after one turn."""

    version = "breaks-v1"
    simulated = True

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def act(self, request: PolicyRequest) -> PolicyReply:
        if request.turn_index == 0:
            return PolicyReply(text=say(SET), token_ids=(1, 2), logprobs=(-0.5, -0.25))
        raise self.error


async def test_a_broken_policy_is_a_recorded_failure() -> None:
    trajectory = await play(Breaks(OSError("no route")))

    assert trajectory.stop_reason is StopReason.FAILURE
    assert trajectory.failure
    assert trajectory.failure.boundary == "provider"
    assert trajectory.failure.message == "turn 1 of the policy: OSError: no route"
    assert len(trajectory.turns) == 1
    assert trajectory.turns[0].token_ids == (1, 2)
    assert trajectory.turns[0].logprobs == (-0.5, -0.25)
    assert trajectory.initial_state != trajectory.final_state


async def test_cancellation_and_user_errors_are_not_swallowed() -> None:
    with pytest.raises(asyncio.CancelledError):
        await play(Breaks(asyncio.CancelledError()))
    with pytest.raises(ConfigError):
        await play(Breaks(ConfigError("policy.model is missing")))


class BreakingSession(PlainSession):
    """A session that breaks at its second call."""

    def __init__(self, error: Exception) -> None:
        super().__init__(build_world(make_system(), make_task().world))
        self.error = error

    def call(
        self, service: str, tool: str, arguments: Mapping[str, Any], key: str | None = None
    ) -> CallRecord:
        if self.keys:
            raise self.error
        return super().call(service, tool, arguments, key)


@pytest.mark.parametrize(
    ("error", "boundary"), [(EnvironmentFault("loops"), "environment"), (KeyError("x"), "tool")]
)
async def test_what_ran_before_a_broken_call_is_recorded(error: Exception, boundary: str) -> None:
    trajectory = await play(Says(say(SET, READ)), session=BreakingSession(error))

    assert trajectory.stop_reason is StopReason.FAILURE
    assert trajectory.failure
    assert trajectory.failure.boundary == boundary
    turn = trajectory.turns[0]
    assert len(turn.calls) == 2
    assert [item.call is not None for item in turn.observations] == [True]
    assert trajectory.initial_state != trajectory.final_state


async def test_a_prompt_that_does_not_render_is_the_harness_failure() -> None:
    trajectory = await play(Says("x"), settings=make_settings(user_prompt="{{ nope }}"))

    assert trajectory.failure
    assert trajectory.failure.boundary == "harness"
    assert trajectory.turns == ()
    assert trajectory.initial_state == trajectory.final_state


async def test_text_that_cannot_be_stored_is_cleaned() -> None:
    trajectory = await play(Says("\ud800" + say(FINISH)))

    assert trajectory.turns[0].raw_text.startswith("?<tool_call>")
    assert json.loads(trajectory.model_dump_json())["stop_reason"] == "finished"


async def test_a_rollout_can_be_continued_from_any_of_its_turns() -> None:
    task = make_task()
    whole = await play(OraclePolicy(task))
    texts = tuple(turn.raw_text for turn in whole.turns)

    for num_turns in range(len(texts)):
        policy = PrefixPolicy(texts=texts[:num_turns], then=OraclePolicy(task))
        again = await play(policy)

        assert again.final_state == whole.final_state
        assert again.answer == whole.answer
        assert again.turns[-1].policy_version == f"oracle-v1:after-{num_turns}"
        assert again.simulated


async def test_a_wrong_answer_schema_is_a_recorded_failure() -> None:
    task = make_task(answer_schema={"type": "no such type"})

    trajectory = await play(Says("x"), task=task)

    assert trajectory.failure
    assert "compile the answer schema of task t_ready" in trajectory.failure.message


async def test_the_real_session_serves_an_episode() -> None:
    world = build_world(make_system(), make_task().world)
    policy = OraclePolicy(make_task())

    real = await play(policy, session=open_session(world, None, "s1"))

    assert real == await play(policy)


async def test_an_empty_answer_is_accepted_where_only_state_counts() -> None:
    task = make_task(answer={}, answer_schema={"type": "object", "maxProperties": 0})

    trajectory = await play(Says(say(("finish", {"answer": {}}))), task=task)

    assert trajectory.stop_reason is StopReason.FINISHED
    assert trajectory.answer == FrozenDict()
