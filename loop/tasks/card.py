"""The card of a task set: what it is made of, how it was made, and how varied it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from components.environment.catalog_loader import builtin_services
from components.environment.sources.records import UNKNOWN_LICENCE
from components.model.records import StageFigures
from components.records.base import hash_record, to_json
from components.records.system import System
from components.task.certify import GATES_VERSION
from components.task.measures import measure_tasks
from loop.composing import Composed
from loop.plain_page import Page
from loop.services import Services
from loop.tasks.leaks import leaks_of
from loop.train.split import Kind

_OWN = "as this project"
_SPENT = ("requests", "prompt_tokens", "answer_tokens", "usd")
"""What is told of a model's work; times would make two sets differ that hold the same."""


def card_of(
    settings: Mapping[str, Any],
    services: Services,
    composed: Composed,
    splits: Mapping[str, Kind],
    spent: Mapping[str, StageFigures] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the card as JSON.

    Args:
        settings: keys that decided what the set holds.
        services: what was admitted and refused.
        composed: the system with its tasks, and the counts of their making.
        splits: task -> where it belongs.
        spent: what a model that authored them was asked, by stage.
    """
    system = composed.system
    used = {name for task in system.tasks.values() for name in task.world.services}
    counts = Counter(kind.value for kind in splits.values())
    short: dict[str, Any] = {"missing": composed.missing} if composed.missing else {}
    if spent:
        short["model"] = {
            name: {key: to_json(item)[key] for key in _SPENT}
            for name, item in sorted(spent.items())
        }
    return {
        "schema_version": 1,
        "settings": settings,
        **short,
        "authors": dict(sorted(Counter(task.author for task in system.tasks.values()).items())),
        "gates_version": GATES_VERSION,
        "services": _services_of(system, used),
        "refused": services.refused,
        "drafted": composed.drafted,
        "rejected": composed.rejected,
        "splits": dict(sorted(counts.items())),
        "leaks": to_json(leaks_of(system, splits)),
        "measures": to_json(measure_tasks(system)),
    }


def _services_of(system: System, used: set[str]) -> dict[str, Any]:
    found = {}
    for name, spec in sorted(system.reference.specs.items()):
        tools = system.environment.blueprints[name].tools.values()
        found[name] = {
            "source": spec.source,
            "spec_hash": hash_record(spec),
            "licence": _OWN if name in builtin_services() else UNKNOWN_LICENCE,
            "tools": len(tools),
            "simulated": sum(tool.simulated for tool in tools),
            "needed_by_some_task": name in used,
        }
    return found


def show_card(card: Mapping[str, Any]) -> Page:
    """Return the card as a page."""
    measures, page = card["measures"], Page()
    count = measures["tasks"]
    page.heading(f"{count} tasks, {card['drafted']} drafts")
    rejected = sorted(card["rejected"].items(), key=lambda item: -item[1])
    services = card["services"]
    tools = sum(item["tools"] for item in services.values())
    simulated = sum(item["simulated"] for item in services.values())
    needed = sum(item["needed_by_some_task"] for item in services.values())
    functional = measures["functional"]
    page.table(
        [
            ("rejected", _counts(dict(rejected)) or "none"),
            ("authors", _counts(card.get("authors", {})) or "not counted"),
            ("splits", _counts(card["splits"])),
            ("leaks", _leaks(card["leaks"])),
            ("services", f"{len(services)} in the system, {needed} needed by some task"),
            ("tools", f"{tools}, {simulated} of them simulated; simulated ones are in no solution"),
            ("tools used", f"{measures['tools_used']} of {measures['tools_offered']}"),
            ("calls", f"{measures['calls']}: {_shares(functional, measures['calls'])}"),
            ("K", _counts(measures["k"])),
            ("L", _counts(measures["walk_length"])),
            ("distractors", _counts(measures["distractors"])),
            (
                "patterns",
                f"{measures['patterns']} of calls and what feeds them; the most frequent has "
                f"{measures['largest_pattern']} tasks",
            ),
            ("reactions", f"{len(measures['reactions'])} different ones are set off"),
            ("grammar", _counts(measures.get("grammar") or {}) or "not counted"),
            ("answers", f"asked for by {measures['answers']} of {count} tasks"),
            (
                "difficulty",
                "sum over the calls: "
                + ", ".join(
                    f"{int(low)} to {int(low) + 4} {number}"
                    for low, number in measures["difficulty"].items()
                ),
            ),
            ("looked up", f"{measures['observed_arguments']} arguments a task, on average"),
            ("probes", f"{sum(measures['probes'].values())} in the certificates"),
        ]
    )
    for stage, spent in sorted(card.get("model", {}).items()):
        tokens = spent["prompt_tokens"] + spent["answer_tokens"]
        page.line(
            f"model, {stage}: {spent['requests']} requests, {tokens} tokens, {spent['usd']:.4f} usd"
        )
    if card.get("missing"):
        page.line(f"{card['missing']} tasks are missing; the same command goes on")
    for name, reason in sorted(card["refused"].items()):
        page.line(f"{name} is not in it: {reason}")
    return page


def _leaks(leaks: Mapping[str, Any]) -> str:
    told = f": {leaks['found'][0]}" if leaks["found"] else ""
    return f"{len(leaks['found'])} of {leaks['checked']} held-out tasks{told}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _shares(counts: Mapping[str, int], whole: int) -> str:
    return ", ".join(f"{name} {count / whole:.0%}" for name, count in counts.items()) or "none"
