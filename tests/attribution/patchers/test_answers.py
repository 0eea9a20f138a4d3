"""What is read out of a model's answer as a patch, and what is refused before any gate is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attribution.patchers.model.answers import operations_of
from attribution.patchers.model.binding import bound_patch
from attribution.patchers.model.excerpt import excerpt_of
from attribution.patchers.model.templates import check_template
from attribution.swap import body_of, swap
from components.harness.defaults import default_harness
from components.model.answers import Unusable
from components.model.records import Tried
from tests.attribution.hand_made import small_system

TASK = "task/t_0"


def said(value: Any, *, is_whole: bool = True) -> Tried:
    text = value if isinstance(value, str) else f"Here:\n```json\n{json.dumps(value)}\n```\nDone."
    return Tried(status=200, text=text, is_whole=is_whole)


def bound(place: str, *operations: tuple[str, str, Any], known: tuple[str, ...] = ()) -> Any:
    return bound_patch(small_system(), place, operations, "a try", known)


def test_the_one_block_is_read_whatever_stands_around_it() -> None:
    steps = [
        {"op": "test", "path": "/a~1b", "value": None},
        {"op": "remove", "path": "/a~1b"},
        {"op": "add", "path": "/c", "value": {"d": [1, 2.5, "x"]}},
    ]

    assert operations_of(said(steps)) == (
        ("test", "/a~1b", None),
        ("remove", "/a~1b", None),
        ("add", "/c", {"d": [1, 2.5, "x"]}),
    )
    assert operations_of(said("```\n[]\n```")) == ()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "no fenced block"),
        ('[{"op": "remove", "path": "/a"}]', "no fenced block"),
        ("```python\nprint()\n```", "no fenced block"),
        ("```json\n[{", "cut off"),
        ("```json\n[]\n```\n```json\n[]\n```", "2 blocks"),
        ("```json\n[" + "1," * 40_000 + "1]\n```", "more than 60000 characters"),
        ("```json\n" + "[" * 20_000 + "\n```", "nested too deeply"),
        ("```json\n[nope]\n```", "no JSON"),
        ('```json\n[{"op": "remove", "op": "add", "path": "/a"}]\n```', "stands twice"),
        ('```json\n[{"op": "add", "path": "/a", "value": NaN}]\n```', "NaN is no JSON number"),
        ('```json\n[{"op": "add", "path": "/a", "value": "\\ud83d"}]\n```', "no JSON form"),
        ({"op": "remove", "path": "/a"}, "must hold a list"),
        ({"task/t_0": [], "rubric/t_0": []}, "must hold a list"),
        ([["remove", "/a"]], "must be an object"),
        ([{"op": "move", "from": "/a", "path": "/b"}], "test, add, replace or remove"),
        ([{"op": "remove", "path": "/a", "value": 1}], "exactly the keys op, path"),
        ([{"op": "add", "path": "/a"}], "exactly the keys op, path, value"),
        ([{"op": "remove", "path": ""}], "JSON Pointer inside the one artifact"),
        ([{"op": "remove", "path": "rubric/t_0#/criteria"}], "inside the one artifact"),
        ([{"op": "remove", "path": ["a"]}], "inside the one artifact"),
        ([{"op": "remove", "path": "/a~2"}], "JSON Pointer"),
        ([{"op": "add", "path": "/a/-", "value": 1}], "replace the whole list"),
        ([{"op": "add", "path": "/a", "value": 1 << 70}], "64 bits"),
        ([{"op": "remove", "path": "/a"}] * 41, "40 are the most"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused_with_the_reason(
    answer: Any, reason: str
) -> None:
    with pytest.raises(Unusable, match=reason):
        operations_of(said(answer))


def test_an_answer_that_was_cut_off_is_told_so() -> None:
    with pytest.raises(Unusable, match="cut off"):
        operations_of(said("I think that the", is_whole=False))


def test_a_patch_begins_with_tests_and_the_hash_of_its_base() -> None:
    patch = bound(f"{TASK}#/world", ("replace", "/world/now", "2026-03-02T10:00:00Z"))

    assert (patch.component.value, patch.artifact) == ("task", TASK)
    assert [step.op for step in patch.operations] == ["test", "replace"]
    assert patch.operations[0].value == "2026-03-02T09:00:00Z"
    assert swap(small_system(), patch).tasks["t_0"].world.now == "2026-03-02T10:00:00Z"


@pytest.mark.parametrize(
    ("place", "operation", "reason"),
    [
        (f"{TASK}#", ("replace", "/task_id", "t_9"), "no patch may touch task/t_0#/task_id"),
        (f"{TASK}#", ("replace", "/kind", "multi_turn"), "no patch may touch"),
        ("certificate/t_0#", ("remove", "/gold_run/s01", None), "no patch may touch certificate"),
        ("spec/helpdesk#", ("remove", "/tools/add_comment", None), "no patch may touch spec"),
        ("contract#", ("remove", "/invariants", None), "no patch may touch contract"),
        ("settings#", ("replace", "/completion_lambda", 9.0), "no patch may touch"),
        ("code/helpdesk#", ("replace", "/sources/service.py", ""), "no patch may touch code"),
        (f"{TASK}#", ("remove", "/gold/s99", None), "does not apply"),
        (f"{TASK}#", ("replace", "/gold", "none"), "does not apply"),
        (f"{TASK}#", ("add", "/gold/s01/new/deep", 1), "does not apply"),
        ("task/t_77#", ("replace", "/instruction", "x"), "does not apply"),
        ("harness#", ("replace", "/hidden_tools/first", "x"), "does not apply"),
        ("settings#", ("replace", "/pass_threshold", -1), "does not apply"),
        ("settings#", ("replace", "/pass_threshold", 1.0), "it changes nothing"),
        ("settings#", ("test", "/pass_threshold", 1.0), "no operation that changes"),
        ("retired#", ("add", "/t_0", "too hard"), "takes t_0 out of service"),
        (
            "blueprint/helpdesk#",
            ("add", "/quarantined/add_comment", {"reason": "unclear", "detail": ""}),
            "takes add_comment out of service",
        ),
        (
            "blueprint/helpdesk#",
            ("replace", "/quarantined", {"add_comment": {"reason": "unclear", "detail": ""}}),
            "takes add_comment out of service",
        ),
        ("harness#", ("replace", "/observation", "{{ 'x' * 10**9 }}"), "may not use mul"),
    ],
)
def test_what_no_gate_needs_to_see_is_refused(
    place: str, operation: tuple[str, str, Any], reason: str
) -> None:
    with pytest.raises(Unusable, match=reason):
        bound(place, operation)


def test_its_own_tests_must_hold_and_a_patch_is_tried_once() -> None:
    change = ("replace", "/world/now", "2026-03-02T10:00:00Z")
    wrong = ("test", "/world/now", "2026-03-02T11:00:00Z")
    right = ("test", "/world/now", "2026-03-02T09:00:00Z")

    with pytest.raises(Unusable, match="its own test fails: /world/now"):
        bound(f"{TASK}#", wrong, change)
    patch = bound(f"{TASK}#", right, change)
    with pytest.raises(Unusable, match="tried already"):
        bound(f"{TASK}#", change, known=(patch.patch_id,))


def test_templates_show_choose_and_go_through_lists_and_nothing_else() -> None:
    harness = default_harness()
    for name in ("system_prompt", "user_prompt", "observation", "invalid_call_feedback"):
        check_template(name, getattr(harness, name))
    hostile = {
        "{% for a in tools %}{% for b in tools %}{% for c in tools %}x{% endfor %}{% endfor %}"
        "{% endfor %}": "3 loops",
        "{% for a in range(99999) %}x{% endfor %}": "call",
        "{{ 9 ** 9 ** 9 }}": "pow",
        "{% set x = body %}": "assign",
        "{% macro f() %}{{ f() }}{% endmacro %}": "macro",
        "{{ ''.__class__.mro() }}": "call",
        "{% include 'x' %}": "include",
        "{{ body | center(99999999) }}": "filter center",
        "{% if %}": "no template",
        "x" * 20_001: "more than 20000",
        "{{ (" + "(" * 3000 + "1" + ")" * 3000 + ") }}": "no template",
    }
    for text, reason in hostile.items():
        with pytest.raises(Unusable, match=reason):
            check_template("observation", text)


def test_an_excerpt_holds_the_place_whole_and_names_what_it_leaves_out() -> None:
    body = body_of(small_system(), "blueprint/helpdesk")
    keys = ("tools", "assign_ticket", "effects")

    excerpt = excerpt_of(body, keys, 6000)

    pointer, text = excerpt.parts[0]
    assert pointer == "/tools/assign_ticket"
    assert json.loads(text) == body["tools"]["assign_ticket"]
    assert sum(len(text) for _pointer, text in excerpt.parts) <= 6000
    shown = {pointer for pointer, _text in excerpt.parts}
    others = {f"/tools/{name}" for name in body["tools"]} | {f"/{name}" for name in body}
    assert shown | set(excerpt.left_out) == others - {"/tools"}
    assert not shown & set(excerpt.left_out)
    assert excerpt_of(body, keys, 10**6).parts == (
        ("", json.dumps(body, indent=1, sort_keys=True)),
    )
    assert len(excerpt_of(body, keys, 40).parts[0][1]) == 40
