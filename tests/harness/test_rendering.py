"""Claims about what a policy is shown: prompts, tools, answers and their pages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.environment.world import build_world
from components.errors import HarnessError
from components.harness.defaults import default_harness
from components.harness.paging import (
    error_envelope,
    num_pages,
    observation_body,
    page_text,
    read_page,
)
from components.harness.rendering import (
    render_feedback,
    render_observation,
    render_system,
    render_user,
)
from components.harness.stage import set_stage
from components.harness.tools import (
    ShownTool,
    answer_text,
    compact_of,
    nearest_name,
    shown_tools,
    signature_of,
)
from components.records.calls import ErrorCode
from components.records.frozen import FrozenDict, freeze
from tests.harness.builders import NOW, make_settings, make_system, make_task

TOOL = ShownTool(
    name="shop__find",
    service="shop",
    tool="find",
    description="Find\n  orders.",
    schema=freeze(
        {
            "type": "object",
            "properties": {
                "status": {"enum": ["open", "done"]},
                "limit": {"type": "integer", "default": 20},
                "tags": {"type": "array", "items": {"type": "string"}},
                "by": {"type": "object", "properties": {"name": {"type": ["string", "null"]}}},
                "any": True,
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            },
            "required": ["status"],
        }
    ),
)


def test_a_signature_shows_types_choices_and_defaults() -> None:
    assert signature_of(TOOL) == (
        'shop__find(status: "open" | "done", limit?: integer = 20, tags?: array of string, '
        "by?: {name: string | null}, any?: any, either?: string | integer)"
    )


def test_every_tool_style_shows_names_and_choices_and_two_show_the_description() -> None:
    as_schema, signature, compact = (
        render_system(default_harness().model_copy(update={"tool_style": style}), [TOOL], NOW, [])
        for style in ("json_schema", "signature", "compact")
    )

    assert json.dumps("Find\n  orders.") in as_schema
    assert '"enum": ["open", "done"]' in as_schema
    assert 'shop__find(status: "open" | "done"' in signature
    assert "    Find orders." in signature
    assert "shop__find(status: open|done, limit?: integer, tags?: array of string" in compact
    assert "orders" not in compact


def test_the_short_form_leaves_out_what_every_text_argument_is_and_the_answer_of_finish() -> None:
    own = shown_tools({}, make_task(), default_harness())

    assert [compact_of(tool) for tool in own] == [
        "read_more(call_id, page: integer)",
        "finish(answer)",
    ]


def test_an_answer_is_described_in_a_line() -> None:
    schema = {"type": "object", "properties": {"status": {"enum": ["open"]}, "n": {}}}

    assert answer_text(schema) == '{"status": "open", "n": any}'
    assert answer_text({"type": "object"}) == "object"


def test_the_system_message_tells_time_rules_and_how_to_finish() -> None:
    text = render_system(default_harness(), [], NOW, ["Never mail twice."])

    assert NOW in text
    assert "- Never mail twice." in text
    assert "call finish, once" in text


def test_the_instruction_is_shown_word_for_word() -> None:
    instruction = 'Say <b>"it\'s"</b> & {{ 7 * 7 }} {% raw %}'

    text = render_user(default_harness(), instruction, {"type": "object"})

    assert text.startswith(instruction)
    assert "answer object" in text


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ nonsense }}", "'nonsense' is undefined"),
        ("{{ tools", "TemplateSyntaxError"),
        ("{{ tools.append(1) }}", "SecurityError"),
        ("{{ ''.__class__.__mro__ }}", "SecurityError"),
        ("{{ 1 // 0 }}", "ZeroDivisionError"),
    ],
)
def test_a_wrong_template_is_a_harness_error(template: str, problem: str) -> None:
    settings = make_settings(system_prompt=template)

    with pytest.raises(HarnessError, match=problem):
        render_system(settings, [TOOL], NOW, [])


def test_observation_and_feedback_are_rendered_from_their_templates() -> None:
    settings = make_settings(
        observation="{{ name }}|{{ call_id }}|{{ body }}", invalid_call_feedback="no: {{ problem }}"
    )

    assert render_observation(settings, "a\n b", "t1", "{}") == "a b|t1|{}"
    assert render_feedback(settings, "why") == "no: why"


def test_distractors_are_shown_unless_only_needed_tools_are() -> None:
    task = make_task(world={"services": ("shop",), "distractors": ("mail",), "now": NOW})
    services = build_world(make_system(task=task), task.world).services

    everything = [tool.name for tool in shown_tools(services, task, default_harness())]
    needed = shown_tools(services, task, make_settings(tool_exposure="needed"))
    hidden = shown_tools(services, task, make_settings(hidden_tools=("shop__get_order",)))

    shop = ["shop__get_order", "shop__list_orders", "shop__set_status"]
    assert everything == ["mail__send", *shop, "read_more", "finish"]
    assert [tool.name for tool in needed] == [*shop, "read_more", "finish"]
    assert [tool.name for tool in hidden] == ["mail__send", *shop[1:], "read_more", "finish"]


def test_finish_is_shown_with_the_answer_schema_of_the_task() -> None:
    task = make_task()
    stage = set_stage(default_harness(), build_world(make_system(), task.world), task)

    assert stage.schemas["finish"]["properties"]["answer"] == task.answer_schema
    assert answer_text(task.answer_schema) in stage.user_text


def test_siblings_share_one_stage() -> None:
    task, system = make_task(), make_system()
    first = set_stage(system.harness, build_world(system, task.world), task)
    second = set_stage(system.harness, build_world(system, task.world), task)

    assert first is second


def test_the_nearest_name_is_named_only_when_it_is_near() -> None:
    names = ["shop__get_order", "mail__send"]

    assert nearest_name("shop__get_orders", names) == "shop__get_order"
    assert nearest_name("zzz", names) == ""


def test_an_answer_is_one_line_with_ok_first() -> None:
    body = observation_body({"data": {"b": "x\ny", "a": ("\u00e9",)}, "ok": True})

    assert body == '{"ok":true,"data":{"a":["\u00e9"],"b":"x\\ny"}}'


def test_an_error_has_the_one_envelope() -> None:
    assert observation_body(error_envelope(ErrorCode.NOT_FOUND, "gone", page=3)) == (
        '{"ok":false,"error":{"code":"not_found","details":{"page":3},"message":"gone"}}'
    )


def test_content_that_is_no_text_is_counted_and_left_out() -> None:
    picture = {"type": "image", "mimeType": "image/png", "data": "A" * 5000}
    body = observation_body({"ok": True, "data": {"content": ({"x": picture}, "caption")}})

    assert json.loads(body)["data"]["content"] == [
        {"x": {**picture, "data": "[image/png: 5000 characters not shown]"}},
        "caption",
    ]


def test_a_long_answer_says_what_is_left_and_how_to_get_it() -> None:
    assert page_text("abcdefghij", "t00c1", 1, 4) == (
        "[page 1 of 3 of t00c1]\nabcd\n"
        '[6 more characters: call read_more with {"call_id": "t00c1", "page": 2}]'
    )
    assert page_text("abcdefghij", "t00c1", 3, 4) == "[page 3 of 3 of t00c1]\nij\n[end of t00c1]"


def test_an_answer_of_exactly_one_page_is_shown_as_it_is() -> None:
    assert page_text("abcd", "t00c1", 1, 4) == "abcd"
    assert num_pages("abcd", 4) == 1
    assert num_pages("abcde", 4) == 2


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@given(_JSON, st.integers(10, 80))
def test_pages_read_back_and_joined_are_the_whole_answer(data: Any, size: int) -> None:
    body = observation_body({"ok": True, "data": data})

    pages = []
    for number in range(1, num_pages(body, size) + 1):
        shown = page_text(body, "t00c1", number, size)
        page = read_page(render_observation(default_harness(), "x", "t00c1", shown))
        assert page is not None
        assert page.number == number
        assert page.total == num_pages(body, size)
        pages.append(page.text)

    assert "".join(pages) == body


def test_text_without_an_answer_has_no_page() -> None:
    assert read_page("nothing here") is None


def test_the_seed_harness_survives_being_stored() -> None:
    harness = default_harness()

    assert type(harness).model_validate_json(harness.model_dump_json()) == harness
    assert isinstance(harness.parsers, FrozenDict)
