"""Claims about reading calls out of text: every malformed output that users report is here."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.errors import HarnessError
from components.harness.defaults import default_harness
from components.harness.oracle import write_calls
from components.harness.parsing import ParsedTurn, parse_turn, resolve_name, visible_text
from components.records.base import to_json
from components.records.frozen import FrozenDict, JsonObject, freeze, thaw
from components.records.harness import HarnessSettings, ParserSettings

GET: JsonObject = freeze({"type": "object", "properties": {"ticket_id": {"type": "string"}}})
TAG: JsonObject = freeze(
    {
        "type": "object",
        "properties": {"tags": {"type": "array"}, "text": {"type": ["string", "object"]}},
    }
)
TOOLS = {"helpdesk__get_ticket": GET, "helpdesk__tag": TAG, "finish": GET, "read_more": GET}
HARNESS = default_harness()


def parse(text: str, harness: HarnessSettings = HARNESS) -> ParsedTurn:
    return parse_turn(text, harness, TOOLS)


def calls_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, thaw(call.arguments)) for call in parse(text).calls]


def only(*names: str) -> HarnessSettings:
    parsers = {
        name: ParserSettings(rank=rank, enabled=name in names)
        for rank, name in enumerate(("hermes", "json_block", "openai", "bare_json"))
    }
    return HARNESS.model_copy(update={"parsers": FrozenDict(parsers)})


ONE = ("helpdesk__get_ticket", {"ticket_id": "tkt_1"})
TWO = ("helpdesk__get_ticket", {"ticket_id": "tkt_2"})
BODY = '{"name": "helpdesk__get_ticket", "arguments": {"ticket_id": "tkt_1"}}'
BODY_TWO = '{"name": "helpdesk__get_ticket", "arguments": {"ticket_id": "tkt_2"}}'
SEND = '{"name": "helpdesk__delete_all", "arguments": {}}'


@pytest.mark.parametrize("style", ["hermes", "json_block", "bare_json", "openai"])
def test_each_format_is_read_by_its_own_parser_alone(style: str) -> None:
    text = write_calls([ONE, TWO], style)

    alone = parse(text, only(style))
    others = parse(text, only(*({"hermes", "json_block", "bare_json", "openai"} - {style})))

    assert [(call.name, call.arguments, call.parser) for call in alone.calls] == [
        (*ONE, style),
        (*TWO, style),
    ]
    assert others.calls == ()
    assert others.problem
    assert others.is_attempt


def test_parallel_calls_are_all_kept() -> None:
    text = f"<tool_call>{BODY}</tool_call> and\n<tool_call>{BODY_TWO}</tool_call>"

    parsed = parse(text)

    assert calls_of(text) == [ONE, TWO]
    assert [call.call_id for call in parsed.calls] == ["t00c1", "t00c2"]
    assert parsed.problem == ""


@pytest.mark.parametrize(
    "text",
    [
        f"<think>maybe <tool_call>{SEND}</tool_call></think><tool_call>{BODY}</tool_call>",
        f"maybe <tool_call>{SEND}</tool_call></think>\n<tool_call>{BODY}</tool_call>",
        f"<think>a <think> b </think><tool_call>{SEND}</tool_call></think>"
        f"<tool_call>{BODY}</tool_call>",
        f"<thinking>\n```json\n{SEND}\n```\n</thinking>\n<tool_call>{BODY}</tool_call>",
        '<think>{"note": "</think>"}<tool_call>'
        + SEND
        + f"</tool_call></think><tool_call>{BODY}</tool_call>",
    ],
)
def test_a_draft_in_a_think_block_is_never_a_call(text: str) -> None:
    assert calls_of(text) == [ONE]


def test_an_unclosed_think_block_hides_everything_after_it() -> None:
    parsed = parse(f"<think>I will <tool_call>{SEND}</tool_call>")

    assert parsed.calls == ()
    assert parsed.problem == "its reasoning was not closed, so no call follows it"


def test_calls_around_a_think_block_are_kept() -> None:
    text = f"<tool_call>{BODY}</tool_call><think>hm</think><tool_call>{BODY_TWO}</tool_call>"

    assert calls_of(text) == [ONE, TWO]


def test_think_tags_inside_an_argument_are_text() -> None:
    body = '{"name": "helpdesk__tag", "arguments": {"text": "say <think>x</think>"}}'

    assert calls_of(f"<tool_call>{body}</tool_call>") == [
        ("helpdesk__tag", {"text": "say <think>x</think>"})
    ]


@pytest.mark.parametrize("between", ["", " ", "\n", ",\n", ";"])
def test_glued_json_objects_are_separate_calls(between: str) -> None:
    assert calls_of(f"{BODY}{between}{BODY_TWO}") == [ONE, TWO]
    assert calls_of(f"<tool_call>{BODY}{between}{BODY_TWO}</tool_call>") == [ONE, TWO]
    assert calls_of(f"```json\n{BODY}{between}{BODY_TWO}\n```") == [ONE, TWO]


@pytest.mark.parametrize(
    "name",
    [
        "helpdesk__get_tickethelpdesk__get_ticket",
        "helpdesk__get_ticket helpdesk__get_ticket",
        "helpdesk__get_ticket__helpdesk__get_ticket",
        "helpdesk.get_tickethelpdesk.get_ticket",
        "functions.helpdesk__get_ticket",
        "tools:helpdesk__get_ticket",
        "helpdesk.get_ticket",
        "helpdesk.helpdesk__get_ticket",
        "functions.helpdesk.get_ticket",
        " helpdesk__get_ticket\n",
    ],
)
def test_a_doubled_or_prefixed_name_means_the_shown_tool(name: str) -> None:
    assert resolve_name(name, TOOLS) == "helpdesk__get_ticket"


def test_an_unknown_name_is_still_a_call() -> None:
    assert calls_of('<tool_call>{"name": "get_tickets", "arguments": {"a": 1}}</tool_call>') == [
        ("get_tickets", {"a": 1})
    ]


def test_a_forgotten_bracket_before_the_closing_mark_is_added() -> None:
    assert calls_of(f"<tool_call>{BODY[:-1]}</tool_call>") == [ONE]
    assert calls_of(f"<tool_call>{BODY[:-2]}\n</tool_call>") == [ONE]
    assert calls_of(f"```json\n{BODY[:-2]}\n```") == [ONE]


def test_a_forgotten_last_bracket_at_the_end_is_added() -> None:
    assert calls_of(f"<tool_call>{BODY[:-1]}") == [ONE]


@pytest.mark.parametrize("cut", range(2, len(BODY) - len('{"name"')))
def test_truncated_json_is_a_problem_and_never_a_shorter_value(cut: int) -> None:
    parsed = parse(f"<tool_call>{BODY[:-cut]}")

    assert parsed.calls == ()
    assert parsed.problem.startswith("in <tool_call>, the JSON breaks at character")


def test_a_cut_number_is_never_completed() -> None:
    parsed = parse('<tool_call>{"name": "helpdesk__tag", "arguments": {"limit": 1')

    assert parsed.calls == ()


def test_a_bracket_too_many_is_ignored() -> None:
    assert calls_of(f"<tool_call>{BODY}}}</tool_call>") == [ONE]


def test_a_missing_closing_tag_is_no_problem() -> None:
    assert calls_of(f"<tool_call>{BODY}\n<tool_call>{BODY_TWO}") == [ONE, TWO]


def test_all_arguments_as_one_json_string_are_decoded() -> None:
    inner = json.dumps('{"ticket_id": "tkt_1"}')
    twice = json.dumps(inner)
    for text in (inner, twice):
        body = f'{{"name": "helpdesk__get_ticket", "arguments": {text}}}'
        assert calls_of(f"<tool_call>{body}</tool_call>") == [ONE]


def test_one_argument_as_json_string_is_decoded_where_the_schema_wants_no_text() -> None:
    body = {"name": "helpdesk__tag", "arguments": {"tags": '["a"]', "text": '{"b": 1}'}}

    assert calls_of(json.dumps(body)) == [("helpdesk__tag", {"tags": ["a"], "text": '{"b": 1}'})]


def test_an_openai_message_with_empty_arguments_is_a_call_without_any() -> None:
    call = {"id": "x", "type": "function", "function": {"name": "finish", "arguments": ""}}

    assert calls_of(json.dumps({"tool_calls": [call]})) == [("finish", {})]


@pytest.mark.parametrize(
    "body",
    [
        "{'name': 'helpdesk__get_ticket', 'arguments': {'ticket_id': 'tkt_1'}}",
        '{"name": "helpdesk__get_ticket", "arguments": {"ticket_id": "tkt_1",},}',
        """{'name': "helpdesk__get_ticket", 'arguments': {'ticket_id': 'tkt_1'},}""",
    ],
)
def test_single_quotes_and_trailing_commas_are_read(body: str) -> None:
    assert calls_of(f"<tool_call>{body}</tool_call>") == [ONE]


def test_single_quoted_text_keeps_its_quotes() -> None:
    body = (
        """{'name': 'helpdesk__tag', 'arguments': {'text': 'a "b" it\\'s', 'n': None, 'y': True}}"""
    )

    assert calls_of(f"<tool_call>{body}</tool_call>") == [
        ("helpdesk__tag", {"text": 'a "b" it\'s', "n": None, "y": True})
    ]


def test_an_apostrophe_in_single_quotes_is_ambiguous_and_refused() -> None:
    parsed = parse(
        "<tool_call>{'name': 'helpdesk__tag', 'arguments': {'text': 'it's'}}</tool_call>"
    )

    assert parsed.calls == ()
    assert parsed.problem.startswith("in <tool_call>, the JSON breaks")


def test_line_breaks_inside_a_string_are_kept() -> None:
    body = '{"name": "helpdesk__tag", "arguments": {"text": "a\nb"}}'

    assert calls_of(f"<tool_call>{body}</tool_call>") == [("helpdesk__tag", {"text": "a\nb"})]


def test_readable_calls_run_and_the_broken_one_is_named() -> None:
    parsed = parse(f'<tool_call>{BODY}</tool_call><tool_call>{{"name": oops}}</tool_call>')

    assert [call.name for call in parsed.calls] == ["helpdesk__get_ticket"]
    assert parsed.problem.startswith("in <tool_call>, the JSON breaks")


def test_a_call_quoted_in_a_broken_call_is_not_executed() -> None:
    text = (
        f"<tool_call>{{'name': 'x', 'arguments': {{'text': 'it's <tool_call>{SEND}'}}}}</tool_call>"
    )

    assert parse(text).calls == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it holds no tool call"),
        ("All done.", "it holds no tool call"),
        ('The answer is {"name": "Bob"}.', "it holds no tool call"),
        ('{"name": "Bob", "age": 3}', "it holds no tool call"),
    ],
)
def test_text_without_a_call_is_no_attempt(text: str, problem: str) -> None:
    parsed = parse(text)

    assert (parsed.calls, parsed.problem, parsed.is_attempt) == ((), problem, False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<tool_call></tool_call>", "in <tool_call>, there is no JSON object"),
        ("<tool_call>", "in <tool_call>, the text ends before the call"),
        ("<tool_call>get_ticket(1)</tool_call>", "in <tool_call>, there is no JSON object"),
        ("<tool_call>{}</tool_call>", "a call has no name"),
        (
            f"<tool_call>{BODY} please</tool_call>",
            "in <tool_call>, text follows the JSON",
        ),
        (
            '<tool_call>{"name": "finish", "arguments": [1]}</tool_call>',
            "the arguments of 'finish' are not a JSON object",
        ),
        (f"{BODY} and then I wait", "text follows the JSON of the call"),
        (
            '<tool_call>{"name": "finish", "arguments": {"x": NaN}}</tool_call>',
            "in <tool_call>, the JSON holds NaN, which is no JSON number",
        ),
        (
            '<tool_call>{"name": "finish", "arguments": {"x": 1e999}}</tool_call>',
            "in <tool_call>, the JSON holds a number that is too large",
        ),
        (
            '<tool_call>{"name": "finish", "arguments": {"x": "\\ud800"}}</tool_call>',
            "in <tool_call>, the JSON holds half of a surrogate pair",
        ),
        (
            '<tool_call>{"name": "finish", "arguments": {"x": ' + "[" * 70 + "]" * 70 + "}}",
            "in <tool_call>, the JSON is nested more than 64 levels deep",
        ),
    ],
)
def test_what_cannot_be_read_is_a_clear_problem(text: str, problem: str) -> None:
    parsed = parse(text)

    assert parsed.calls == ()
    assert parsed.problem == problem
    assert parsed.is_attempt


def test_prose_before_a_bare_call_is_allowed() -> None:
    assert calls_of(f"I read the ticket first [see above].\n[note]\n{BODY}") == [ONE]


def test_parsers_are_tried_by_rank() -> None:
    text = f"```json\n{BODY}\n```\n<tool_call>{BODY_TWO}</tool_call>"
    swapped = HARNESS.model_copy(
        update={
            "parsers": FrozenDict(
                {"json_block": ParserSettings(rank=0), "hermes": ParserSettings(rank=1)}
            )
        }
    )

    assert [call.parser for call in parse(text).calls] == ["hermes"]
    assert [call.parser for call in parse(text, swapped).calls] == ["json_block"]


def test_a_parser_that_does_not_exist_is_the_harness_own_error() -> None:
    broken = HARNESS.model_copy(update={"parsers": FrozenDict({"yaml": ParserSettings(rank=0)})})

    with pytest.raises(HarnessError, match=r"harness.parsers: no parser 'yaml'"):
        parse("x", broken)


_PIECES = st.sampled_from(
    [
        *("<tool_call>", "</tool_call>", "<think>", "</think>", "```json\n", "```", "\n"),
        *("{", "}", "[", "]", '"', "'", ":", ",", "\\", "\\u", "\ud800", "NaN", "1e999", "True"),
        *('"name"', '"arguments"', '"tool_calls"', '"function"', "helpdesk__get_ticket", "."),
        *(BODY, BODY_TWO, BODY[:-1], BODY.replace('"', "'"), "9" * 5000, "[" * 400, '{"a":' * 300),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(_PIECES, st.text(max_size=8)), max_size=14).map("".join))
def test_no_text_makes_the_parser_raise(text: str) -> None:
    parsed = parse(text)

    assert bool(parsed.calls) or bool(parsed.problem)
    for call in parsed.calls:
        json.dumps(to_json(call), allow_nan=False).encode()


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc_", max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["a", "b", "text"]), _VALUES, max_size=3),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(["hermes", "json_block", "bare_json", "openai"]),
)
def test_what_is_written_is_what_is_read(arguments: list[dict[str, Any]], style: str) -> None:
    calls = [("helpdesk__get_ticket", item) for item in arguments]

    assert calls_of(write_calls(calls, style)) == calls


def test_reading_stays_quick_on_hostile_text() -> None:
    for text in ("<think>" + "{" * 60_000, '{"a":' * 20_000, "[\n" * 40_000, "<tool_call>[" * 9000):
        before = time.process_time()

        assert parse(text).calls == ()
        assert time.process_time() - before < 2.0


@pytest.mark.parametrize(
    "text",
    [
        "```json\n{" * 40_000,
        "<tool_call>{</tool_call>" * 20_000,
        f"<tool_call>{BODY}</tool_call>" * 3000,
        "<tool_call>[" + "1," * 100_000 + "1]</tool_call>",
    ],
)
def test_a_message_of_many_calls_is_read_in_time_that_grows_with_it(text: str) -> None:
    start = time.perf_counter()

    parsed = parse(text)

    assert time.perf_counter() - start < 5  # it was minutes: each call cost a pass over the rest
    assert len(parsed.problem) < 2000


def test_problems_that_repeat_are_said_once_and_many_are_cut() -> None:
    kinds = [f'<tool_call>{{"name": "t{index}", "arguments": 1}}</tool_call>' for index in range(9)]

    problem = parse("".join([kinds[0], *kinds])).problem

    assert problem.count("'t0'") == 1
    assert problem.endswith("; and 1 more")


def test_text_outside_reasoning_is_returned_as_it_is() -> None:
    assert visible_text("plain {text}") == ("plain {text}", True)
