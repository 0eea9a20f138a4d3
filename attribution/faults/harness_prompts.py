"""Faults of the first two messages: tools, their arguments, and the instruction."""

from __future__ import annotations

from collections.abc import Iterator

from attribution.change import Change
from attribution.faults.harness_places import kind, quantiles, rewritten
from attribution.faults.kinds import Clean

_LOOP, _TOOL, _INSTRUCTION = "{% for tool in tools %}", "{{ tool.text }}", "{{ instruction }}"
_SERVICE = 'tool.name.split("__")[0]'


def _listing(clean: Clean, loops: list[str], why: str) -> Iterator[Change]:
    yield from rewritten(clean, "system_prompt", _LOOP, loops, why)


def _lines(clean: Clean, texts: list[str], why: str) -> Iterator[Change]:
    yield from rewritten(clean, "system_prompt", _TOOL, texts, why)


def _tools_cut_off(clean: Clean) -> Iterator[Change]:
    loops = [f"{{% for tool in tools[:{most}] %}}" for most in (24, 20, 16, 12, 8)]
    yield from _listing(clean, loops, "the list of tools is cut off")


def _one_service_listed(clean: Clean) -> Iterator[Change]:
    loops = [
        f'{{% for tool in tools if "__" not in tool.name or {_SERVICE} == '
        f'tools[{place}].name.split("__")[0] %}}'
        for place in (0, -3)
    ]
    yield from _listing(clean, loops, "the tools of one service alone are listed")


def _tools_of_one_verb_listed(clean: Clean) -> Iterator[Change]:
    loops = [
        f'{{% for tool in tools if "__" not in tool.name or "__{word}" in tool.name %}}'
        for word in ("get", "list", "search")
    ]
    yield from _listing(clean, loops, "tools are listed only where their name begins with one verb")


def _arguments_not_listed(clean: Clean) -> Iterator[Change]:
    texts = ["{{ tool.name }}", "{{ tool.name }}: {{ tool.description }}"]
    yield from _lines(clean, texts, "tools are listed without their arguments")


def _first_argument_listed(clean: Clean) -> Iterator[Change]:
    texts = ['{{ tool.text.split(",")[0] }}', '{{ tool.text.split(", ")[0] ~ ")" }}']
    yield from _lines(clean, texts, "of a tool's arguments only the first is listed")


def _tool_lines_cut(clean: Clean) -> Iterator[Change]:
    texts = [f"{{{{ tool.text[:{most}] }}}}" for most in (48, 40, 32, 24)]
    yield from _lines(clean, texts, "the line of a tool is cut off")


def _names_without_service(clean: Clean) -> Iterator[Change]:
    texts = ['{{ tool.text.split("__")[-1] }}', '{{ tool.text.split("__", 1)[-1] }}']
    yield from _lines(clean, texts, "tools are listed without their service")


def _names_respelled(clean: Clean) -> Iterator[Change]:
    texts = ['{{ tool.text|replace("_", "-") }}', '{{ tool.text|replace("_", "") }}']
    yield from _lines(clean, texts, "names of tools and arguments are spelled in another way")


def _instruction(clean: Clean, texts: list[str], why: str) -> Iterator[Change]:
    yield from rewritten(clean, "user_prompt", _INSTRUCTION, texts, why)


def _instruction_cut(clean: Clean) -> Iterator[Change]:
    lengths = sorted(len(task.instruction) for task in clean.tasks())
    texts = [f"{{{{ instruction[:{int(most * 0.95)}] }}}}" for most in quantiles(lengths)]
    yield from _instruction(clean, texts, "the instruction is cut off")


def _first_sentence_only(clean: Clean) -> Iterator[Change]:
    texts = ['{{ instruction.split(". ")[0] }}', '{{ instruction.split(", ")[0] }}']
    yield from _instruction(clean, texts, "of the instruction only the first sentence is shown")


def _start_left_out(clean: Clean) -> Iterator[Change]:
    texts = ['{{ instruction.split(" ")[2:]|join(" ") }}', '{{ instruction.split(". ")[-1] }}']
    yield from _instruction(clean, texts, "the start of the instruction is left out")


def _instruction_lowered(clean: Clean) -> Iterator[Change]:
    texts = ["{{ instruction|lower }}", "{{ instruction|capitalize }}"]
    yield from _instruction(clean, texts, "the instruction is shown in small letters")


def _instruction_escaped(clean: Clean) -> Iterator[Change]:
    texts = ["{{ instruction|e }}", "{{ instruction|urlencode }}"]
    yield from _instruction(clean, texts, "the instruction is escaped")


def _values_redacted(clean: Clean) -> Iterator[Change]:
    tests = ("word[-1:].isdigit()", '"-" in word', '"@" in word', "word[:1].isupper()")
    texts = [
        '{% for word in instruction.split(" ") %}'
        f'{{{{ "[redacted]" if {test} else word }}}}{{{{ "" if loop.last else " " }}}}'
        "{% endfor %}"
        for test in tests
    ]
    yield from _instruction(clean, texts, "values of the instruction are redacted")


def _instruction_missing(clean: Clean) -> Iterator[Change]:
    texts = ["Do the task.", "{{ answer }}"]
    yield from _instruction(clean, texts, "the instruction is not shown")


KINDS = (
    kind("tools_cut_off", "The list of tools ends before all are listed.", _tools_cut_off),
    kind("one_service_listed", "The tools of one service alone are listed.", _one_service_listed),
    kind(
        "tools_of_one_verb_listed",
        "Tools are listed only where their name begins with one verb.",
        _tools_of_one_verb_listed,
    ),
    kind("arguments_not_listed", "Tools are listed by name alone.", _arguments_not_listed),
    kind(
        "first_argument_listed",
        "Of the arguments of a tool only the first is listed.",
        _first_argument_listed,
    ),
    kind("tool_lines_cut", "The line of a tool is cut at a fixed length.", _tool_lines_cut),
    kind(
        "names_without_service",
        "Tools are listed without the service that belongs to their name.",
        _names_without_service,
    ),
    kind(
        "names_respelled",
        "Names of tools and arguments are listed in a spelling that nobody answers to.",
        _names_respelled,
    ),
    kind("instruction_cut", "The instruction is cut at a fixed length.", _instruction_cut),
    kind(
        "first_sentence_only",
        "Of the instruction only the first sentence is shown.",
        _first_sentence_only,
    ),
    kind("start_left_out", "The start of the instruction is not shown.", _start_left_out),
    kind(
        "instruction_lowered",
        "The instruction is shown in small letters, so that values lose their case.",
        _instruction_lowered,
    ),
    kind(
        "instruction_escaped",
        "The instruction is shown with signs escaped as for a web page.",
        _instruction_escaped,
    ),
    kind(
        "values_redacted",
        "Words of the instruction that look private are hidden.",
        _values_redacted,
    ),
    kind("instruction_missing", "The instruction is not shown at all.", _instruction_missing),
)
