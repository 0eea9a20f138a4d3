"""Faults of the harness's limits, parsers and feedback, and of which tools it shows at all."""

from __future__ import annotations

from collections.abc import Iterator

from attribution.change import Change
from attribution.faults.harness_places import (
    kind,
    num_chars,
    quantiles,
    rewritten,
    runs,
    setting,
)
from attribution.faults.kinds import Clean, change_of


def _few_turns(clean: Clean) -> Iterator[Change]:
    counts = sorted(len(run.turns) for run in runs(clean))
    for count in dict.fromkeys([*quantiles(counts), 3, 2]):
        most = max(1, count - 1)
        path = ("limits", "max_turns")
        yield setting(clean, most, path, f"an episode has at most {most} turns")


def _no_second_try(clean: Clean) -> Iterator[Change]:
    for most in (1, 2):
        if most < clean.system.harness.limits.max_invalid_turns:
            path = ("limits", "max_invalid_turns")
            why = f"{most} unreadable messages in a row end the episode"
            yield setting(clean, most, path, why)


def _short_context(clean: Clean) -> Iterator[Change]:
    for size in quantiles(sorted(num_chars(run) for run in runs(clean))):
        most = max(1000, int(size * 0.9))
        path = ("limits", "max_context_chars")
        yield setting(clean, most, path, f"a conversation has at most {most} characters")


def _needed_tool_hidden(clean: Clean) -> Iterator[Change]:
    hidden = clean.system.harness.hidden_tools
    names = dict.fromkeys(f"{call.service}__{call.tool}" for _, _, call in clean.calls())
    for name in names:
        yield change_of(
            "harness",
            [("replace", "/hidden_tools", [*hidden, name])],
            ("hidden_tools",),
            f"{name} is not shown",
        )


def _format_not_read(clean: Clean) -> Iterator[Change]:
    parsers = clean.system.harness.parsers
    ranked = sorted(parsers, key=lambda name: parsers[name].rank)
    ranked = [name for name in ranked if parsers[name].enabled]
    for kept in reversed(ranked[1:]):
        off = [name for name in ranked if name != kept]
        yield change_of(
            "harness",
            [("replace", f"/parsers/{name}/enabled", False) for name in off],
            ("parsers",),
            f"no calls are read but those of the format {kept}",
        )


def _feedback_breaks(clean: Clean) -> Iterator[Change]:
    new = ("{{ error.message }}", "{{ problem.text.strip() }}", "{{ problem[0].detail.strip() }}")
    why = "the feedback on an unreadable message names what is not there"
    yield from rewritten(clean, "invalid_call_feedback", "{{ problem }}", new, why)


KINDS = (
    kind("few_turns", "An episode ends before a solution without slips is through.", _few_turns),
    kind("no_second_try", "A message that cannot be read ends the episode.", _no_second_try),
    kind(
        "short_context",
        "The conversation may not grow as long as a solution makes it.",
        _short_context,
    ),
    kind("needed_tool_hidden", "A tool that solutions need is not shown.", _needed_tool_hidden),
    kind(
        "format_not_read",
        "Calls in the format that the prompt asks for are not read.",
        _format_not_read,
    ),
    kind(
        "feedback_breaks",
        "The feedback on an unreadable message cannot be rendered.",
        _feedback_breaks,
    ),
)
