"""Verdicts on traces made elsewhere: each fact is found where it is, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attribution.records import Decision
from tests.attribution.foreign.chats import TOOLS, call, chat, checks_of, judged, says

GOOD = {"order_id": "W-100"}
FINE = {"order": {"id": "W-100", "status": "open"}}
OTHER = {"order": {"id": "W-100", "status": "closed"}}
LONG = '{"order": {"note": "' + "x" * 300
GET = call("get_order", GOOD, FINE)
TELL = says('<tool_call>{"name": "cancel_order", "arguments": {"order_id": "W-100"}}</tool_call>')

FOUND: dict[str, tuple[tuple[Any, ...], str, str, str]] = {
    "malformed": ((call("get_order", "{order", "error: bad"),), "malformed", "policy", "turn/0"),
    "unknown tool": (
        (GET, call("drop_order", GOOD, "unknown tool")), "unknown_tool", "policy", "turn/1",
    ),
    "invalid arguments": (
        (call("get_order", {"order_id": 7}, "error: order_id"),),
        "invalid_arguments", "policy", "turn/0",
    ),
    "invented value": (
        (call("get_order", {"order_id": "W-9"}, {"error": "order not found"}),
         call("get_order", {"order_id": "W-977"}, {"error": "order not found"}),),
        "invented_value", "policy", "turn/1",
    ),
    "repeated call": ((GET, GET, GET, GET), "repeated_call", "policy", "turn/2"),
    "tool broke": (
        (call("cancel_order", GOOD, "Error: Internal Server Error"),),
        "tool_broke", "environment", "tool/cancel_order#",
    ),
    "output schema": (
        (call("get_order", GOOD, {"rows": []}),),
        "output_schema", "environment", "tool/get_order#/output",
    ),
    "inconsistent read": (
        (GET, call("get_order", GOOD, OTHER)),
        "inconsistent_read", "environment", "tool/get_order#",
    ),
    "cut answer, by its mark": (
        (call("get_order", GOOD, "order W-100 open ... [truncated]"),),
        "cut_answer", "harness", "harness#/limits/max_observation_chars",
    ),
    "cut answer, by its form": (
        (call("get_order", GOOD, LONG),),
        "cut_answer", "harness", "harness#/limits/max_observation_chars",
    ),
    "cut message": (
        (GET, says("I will", finish_reason="length")),
        "cut_message", "harness", "harness#/limits/max_turn_tokens",
    ),
    "cut call": (
        (call("get_order", '{"order', None, finish_reason="length"),),
        "cut_message", "harness", "harness#/limits/max_turn_tokens",
    ),
    "unread call": ((GET, TELL), "unread_call", "harness", "harness#/parsers/hermes"),
    "dropped call": (
        (GET, call("cancel_order", GOOD, None), says("Done.")),
        "dropped_call", "harness", "harness#/tool_exposure",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_a_failure_is_blamed_on_what_its_trace_shows(name: str, tmp_path: Path) -> None:
    messages, check, party, place = FOUND[name]

    found = judged(tmp_path, chat(*messages))

    assert checks_of(found) == [check]
    assert found.verdict.decision is Decision.BLAMED
    (blame,) = found.verdict.blamed
    assert (blame.party.value, blame.place) == (party, place)
    assert blame.confidence < 0.9  # nothing was replayed


SILENT: dict[str, tuple[Any, ...]] = {
    "a call that is right": (GET, says("It is open.")),
    "a refusal by the tool's own rules": (
        call("cancel_order", GOOD, {"error": "order is shipped"}),
    ),
    "a value that the user gave": (call("get_order", GOOD, {"error": "order not found"}),),
    "a second reading after a write": (
        GET, call("cancel_order", GOOD, {"order": {}}), call("get_order", GOOD, OTHER),
    ),
    "the same answer with other spaces": (
        GET, call("get_order", GOOD, '{"order":  {"status":"open", "id":"W-100"}}'),
    ),
    "two of the same call": (GET, GET),
    "a log that speaks of errors": (
        call("get_order", GOOD, "order log: request timed out, then Internal Server Error"),
    ),
    "a text with braces": (GET, says("Use {order_id} for it.")),
    "an early stop": (says("No.", finish_reason="stop"),),
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_what_may_be_right_accuses_nobody(name: str, tmp_path: Path) -> None:
    found = judged(tmp_path, chat(*SILENT[name]))

    assert checks_of(found) == []
    assert found.verdict.decision is Decision.UNDECIDED
    assert "a reference solution" in found.verdict.would_decide


MENDED: dict[str, tuple[Any, ...]] = {
    "a call that was corrected": (call("get_order", {"id": 1}, "error: order_id missing"), GET),
    "a call that was answered all the same": (call("get_order", {"order_id": 7}, FINE),),
    "a value that was looked up then": (
        call("get_order", {"order_id": "W-977"}, {"error": "order not found"}), GET,
    ),
    "a tool that answered the second time": (call("get_order", GOOD, "Error: timed out"), GET),
    "a tool that is not there, then another": (call("find_order", GOOD, "unknown tool"), GET),
    "a message that was cut, and one after it": (says("I", finish_reason="length"), GET),
    "a call that was written again": (TELL, call("cancel_order", GOOD, {"order": {}})),
}  # fmt: skip


@pytest.mark.parametrize("name", MENDED)
def test_what_was_made_good_later_is_evidence_and_no_blame(name: str, tmp_path: Path) -> None:
    found = judged(tmp_path, chat(*MENDED[name]))

    assert len(found.evidence) == 1
    assert found.evidence[0].data["mended"] is True
    assert found.verdict.decision is Decision.UNDECIDED


def test_a_value_that_does_not_fit_and_is_the_users_own_is_blamed_weakly(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"order_id": {"pattern": "^#W-[0-9]+$"}}}
    tool = {"type": "function", "function": {"name": "get_order", "parameters": schema}}
    sure = []
    for value in ("W-100", "W-200"):  # the user asks for the first
        line = chat(call("get_order", {"order_id": value}, "error: order_id"), tools=[tool])
        (blame,) = judged(tmp_path, line).verdict.blamed
        sure.append(blame.confidence)

    assert sure == [0.5, 0.75]


def test_the_earliest_of_several_parties_is_named_first_and_nobody_is_likely(
    tmp_path: Path,
) -> None:
    line = chat(
        call("cancel_order", GOOD, "Error: Internal Server Error"),
        call("drop_order", GOOD, "unknown tool"),
    )

    found = judged(tmp_path, line)

    parties = [(blame.party.value, blame.confidence) for blame in found.verdict.blamed]
    assert parties == [("environment", 0.5), ("policy", 0.5)]


@pytest.mark.parametrize(
    ("more", "decision"),
    [
        ({"outcome": "passed"}, Decision.CLEARED),
        ({"outcome": None, "reward": 1}, Decision.CLEARED),
        ({"outcome": None, "reward": 0.5}, Decision.BLAMED),
        ({"outcome": None}, Decision.UNDECIDED),
        ({"outcome": "failed", "error": "connection lost"}, Decision.NOT_JUDGED),
        ({"outcome": "failed", "finish_reason": "content_filter"}, Decision.NOT_JUDGED),
    ],
)
def test_the_outcome_decides_what_facts_amount_to(
    more: dict[str, Any], decision: Decision, tmp_path: Path
) -> None:
    line = chat(call("cancel_order", GOOD, "Error: Internal Server Error"), says("Sorry."))

    found = judged(tmp_path, {**line, **more})

    assert found.verdict.decision is decision
    assert bool(found.verdict.blamed) == (decision is Decision.BLAMED)
    assert ("outcome" in found.verdict.would_decide) == (decision is Decision.UNDECIDED)
    assert found.evidence


def test_without_schemas_and_answers_the_verdict_says_what_is_missing(tmp_path: Path) -> None:
    line = chat(call("anything", {"a": 1}, None), tools=None)

    found = judged(tmp_path, line)

    assert found.verdict.decision is Decision.UNDECIDED
    assert "the schemas of the tools" in found.verdict.would_decide
    assert "what the tools answered" in found.verdict.would_decide


def test_a_refusal_that_was_never_made_good_is_asked_about(tmp_path: Path) -> None:
    refused = call("cancel_order", GOOD, {"error": "order is shipped"})

    found = judged(tmp_path, chat(GET, refused, says("It is shipped.")))
    answered = judged(tmp_path, chat(refused, call("cancel_order", GOOD, {"order": {}})))

    asked = "whether cancel_order was right to refuse in turn 1"
    assert found.verdict.would_decide.startswith(asked)
    assert "right to refuse" not in answered.verdict.would_decide


def test_a_schema_that_names_another_document_fetches_nothing(tmp_path: Path) -> None:
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.2)
        reference = {"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"}
        tool = {"type": "function", "function": {"name": "get_order", "parameters": reference}}

        found = judged(tmp_path, chat(call("get_order", {"order_id": 7}, FINE), tools=[tool]))

        with pytest.raises(TimeoutError):
            server.accept()
    assert checks_of(found) == []


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    line = chat(*FOUND["inconsistent read"][0], call("drop_order", GOOD, "unknown tool"))

    first, second = judged(tmp_path, line), judged(tmp_path, {**line, "tools": TOOLS})

    assert first.model_dump_json() == second.model_dump_json()
