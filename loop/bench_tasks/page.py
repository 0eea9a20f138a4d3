"""The figures of a task set as a stranger can read them, each beside its bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop.plain_page import Page

_WAYS = {
    "always_comply": "always complying passes",
    "always_refuse": "always refusing passes",
    "canned_refusal": "one refusal for all passes",
}
LEAST_KILLED, LEAST_REFUSED, LEAST_WITH_ALTERNATIVE = 0.99, 0.95, 0.40


def page_of(figures: Mapping[str, Any]) -> Page:
    """Return the page."""
    page = Page()
    page.heading(f"{figures['tasks']} tasks")
    made = figures["composed"]
    if made is not None:
        rejected = ", ".join(f"{name} {number}" for name, number in made["rejected"].items())
        page.line(
            f"composed at K {made['k']}, L {made['walk_length']}, {made['distractors']} "
            f"distractors, in {made['drafts']} drafts; rejected: {rejected or 'none'}"
        )
    faults = figures["faults"]
    page.table(
        [
            _row("certificates that hold", figures["certificates_hold"], "all", 1.0),
            _row("doing nothing passes", figures["doing_nothing_passes"], "none", None),
            _row("random agents that pass", figures["random_agents_pass"], "none", None),
            _row(
                "tasks with another solution",
                figures["tasks_with_alternative"],
                "40 %",
                LEAST_WITH_ALTERNATIVE,
            ),
            _row("other solutions that pass", figures["alternatives_pass"], "all", 1.0),
            _row("mutants killed", figures["mutants_killed"], "99 %", LEAST_KILLED),
            _row("faulty tasks refused", faults["refused"], "95 %", LEAST_REFUSED),
        ]
    )
    page.line(f"a random agent makes {figures['random_calls']} changes in all")
    page.line(f"other solutions: {_counts(figures['alternatives_by_kind'])}")
    hedged = figures["hedged_texts_pass"]
    page.line(
        f"texts that hold another row's value beside the right one: {hedged['hits']} of "
        f"{hedged['total']} pass; a text is held to what it must say, not to what it must not"
    )
    pairs = figures["pairs"]
    if pairs["pairs"]:
        page.heading(f"{pairs['pairs']} pairs of one request under a rule")
        page.table(
            [_row(_WAYS[name], found, "none", None) for name, found in pairs["pass_both"].items()]
        )
    page.heading("Mutants by kind")
    page.table([(kind, _of(item)) for kind, item in figures["mutants_by_kind"].items()])
    page.heading("Faulty tasks by kind, one fault each, certified again")
    page.table(
        [
            (
                kind,
                _of(item),
                _counts(item["reasons"])
                + (f"; harmless {item['harmless']}" * bool(item["harmless"])),
            )
            for kind, item in faults["by_kind"].items()
        ]
    )
    if faults["kinds_without_place"]:
        page.line(f"no place for: {', '.join(faults['kinds_without_place'])}")
    for title, lines in (
        ("Mutants that live", figures["survivors"]),
        ("Other solutions that fail", figures["alternatives_refused"]),
    ):
        if lines:
            page.heading(title)
        for line in lines:
            page.line(f"{line['task_id']} {line['kind']} {line['target']}: {line['did']}")
            page.line(line["found"], 4)
    if faults["admitted"]:
        page.heading("Faulty tasks that every gate admits")
    for item in faults["admitted"]:
        harmless = " (harmless: the solution ends as it should)" if item["is_harmless"] else ""
        page.line(f"{item['task_id']} {item['kind']}: {item['reason']}{harmless}")
    for name, why in figures["lapsed"].items():
        page.line(f"{name} no longer holds: {why}")
    return page


def _row(
    name: str, found: Mapping[str, Any], bar: str, least: float | None
) -> tuple[str, str, str]:
    """Return a line with its bar; `least` None: there may be none at all."""
    if found["share"] is None:
        return name, _of(found), "nothing to count"
    is_met = found["hits"] == 0 if least is None else found["share"] >= least
    return name, _of(found), f"bar {bar}: {'met' if is_met else 'missed'}"


def _of(found: Mapping[str, Any]) -> str:
    hits, total = found["hits"], found["total"]
    return f"{hits} of {total} ({100 * hits / total:.1f} %)" if total else "0 of 0"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items()) or "none"
