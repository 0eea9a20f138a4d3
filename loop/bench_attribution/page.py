"""The figures of the benchmark as a stranger can read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def show(figures: dict[str, Any]) -> None:
    """Print the figures as a stranger can read them."""
    for line in lines(figures):
        print(line)


def lines(figures: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the printed result."""
    names = {
        "component_accuracy": "component right",
        "place_accuracy": "place right, any named",
        "first_place_accuracy": "place right, first named",
        "repair_rate": "repaired",
        "heldout_component_accuracy": "component right, kinds held out",
        "developed_component_accuracy": "component right, kinds developed on",
    }
    yield f"live faulty rollouts: {figures['rollouts']}; undecided: {figures['undecided']}"
    for key, words in names.items():
        yield f"{words}: {_of(figures[key])}"
    yield f"removals among the repairs: {figures['removals']}"
    kept = figures["patches"]
    yield (
        f"accepted patches: {kept['accepted']}; after which gold passes fewer tasks "
        f"{kept['lower_gold']}, doing nothing passes more {kept['raise_nothing']}"
    )
    for harmed in kept["harmed"]:
        yield f"  harm: {harmed}"
    clean = figures["false_blame"]
    yield (f"clean failures blamed on a component: {_of(clean['failures_blamed_on_a_component'])}")
    yield f"clean successes called false: {_of(clean['successes_called_false'])}"
    yield f"double faults, both named: {_of(figures['double_faults_both_named'])}"
    before = figures["before_composition"]
    yield (
        f"faults before composition: {before['live']} live; gates {before['gates']}, verdicts "
        f"{before['verdicts']}, other drafts only {before['drafts_only']}, "
        f"missed {before['missed']}"
    )
    yield from _wrong(figures["wrong_references"])
    for name, share in figures["baselines"].items():
        yield f"baseline {name.replace('_', ' ')}: {_of(share)}"
    for name, cost in figures["cost"].items():
        yield f"{name.replace('_', ' ')}: {cost['count']} times, {cost['seconds']:.2f} s"
    rows = {**figures["confusion"], **clean["confusion"]}
    columns = list(next(iter(rows.values()), {}))
    yield "at fault".ljust(13) + "".join(column.rjust(13) for column in columns)
    for row, cells in rows.items():
        yield row.ljust(13) + "".join(str(cells[column]).rjust(13) for column in columns)


def _wrong(counts: dict[str, Any]) -> Iterator[str]:
    if not counts["instances"]:
        return
    yield (
        f"wrong references: {counts['instances']}; clean failures blamed on a component "
        f"{_of(counts['failures_blamed_on_a_component'])}, clean successes called false "
        f"{_of(counts['successes_called_false'])}, undecided {counts['undecided']}"
    )
    yield "wrong reference".ljust(24) + "".join(
        name.rjust(12)
        for name in (
            "instances",
            "named",
            "failures",
            "blamed",
            "undecided",
            "successes",
            "false",
            "patched",
        )
    )
    for kind, row in counts["by_kind"].items():
        blamed, false = row["failures_blamed_on_a_component"], row["successes_called_false"]
        cells = (
            row["instances"],
            row["named"],
            blamed["total"],
            blamed["hits"],
            row["undecided"],
            false["total"],
            false["hits"],
            row["patched"],
        )
        yield kind.replace("_", " ").ljust(24) + "".join(str(cell).rjust(12) for cell in cells)


def _of(share: dict[str, Any]) -> str:
    hits, total = share["hits"], share["total"]
    return f"{hits} of {total} ({100 * hits / total:.1f} %)" if total else "0 of 0"
