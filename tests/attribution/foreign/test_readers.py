"""Three forms of traces, read into one; and files that are none, refused in one line each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attribution.foreign.judge import judge_trace
from attribution.foreign.read import guess_format, read_traces
from attribution.foreign.reading import MAX_LINE_CHARACTERS
from attribution.foreign.records import ForeignTrace, Outcome, Speaker
from attribution.records import Decision
from components.errors import ConfigError
from tests.attribution.foreign.chats import TOOLS, call, chat, checks_of, says, write_lines

ASK = {"role": "user", "parts": [{"type": "text", "content": "Cancel W-100."}]}
CALL = {"type": "tool_call", "id": "c1", "name": "get_order", "arguments": {"order_id": "W-100"}}
DEFINITIONS = json.dumps([{"type": "function", **tool["function"]} for tool in TOOLS])


def span(operation: str, start: int, **attributes: Any) -> dict[str, Any]:
    """Return a span with attributes as an object; `__` in a name stands for a dot."""
    named = {f"gen_ai.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return {
        "name": operation,
        "traceId": "t1",
        "startTimeUnixNano": str(start),
        "attributes": {"gen_ai.operation.name": operation, **named},
    }


def spans(answer: str, **tool: Any) -> list[dict[str, Any]]:
    """Return the spans of an episode with one call, out of order."""
    asked = {"role": "assistant", "parts": [CALL]}
    answered = {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "c1", "response": answer}],
    }
    said = {"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}
    return [
        span(
            "chat", 30,
            input__messages=json.dumps([ASK, asked, answered]),
            output__messages=json.dumps([said]),
            tool__definitions=DEFINITIONS,
            response__finish_reasons=["stop"],
        ),
        span("chat", 10, input__messages=json.dumps([ASK]), output__messages=json.dumps([asked])),
        span("execute_tool", 20, tool__name="get_order", tool__call__id="c1", **tool),
        span("invoke_agent", 5),
    ]  # fmt: skip


def otlp(body: dict[str, Any]) -> dict[str, Any]:
    """Return a span as an export of OTLP has it: attributes as a list, inside an envelope."""

    def value(item: Any) -> dict[str, Any]:
        if isinstance(item, list):
            return {"arrayValue": {"values": [value(inner) for inner in item]}}
        return {"stringValue": item}

    listed = [{"key": key, "value": value(item)} for key, item in body["attributes"].items()]
    return {"resourceSpans": [{"scopeSpans": [{"spans": [{**body, "attributes": listed}]}]}]}


def only(path: Path) -> ForeignTrace:
    (trace,) = read_traces(path, None)
    return trace


def test_answers_are_given_to_calls_in_their_order_where_ids_come_again(tmp_path: Path) -> None:
    line = chat(
        call("get_order", {"order_id": "W-100"}, {"order": 1}),
        call("get_order", {"order_id": "W-100"}, {"order": 2}),
        says("Done.", finish_reason="stop"),
    )

    trace = only(write_lines(tmp_path / "a.jsonl", [line]))

    texts = [item.answer.text for m in trace.messages for item in m.calls if item.answer]
    assert texts == ['{"order": 1}', '{"order": 2}']
    assert [message.speaker for message in trace.messages] == [
        Speaker.USER, *[Speaker.AGENT] * 3,
    ]  # fmt: skip
    assert trace.messages[-1].stop == "stop"
    assert trace.outcome is Outcome.FAILED


def test_traces_of_one_name_get_names_of_their_own(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [chat(says("a"), id="x"), chat(says("b"), id="x")])

    assert [trace.trace_id for trace in read_traces(path, None)] == ["x", "x-2"]


@pytest.mark.parametrize("wrap", [lambda body: body, otlp], ids=["plain", "otlp"])
def test_spans_of_one_trace_are_one_episode(wrap: Any, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [wrap(item) for item in spans('{"order": {}}')])

    trace = only(path)

    assert guess_format(path) == "otel"
    assert [message.speaker.value for message in trace.messages] == ["user", "agent", "agent"]
    ((made,),) = [message.calls for message in trace.messages if message.calls]
    assert (made.name, made.arguments) == ("get_order", {"order_id": "W-100"})
    assert made.answer is not None
    assert made.answer.text == '{"order": {}}'
    assert sorted(trace.tools) == ["cancel_order", "get_order"]
    assert (trace.messages[-1].text, trace.messages[-1].stop) == ("Done.", "stop")
    assert trace.outcome is Outcome.UNKNOWN


def test_an_error_of_a_tool_stands_in_its_own_span(tmp_path: Path) -> None:
    lines = spans("Internal Server Error", tool__call__result="Internal Server Error")
    lines[2]["attributes"]["error.type"] = "500"
    lines[3]["events"] = [
        {
            "name": "gen_ai.evaluation.result",
            "attributes": {
                "gen_ai.evaluation.score.label": "fail",
                "gen_ai.evaluation.score.value": 3.5,
            },
        }
    ]

    found = judge_trace(only(write_lines(tmp_path / "a.jsonl", lines)))

    assert checks_of(found) == ["tool_broke"]
    assert found.verdict.decision is Decision.BLAMED


def test_without_recorded_messages_the_tools_spans_are_judged(tmp_path: Path) -> None:
    lines = [
        span("chat", 1, tool__definitions=DEFINITIONS),
        span("execute_tool", 2, tool__name="get_order", tool__call__arguments='{"order_id": 7}'),
    ]

    found = judge_trace(only(write_lines(tmp_path / "a.jsonl", lines)))

    assert checks_of(found) == ["invalid_arguments"]


def test_an_endpoint_that_broke_is_not_judged(tmp_path: Path) -> None:
    lines = spans('{"order": {}}')
    lines[0]["attributes"]["error.type"] = "timeout"

    found = judge_trace(only(write_lines(tmp_path / "a.jsonl", lines)))

    assert found.verdict.decision is Decision.NOT_JUDGED
    assert not found.evidence[0].against


def tau2(path: Path, *messages: dict[str, Any], **more: Any) -> Path:
    """Write a results file with one failed simulation."""
    scenario = {"instructions": {"known_info": "You are Mia. Your order is #W-1001."}}
    run = {
        "id": "s1",
        "task_id": "7",
        "termination_reason": "user_stop",
        "reward_info": {"reward": 0.0},
        "messages": list(messages),
        **more,
    }
    body = {
        "info": {"environment_info": {"tool_defs": None}},
        "tasks": [{"id": "7", "user_scenario": scenario}],
        "simulations": [run],
    }
    path.write_text(json.dumps(body, indent=2))
    return path


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text, "tool_calls": None}


def agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": None}


def test_results_of_tau2_have_both_sides_and_the_scenario(tmp_path: Path) -> None:
    path = tau2(
        tmp_path / "results.json",
        agent("Hi!"),
        user("Cancel #W-1001."),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "k", "name": "cancel", "arguments": {"id": "#W-1001"}, "requestor": "x"}
            ],
        },
        {"role": "tool", "id": "k", "content": "KeyError: 'orders'", "error": True},
    )

    trace = only(path)
    found = judge_trace(trace)

    assert (trace.trace_id, trace.task_id, trace.outcome) == ("s1", "7", Outcome.FAILED)
    assert checks_of(found) == ["tool_broke"]


def test_what_the_benchmarks_evaluator_misses_is_what_would_decide(tmp_path: Path) -> None:
    assertion = {"env_type": "user", "func_name": "assert_speed", "arguments": {"least": 200}}
    action = {"requestor": "user", "name": "toggle_roaming", "arguments": {}}
    reward = {
        "reward": 0.0,
        "db_check": {"db_match": False},
        "env_assertions": [
            {"env_assertion": assertion, "met": False},
            {"env_assertion": {**assertion, "func_name": "assert_signal"}, "met": True},
        ],
        "action_checks": [{"action": action, "action_match": False}],
        "nl_assertions": None,
    }
    path = tau2(tmp_path / "r.json", user("Hi."), agent("Hello."), reward_info=reward)

    trace = only(path)

    assert trace.unmet == (
        'assert_speed({"least": 200}) of the user',
        "toggle_roaming({}) of the user",
        "the database is not as it should be",
    )
    assert "how this could be met from there: assert_speed" in (
        judge_trace(trace).verdict.would_decide
    )


SIMULATED = {
    "an id of nobody": (
        ("Hi, cancel #W-1001.", "Which one?", "And #W-2002."), ["unknown_to_user"],
    ),
    "two values": (
        ("My order id is #W-1001.", "Is it #W-1005?", "My order id is #W-1005."), ["two_values"],
    ),
    "a correction": (
        ("My order id is #W-1001.", "Is it #W-1005?", "Sorry, my order id is #W-1005."), [],
    ),
    "what the agent named": (("Hello.", "There is #W-3003.", "Then cancel #W-3003."), []),
    "plain numbers": (("Cancel #W-1001.", "How many?", "12 of 2024, or 15.50"), []),
}  # fmt: skip


@pytest.mark.parametrize("name", SIMULATED)
def test_a_simulated_user_is_held_against_its_scenario(name: str, tmp_path: Path) -> None:
    (first, asked, second), checks = SIMULATED[name]
    path = tau2(tmp_path / "results.json", user(first), agent(asked), user(second), agent("Done."))

    found = judge_trace(only(path))

    assert checks_of(found) == checks
    assert [blame.place for blame in found.verdict.blamed] == ["user_simulator#"] * len(checks)


@pytest.mark.parametrize(
    ("ended", "decision", "place"),
    [
        ("infrastructure_error", Decision.NOT_JUDGED, ""),
        ("user_error", Decision.BLAMED, "user_simulator#"),
        ("agent_error", Decision.BLAMED, "turn/0"),
        ("max_steps", Decision.BLAMED, "harness#/limits/max_turns"),
        ("agent_stop", Decision.UNDECIDED, ""),
    ],
)
def test_how_a_simulation_ended_counts(
    ended: str, decision: Decision, place: str, tmp_path: Path
) -> None:
    path = tau2(tmp_path / "r.json", user("Hi."), agent("Hello."), termination_reason=ended)

    found = judge_trace(only(path))

    assert found.verdict.decision is decision
    assert [blame.place for blame in found.verdict.blamed] == ([place] if place else [])


DEEP = '{"messages": ' + "[" * 5000 + "]" * 5000 + "}"
BAD_LINES = {
    "no JSON": ('{"messages": [', "line 2: is no JSON"),
    "NaN": ('{"messages": [], "reward": NaN}', "line 2: is no JSON (NaN is no finite number)"),
    "too large a number": ('{"messages": [], "reward": 1e999}', "line 2: is no JSON"),
    "a list": ("[1, 2]", "line 2: is no JSON object but a list"),
    "no messages": ('{"tools": []}', "line 2: has no messages"),
    "messages of texts": ('{"messages": ["a"]}', "line 2: messages is no list of objects"),
    "a role of nobody": ('{"messages": [{"role": "robot"}]}', "line 2: messages.0 has the role"),
    "a reward of words": ('{"messages": [], "reward": "high"}', "line 2: reward is no number"),
    "an outcome of words": ('{"messages": [], "outcome": "meh"}', "line 2: outcome is 'meh'"),
    "a tool without a name": ('{"messages": [], "tools": [{}]}', "line 2: tools.0 has no name"),
    "too deep": (DEEP, "line 2: is nested too deep"),
    "an endless number": ('{"messages": [], "reward": ' + "9" * 5000 + "}", "line 2: is no JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_named(name: str, tmp_path: Path) -> None:
    text, words = BAD_LINES[name]
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps(chat(says("a"))) + "\n" + text + "\n")

    with pytest.raises(ConfigError) as refused:
        read_traces(path, None)

    assert str(refused.value).startswith(f"traces: {path} {words}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "looks like no known format"),
        (b"\xff\xfe\x00", "it is no UTF-8 text"),
        (b'{"a": 1}\n', "looks like no known format"),
        (b'{"simulations": 3}', "simulations is no list of objects"),
        (b'{"simulations": []}', "holds no trace in the form of tau2"),
        (b'{"attributes": {}}\n{"name": "x"}\n', "line 2: is no span"),
        (b'{"attributes": {}}\n', "holds no trace in the form of otel"),
    ],
)
def test_a_file_that_holds_no_traces_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "traces"
    path.write_bytes(content)

    with pytest.raises(ConfigError, match=words):
        read_traces(path, None)


def test_a_line_that_is_too_long_is_refused_before_it_is_held_whole(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text('{"messages": [], "id": "' + "x" * MAX_LINE_CHARACTERS + '"}\n')

    with pytest.raises(ConfigError, match=f"line 1: has more than {MAX_LINE_CHARACTERS}"):
        read_traces(path, "openai")


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "assistant", "tool_calls": [{"id": 7, "function": None}]}]},
        {"messages": [{"role": "assistant", "content": [{"type": "image_url"}, 3]}]},
        {"messages": [{"role": "tool", "content": {"a": [1]}}], "tools": [{"name": "a"}]},
        {"messages": [{"role": "assistant", "content": "\ud800", "tool_calls": []}]},
        {"messages": [], "tools": [{"name": "t", "parameters": {"type": 7}}]},
        {"messages": [{"role": "assistant", "tool_calls": [{"name": "t", "arguments": [1]}]}]},
    ],
)
def test_odd_messages_are_judged_and_break_nothing(body: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps({**body, "outcome": "failed"}) + "\n")

    for trace in read_traces(path, None):
        assert judge_trace(trace).verdict.decision in Decision
