"""Claims about the oracle: it plays gold from what it is shown, and from nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from components.harness.oracle import OraclePolicy, shown_instruction, write_calls
from components.harness.policy import Message, PrefixPolicy
from components.harness.transcript import read_transcript
from components.records.frozen import FrozenDict
from components.records.harness import HarnessSettings, ParserSettings
from components.records.trajectory import StopReason, Trajectory
from tests.harness.builders import INSTRUCTION, make_settings, make_task, play, seen, span

ANSWER = {"customer": "ann@example.com", "note": "mailed ann@example.com"}
GOLD = ["shop__get_order", "mail__send", "shop__get_order", "shop__set_status", "finish"]


def names(trajectory: Trajectory) -> list[str]:
    return [call.name for turn in trajectory.turns for call in turn.calls]


def only(parser: str, **changes: Any) -> HarnessSettings:
    return make_settings(parsers=FrozenDict({parser: ParserSettings(rank=0)}), **changes)


async def test_the_oracle_plays_gold_and_finishes() -> None:
    trajectory = await play(OraclePolicy(make_task()))

    assert names(trajectory) == GOLD
    assert trajectory.stop_reason is StopReason.FINISHED
    assert trajectory.answer == ANSWER


async def test_the_second_reading_is_used_after_a_reaction_changed_it() -> None:
    trajectory = await play(OraclePolicy(make_task()))

    assert trajectory.answer
    assert trajectory.answer["note"] == "mailed ann@example.com"
    assert trajectory.turns[1].calls[0].arguments["to"] == "ann@example.com"


@pytest.mark.parametrize(
    ("parser", "num_unread"), [("json_block", 1), ("bare_json", 2), ("openai", 3)]
)
async def test_the_oracle_finds_a_format_that_the_harness_reads(
    parser: str, num_unread: int
) -> None:
    settings = only(parser, limits={"max_invalid_turns": 4})

    trajectory = await play(OraclePolicy(make_task()), settings=settings)

    assert trajectory.answer == ANSWER
    assert names(trajectory) == GOLD
    assert [turn.problem != "" for turn in trajectory.turns] == [True] * num_unread + [False] * 5


async def test_the_oracle_writes_the_format_that_the_prompt_asks_for() -> None:
    prompt = make_settings().system_prompt.replace("<tool_call>", "```json ")
    settings = only("json_block", system_prompt=prompt)

    trajectory = await play(OraclePolicy(make_task()), settings=settings)

    assert len(trajectory.turns) == 5


async def test_long_answers_are_read_page_by_page() -> None:
    settings = make_settings(limits={"max_observation_chars": 50, "max_turns": 12})

    trajectory = await play(OraclePolicy(make_task()), settings=settings)

    assert trajectory.answer == ANSWER
    assert [name for name in names(trajectory) if name != "read_more"] == GOLD
    assert names(trajectory).count("read_more") == 4


async def test_only_the_pages_that_are_needed_are_read() -> None:
    task = make_task(answer={"note": seen("s03", "order", "note"), "customer": span("ord_a1")})
    settings = make_settings(limits={"max_observation_chars": 50})

    trajectory = await play(OraclePolicy(task), settings=settings)

    asked = [
        call.arguments["call_id"]
        for turn in trajectory.turns
        for call in turn.calls
        if call.name == "read_more"
    ]
    assert len(set(asked)) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"user_prompt": "{{ instruction[:20] }}"},
        {"hidden_tools": ("mail__send",)},
        {"observation": "{{ body[:40] }}"},
        {"observation": "done"},
        {"system_prompt": "{% for tool in tools %}{{ tool.name }} {% endfor %}"},
        {"system_prompt": "no tools"},
    ],
)
async def test_the_oracle_fails_when_the_harness_hides_what_it_needs(
    changes: dict[str, Any],
) -> None:
    trajectory = await play(OraclePolicy(make_task()), settings=make_settings(**changes))

    assert trajectory.answer != ANSWER
    assert trajectory.stop_reason is not StopReason.FINISHED


async def test_other_wording_around_instruction_and_answers_does_not_matter() -> None:
    settings = make_settings(
        user_prompt="Dear agent! {{ instruction }} Thank you.",
        observation="[{{ call_id }}] {{ name }} says: {{ body }}",
        tool_style="signature",
    )

    trajectory = await play(OraclePolicy(make_task()), settings=settings)

    assert trajectory.answer == ANSWER


async def test_a_call_that_fails_is_tried_once_more_and_then_given_up() -> None:
    task = make_task()
    gold = {**task.gold, "s01": task.gold["s01"].model_copy(update={"tool": "get_order"})}
    wrong = task.gold["s04"].arguments | {"/status": task.gold["s04"].arguments["/order_id"]}
    gold["s04"] = task.gold["s04"].model_copy(update={"arguments": FrozenDict(wrong)})
    task = task.model_copy(update={"gold": FrozenDict(gold)})

    trajectory = await play(OraclePolicy(task), task=task)

    assert names(trajectory) == [*GOLD[:4], "shop__set_status", "finish"]
    assert trajectory.stop_reason is StopReason.FINISHED


async def test_an_answer_that_cannot_be_derived_is_not_invented() -> None:
    task = make_task(answer={"note": seen("s03", "order", "gone"), "customer": span("ord_a1")})

    trajectory = await play(OraclePolicy(task), task=task)

    assert trajectory.stop_reason is StopReason.GAVE_UP
    assert trajectory.answer is None


async def test_the_oracle_takes_over_after_reads_in_another_order_and_format() -> None:
    task = make_task()
    extra = write_calls([("shop__list_orders", {})], "json_block")
    read = write_calls([("shop.get_order", {"order_id": "ord_a1"})], "bare_json")
    policy = PrefixPolicy(texts=(extra, read, read), then=OraclePolicy(task))

    trajectory = await play(policy)

    assert names(trajectory) == ["shop__list_orders", "shop__get_order", *GOLD]
    assert trajectory.answer == ANSWER


async def test_a_write_made_before_golds_own_reading_is_not_made_again() -> None:
    found = write_calls([("shop__list_orders", {})], "hermes")
    arguments = {"to": "ann@example.com", "order_id": "ord_a1", "body": "ready & waiting"}
    sent = write_calls([("mail__send", arguments)], "hermes")

    trajectory = await play(PrefixPolicy(texts=(found, sent), then=OraclePolicy(make_task())))

    assert names(trajectory)[:2] == ["shop__list_orders", "mail__send"]
    assert names(trajectory).count("mail__send") == 1
    assert trajectory.stop_reason is StopReason.FINISHED


async def test_one_oracle_serves_rollouts_at_once() -> None:
    policy = OraclePolicy(make_task())

    first, second = await play(policy), await play(policy)

    assert first == second


def test_a_shortened_instruction_is_known_as_far_as_it_is_shown() -> None:
    def shown(text: str) -> str:
        return shown_instruction(INSTRUCTION, [Message(role="user", content=text)])

    assert shown(f"Do this: {INSTRUCTION} Now.") == INSTRUCTION
    assert shown(f"Do this: {INSTRUCTION[:30]}...") == INSTRUCTION[:30]
    assert shown(INSTRUCTION.replace("&", "&amp;")) == INSTRUCTION.split("&")[0] + "&"
    assert shown("") == ""


def test_a_transcript_pairs_each_call_with_its_own_answer() -> None:
    calls = write_calls([("a__x", {}), ("a__y", {})], "hermes")
    messages = [
        Message(role="assistant", content=calls),
        Message(role="tool", content='{"ok":true,"data":1}'),
        Message(role="tool", content='{"ok":false,"error":{}}'),
        Message(role="assistant", content="what?"),
        Message(role="user", content="no call"),
    ]

    transcript = read_transcript(messages)

    assert [(item.name, item.data, item.is_error) for item in transcript.exchanges] == [
        ("a__x", 1, False),
        ("a__y", None, True),
    ]
    assert (transcript.style, transcript.num_unread) == ("hermes", 1)
