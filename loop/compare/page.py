"""Rounds side by side, as text and as JSON: settings that differ, outcomes, differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from components.records.base import to_json
from components.records.frozen import thaw
from loop.compare.intervals import Difference, difference
from loop.compare.rounds import ComparedRound, Found
from loop.plain_page import Page
from loop.report.changes import value_text
from loop.summary import PassRate, RoundSummary

COLUMNS = 4
"""Rounds in one table; more of them go into tables below."""
FOLDER_KEYS = frozenset({"run", "runs_dir", "round", "out", "dry_run"})
"""Keys that only say where and whether, which the paths say already."""
ABSENT = "(absent)"
PASSES = ("before", "after")

_FIGURES: tuple[tuple[str, Callable[[RoundSummary], str]], ...] = (
    ("policy", lambda it: it.policy + (" (simulation)" if it.policy_simulated else "")),
    ("services", lambda it: str(it.services.admitted)),
    ("tasks", lambda it: f"{it.tasks.certified}, {it.tasks.retired} retired"),
    ("rollouts a pass", lambda it: f"{it.rollouts.total}, {it.rollouts.unscored} unscored"),
    ("passed before", lambda it: _rate_text(it.reeval.before) if it.reeval else "-"),
    ("passed after", lambda it: _rate_text(it.reeval.after) if it.reeval else "-"),
    ("faults found", lambda it: f"{it.faults.found} of {it.faults.planted}"),
    ("faults repaired", lambda it: f"{it.faults.repaired} of {it.faults.planted}"),
    ("places blamed wrongly", lambda it: str(it.faults.wrongly_blamed)),
    ("verdicts: environment", lambda it: _verdict(it, it.verdicts.environment)),
    ("verdicts: task", lambda it: _verdict(it, it.verdicts.task)),
    ("verdicts: harness", lambda it: _verdict(it, it.verdicts.harness)),
    ("verdicts: evaluator", lambda it: _verdict(it, it.verdicts.evaluator)),
    ("verdicts: policy", lambda it: _verdict(it, it.verdicts.policy)),
    ("verdicts: undecided", lambda it: _verdict(it, it.verdicts.undecided)),
    ("verdicts: clean", lambda it: _verdict(it, it.verdicts.clean)),
    ("patches kept", lambda it: f"{it.patches.accepted} of {it.patches.proposed}"),
    ("seconds", lambda it: f"{sum(it.seconds.values()):.1f}"),
)


def compared(found: Found) -> dict[str, Any]:
    """Return the whole comparison as JSON."""
    return {
        "schema_version": 1,
        "rounds": [
            {"label": item.label, "path": item.path, "summary": to_json(item.summary)}
            for item in found.rounds
        ],
        "left_out": list(found.left_out),
        "settings": {
            key: {item.label: thaw(item.settings.get(key, ABSENT)) for item in found.rounds}
            for key in differing_keys(found.rounds)
        },
        "differences": [
            {"first": found.rounds[0].label, "second": item.label, "pass": name, **asdict(told)}
            for item in found.rounds[1:]
            for name, told in differences(found.rounds[0], item)
        ],
    }


def comparison_page(found: Found) -> Page:
    """Return the whole comparison as text."""
    rounds, page = found.rounds, Page()
    page.heading("Rounds")
    page.table([(item.label, item.path) for item in rounds])
    for line in found.left_out:
        page.line(f"left out: {line}")
    page.heading("Settings that differ")
    keys = differing_keys(rounds)
    if not keys:
        page.line("none" if len(rounds) > 1 else "one round alone has nothing to differ from")
    for block in _blocks(rounds):
        rows = [(key, *(_shown(item.settings.get(key, ABSENT)) for item in block)) for key in keys]
        if rows:
            page.table([("", *(item.label for item in block)), *rows])
    page.heading("Outcome (pass rates with 95 % Wilson intervals)")
    for block in _blocks(rounds):
        stages = list(dict.fromkeys(name for item in block for name in item.stages))
        rows = [(name, *(figure(item.summary) for item in block)) for name, figure in _FIGURES]
        rows += [(f"seconds: {name}", *(_seconds(item, name) for item in block)) for name in stages]
        page.table([("", *(item.label for item in block)), *rows])
    _show_differences(page, rounds)
    return page


def differing_keys(rounds: tuple[ComparedRound, ...]) -> list[str]:
    """Return the keys that do not have the same value in all rounds, in order."""
    keys = sorted({key for item in rounds for key in item.settings})
    return [
        key
        for key in keys
        if key not in FOLDER_KEYS
        and len({_shown(item.settings.get(key, ABSENT)) for item in rounds}) > 1
    ]


def differences(first: ComparedRound, second: ComparedRound) -> list[tuple[str, Difference]]:
    """Return the difference of two rounds before and after the patches."""
    same_seeds = first.has_seeds_of(second)
    return [
        ("before", difference(first.before, second.before, same_seeds=same_seeds)),
        ("after", difference(first.after, second.after, same_seeds=same_seeds)),
    ]


def _show_differences(page: Page, rounds: tuple[ComparedRound, ...]) -> None:
    if len(rounds) < 2:
        return
    first = rounds[0]
    page.heading(f"Pass rate less that of {first.label} (95 % intervals)")
    rows = [("", "", "points", "interval", "how")]
    for item in rounds[1:]:
        for name, told in differences(first, item):
            points = "-" if told.value is None else f"{100 * told.value:+.1f}"
            interval = "-"
            if told.low is not None and told.high is not None:
                interval = f"[{100 * told.low:+.1f}, {100 * told.high:+.1f}]"
            rows.append(
                (f"{item.label} - {first.label}", name, points, interval, _how(told, item, first))
            )
    page.table(rows)
    if len(rounds) > 2:
        page.line("The intervals are not widened for how many rounds are compared.")


def _how(told: Difference, second: ComparedRound, first: ComparedRound) -> str:
    if told.p_value is None:
        return told.method
    p_value = "< 0.001" if told.p_value < 0.001 else f"= {told.p_value:.3f}"
    return (
        f"{told.method}; exact McNemar p {p_value} ({told.only_second} only "
        f"{second.label}, {told.only_first} only {first.label})"
    )


def _blocks(rounds: tuple[ComparedRound, ...]) -> list[tuple[ComparedRound, ...]]:
    return [rounds[at : at + COLUMNS] for at in range(0, len(rounds), COLUMNS)]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else value_text(value)


def _rate_text(rate: PassRate) -> str:
    if rate.rate is None or rate.low is None or rate.high is None:
        return "nothing scored"
    return f"{100 * rate.rate:.0f} % [{100 * rate.low:.0f}, {100 * rate.high:.0f}]"


def _verdict(summary: RoundSummary, count: int) -> str:
    return f"{count} of {summary.verdicts.attributed}"


def _seconds(item: ComparedRound, stage: str) -> str:
    seconds = item.summary.seconds.get(stage)
    return "-" if seconds is None else f"{seconds:.1f}"
