"""What is read out of a model's answer, and what a written test says of a service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from components.environment.author import author
from components.environment.author.answers import code_of, names_of, written_tests_of
from components.environment.author.records import WrittenTest
from components.environment.author.sources import MAX_FILE_BYTES, list_source, read_source
from components.environment.author.trials import answer_shapes, try_test
from components.environment.world import build_service_world
from components.errors import ConfigError, SynthesisError
from components.model.answers import Unusable
from components.model.prompts import Prompts
from components.model.records import Tried
from tests.environment.author.scripted import TOOLS, small_spec
from tests.environment.author.test_author import one_note, working_blueprint

PROMPTS = Prompts(Path(author.__file__).resolve().parent / "prompts")


def said(text: str, *, is_whole: bool = True) -> Tried:
    return Tried(status=200, text=text, is_whole=is_whole)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\n@tool\n```", "@tool\n"),
        ("Sure!\n\n```py\na tool\n```\nand\n```json\n[1]\n```", "a tool\n"),
        ("```python\ntool\n```\n```python\ntool longer\n```", "tool longer\n"),
        ("  ```python title=x\n  tool\n  ```", "  tool\n"),
        ("```\ntool\n```", "tool\n"),
    ],
)
def test_the_longest_block_of_python_is_the_file(text: str, code: str) -> None:
    assert code_of(said(text)) == code


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no block of Python"),
        ("tool = 1", "no block of Python"),
        ("```json\n{\"tool\": 1}\n```", "no block of Python"),
        ("```python\n@tool\ndef f(", "cut off"),
        ("```python\n" + "# tool\n" * 60_000 + "```", "more than 200000 bytes"),
    ],
)  # fmt: skip
def test_what_is_no_file_is_told_why(text: str, why: str) -> None:
    with pytest.raises(Unusable, match=why):
        code_of(said(text))


@pytest.mark.parametrize(
    "answer",
    [
        "none", "[", "[1, {}, null]", '{"name": "x"}', '[{"name": "x", "steps": []}]',
        '[{"name": "x", "steps": [{"tool": "no_such_tool"}]}]',
        '[{"name": "x", "steps": [{"tool": "get_note", "holds": {"/a": NaN}}]}]',
        '[{"name": "x", "steps": [{"tool": "get_note", "holds": {"/a": 99999999999999999999}}]}]',
        '[{"name": "x", "steps": [{"tool": "get_note", "more": 1}]}]',
        "[" * 100_000,
    ],
)  # fmt: skip
def test_tests_that_cannot_be_made_are_left_out(answer: str) -> None:
    assert written_tests_of(said(answer), TOOLS) == ()


def test_a_flood_of_tests_is_cut() -> None:
    one = {"name": "x", "steps": [{"tool": "get_note"}]}

    assert len(written_tests_of(said(json.dumps([one] * 1000)), TOOLS)) == 40


def test_only_known_names_are_taken() -> None:
    answer = '```json\n["b.py", "../a.py", "b.py", 7, "a.py", "c.py"]\n```'

    assert names_of(said(answer), {"a.py", "b.py", "c.py"}, 2) == ("b.py", "a.py")


WORLD = build_service_world(small_spec(), working_blueprint(), one_note(), "2026-03-02T09:00:00Z")


def trial(*steps: dict[str, Any]) -> str:
    test = WrittenTest.model_validate({"name": "t", "steps": list(steps)})
    return try_test(WORLD, "notes", test)


MADE = {"tool": "create_note", "arguments": {"title": "Milk"}, "keep": {"made": "/note/id"}}


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([MADE, {"tool": "get_note", "arguments": {"id": "$made"},
                 "holds": {"/note/title": "Milk", "/note/id": "$made"}}], ""),
        ([{"tool": "get_note", "arguments": {"id": "x"}, "expect": "not_found"}], ""),
        ([{"tool": "get_note", "arguments": {"id": "x"}, "expect": "error"}], ""),
        ([{"tool": "get_note", "arguments": {"id": 7}, "expect": "invalid_arguments"}], ""),
        ([{"tool": "list_notes", "holds": {"/notes/0/id": "nt_1", "/total": 1}}], ""),
        ([{"tool": "get_note", "arguments": {"id": "x"}}],
         'test \'t\', step 1, get_note({"id":"x"}): expected ok; came not_found: '),
        ([MADE, {"tool": "list_notes", "holds": {"/total": True}}],
         "step 2, list_notes({}): expected /total to be true; came 2"),
        ([{"tool": "list_notes", "holds": {"/notes/9/id": "x"}}], "expected /notes/9/id; came ok"),
        ([{"tool": "list_notes", "keep": {"a": "/total/deeper"}}],
         "expected /total/deeper to keep"),
        ([{"tool": "list_notes", "expect": "not_found"}], "expected not_found; came ok"),
    ],
)  # fmt: skip
def test_a_written_test_says_what_was_expected_and_what_came(
    steps: list[dict[str, Any]], problem: str
) -> None:
    found = trial(*steps)

    assert problem in found
    assert bool(found) is bool(problem)


def test_shapes_tell_keys_and_types_apart_but_not_values() -> None:
    milk = WrittenTest.model_validate({"name": "t", "steps": [MADE]})
    tea = WrittenTest.model_validate(
        {"name": "t", "steps": [{"tool": "create_note", "arguments": {"title": "Tea"}}]}
    )
    asked = WrittenTest.model_validate({"name": "t", "steps": [{"tool": "list_notes"}]})

    assert answer_shapes(WORLD, "notes", (milk,)) == answer_shapes(WORLD, "notes", (tea,))
    assert answer_shapes(WORLD, "notes", (milk,)) != answer_shapes(WORLD, "notes", (asked,))


def test_specifications_are_values_and_never_templates() -> None:
    hostile = "{{ 7 * 7 }} {% for x in range(10**9) %}{% endfor %} {{ ''.__class__.__mro__ }}"
    tools = [{"name": hostile, "description": hostile, "inputSchema": {}}]

    text = PROMPTS.render("adversarial", title=hostile, description="", tools=tools, max_tests=3)

    assert text.count("{{ 7 * 7 }}") == 3


def test_a_prompt_that_lacks_a_name_is_an_error() -> None:
    with pytest.raises(SynthesisError, match="render the prompt write: UndefinedError"):
        PROMPTS.render("write")


def test_source_is_cut_and_what_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("x" * (MAX_FILE_BYTES + 1000))
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config.py").write_text("")

    files = list_source(tmp_path)

    assert list(files) == ["server.py"]
    assert len(read_source(files.values())[0]["text"]) == MAX_FILE_BYTES
    with pytest.raises(ConfigError, match=r"environment.author.source=.*none: no such file"):
        list_source(tmp_path / "none")
