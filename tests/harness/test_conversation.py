"""A task whose user says it bit by bit: who hears what when, and how such an episode ends."""

from __future__ import annotations

from typing import Any

from components.harness.oracle import OraclePolicy, write_calls
from components.harness.policy import trajectory_messages
from components.harness.transcript import TALK
from components.records.base import to_json
from components.records.task import Task
from components.records.trajectory import StopReason
from tests.harness.builders import Says, make_settings, make_task, play, seen

OPENING = "Look at ord_a1 and write to its customer that it is waiting. Wait with this."
CORRECT = "Sorry, I said waiting, but I meant ready. Go on."
REST = "Then set its status to done."
CHANGED = "Forget the parcel, by the way."
INSTRUCTION = " ".join((OPENING, CORRECT, REST, CHANGED))
CLOSING = "Nothing more."


def place(words: str, after: str = "") -> dict[str, int]:
    start = INSTRUCTION.index(words, INSTRUCTION.index(after) if after else 0)
    return {"start": start, "end": start + len(words)}


def said(words: str, after: str = "") -> dict[str, Any]:
    return {"kind": "instruction", **place(words, after)}


def talk_task(**changes: Any) -> Task:
    """The task of the other tests, said in four messages."""
    was = place("waiting")
    body = to_json(make_task())
    gold = body["gold"]
    for step in gold.values():
        if "/order_id" in step["arguments"]:
            step["arguments"]["/order_id"] = said("ord_a1")
    gold["s02"]["arguments"]["/body"] = said("ready")
    gold["s04"]["arguments"]["/status"] = said("done")
    moves = {
        "m01": {
            "kind": "correct",
            **place(CORRECT),
            "was_start": was["start"],
            "was_end": was["end"],
        },
        "m02": {"kind": "reveal", **place(REST), "after": ["m01"]},
        "m03": {"kind": "change_mind", **place(CHANGED), "about": ["parcel"]},
    }
    return make_task(
        kind="multi_turn",
        instruction=INSTRUCTION,
        demands={
            "d01": {**place(OPENING), "step": "s02"},
            "d02": {**place(CORRECT), "step": "s02"},
            "d03": {**place(REST), "step": "s04"},
        },
        gold=gold,
        answer={"note": seen("s03", "order", "note"), "customer": seen("s01", "order", "customer")},
        user={"opening": len(OPENING), "moves": moves, "closing": CLOSING, **changes},
    )


def heard(trajectory: Any) -> list[str]:
    return [turn.user for turn in trajectory.turns if turn.user]


async def test_the_oracle_does_what_is_said_and_then_writes_to_the_user() -> None:
    task = talk_task()

    trajectory = await play(OraclePolicy(task), task=task)

    assert trajectory.stop_reason is StopReason.FINISHED
    assert OPENING in trajectory.user_text
    assert CORRECT not in trajectory.user_text
    assert heard(trajectory) == [CORRECT, REST, CHANGED]
    order = [turn.calls[0].name if turn.calls else "" for turn in trajectory.turns]
    assert order == [
        "shop__get_order",
        "",
        "mail__send",
        "shop__get_order",
        "",
        "shop__set_status",
        "",
        "finish",
    ]
    (sent,) = [
        call for turn in trajectory.turns for call in turn.calls if call.name == "mail__send"
    ]
    assert sent.arguments["body"] == "ready"


async def test_the_policy_sees_the_users_answer_as_a_message() -> None:
    policy = Says("What is next?")

    trajectory = await play(policy, task=talk_task())

    seen_last = [(item.role, item.content) for item in policy.requests[1].messages][2:]
    assert seen_last == [("assistant", "What is next?"), ("user", CORRECT)]
    assert trajectory_messages(trajectory, 1)[-1].content == CORRECT
    assert trajectory.turns[0].problem == trajectory.turns[0].feedback == ""


async def test_a_policy_hears_first_what_it_asks_for() -> None:
    trajectory = await play(Says("<think>order</think>What about the PARCEL?"), task=talk_task())

    assert heard(trajectory)[:3] == [CHANGED, CORRECT, REST]


async def test_a_word_in_the_reasoning_asks_for_nothing() -> None:
    trajectory = await play(Says("<think>parcel</think>Done."), task=talk_task())

    assert heard(trajectory)[:3] == [CORRECT, REST, CHANGED]


async def test_talking_on_when_all_is_said_is_giving_up() -> None:
    trajectory = await play(
        Says("Done."), task=talk_task(), settings=make_settings(limits={"max_invalid_turns": 2})
    )

    assert trajectory.stop_reason is StopReason.GAVE_UP
    assert heard(trajectory) == [CORRECT, REST, CHANGED, CLOSING, CLOSING]


async def test_messages_to_the_user_are_a_budget() -> None:
    trajectory = await play(
        Says("Done."), task=talk_task(), settings=make_settings(limits={"max_user_turns": 1})
    )

    assert trajectory.stop_reason is StopReason.MAX_USER_TURNS
    assert heard(trajectory) == [CORRECT, REST]


async def test_a_broken_call_is_no_message_to_the_user() -> None:
    trajectory = await play(Says('<tool_call>{"name": "shop'), task=talk_task())

    assert heard(trajectory) == []
    assert trajectory.turns[0].feedback


async def test_a_script_that_cannot_be_followed_is_a_failure_of_the_user() -> None:
    moves = to_json(talk_task())["user"]["moves"]
    moves["m01"]["after"], moves["m03"]["after"] = ["m02"], ["m02"]
    task = talk_task(moves=moves)

    trajectory = await play(Says("Done."), task=task)

    assert trajectory.stop_reason is StopReason.FAILURE
    assert trajectory.failure is not None
    assert trajectory.failure.boundary == "user"
    assert trajectory.turns[-1].raw_text == "Done."


async def test_the_oracle_gives_up_where_nothing_more_is_said() -> None:
    moves = to_json(talk_task())["user"]["moves"]
    task = talk_task(moves={"m01": moves["m01"]})

    trajectory = await play(OraclePolicy(task), task=task)

    assert trajectory.stop_reason is StopReason.GAVE_UP
    assert sum(turn.raw_text == TALK for turn in trajectory.turns) == 1


async def test_without_a_user_a_turn_is_written_as_before() -> None:
    trajectory = await play(
        Says("Done.", write_calls([("shop__get_order", {"order_id": "ord_a1"})], "hermes"))
    )

    body = to_json(trajectory)
    assert "user" not in body["turns"][0]
    assert trajectory.turns[0].feedback
    assert "user" not in to_json(make_task())
    assert "max_user_turns" not in to_json(make_settings())["limits"]
