"""How faithful compiled services are: the same calls to real servers and to their services.

Owns the table and the figures; what is compared, and how, is `components.environment.fidelity`. A
tool counts as compared once a call of it succeeded on one side at least.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from components.environment.fidelity.document import read_measurement
from components.environment.fidelity.records import (
    Count,
    FidelityReport,
    ServiceFidelity,
    ToolFidelity,
    Verdict,
)
from components.environment.fidelity.run import measure
from components.errors import ConfigError
from components.records.base import to_json
from loop.config import Scale
from loop.console import Console
from loop.plain_page import Page
from loop.verb_configs import BenchConfig

_ROUNDS: dict[Scale, int] = {"smoke": 1, "small": 2, "full": 6}
"""Generated sequences for each way to make a row."""


def run_bench_fidelity(config: BenchConfig) -> dict[str, Any]:
    """Compare every server of a file, print a table and each disagreement, and return the figures.

    Raises:
        ConfigError: no file is named.
        SpecError: the file is wrong, or no server of it could be listed.
    """
    if config.path is None:
        raise ConfigError("bench fidelity needs a file of servers; set path=fidelity.yaml")
    asked = read_measurement(Path(config.path))
    console = Console(sys.stderr)
    report = asyncio.run(
        measure(
            asked,
            config.seed,
            _ROUNDS[config.scale],
            lambda n, of: console.progress("sequences", n, of),
        )
    )
    _page(report).show()
    found = _figures(report.services)
    if report.taught:
        found |= {f"taught_{name}": item for name, item in _figures(report.taught).items()}
    return {**found, "report": to_json(report)}


def _figures(services: Mapping[str, ServiceFidelity]) -> dict[str, Any]:
    by_server = {name: figures_of(service.tools.values()) for name, service in services.items()}
    return {"figures": figures_of(_tools_of(services)), "by_server": by_server}


def _tools_of(services: Mapping[str, ServiceFidelity]) -> list[ToolFidelity]:
    return [tool for service in services.values() for tool in service.tools.values()]


def figures_of(tools: Iterable[ToolFidelity]) -> dict[str, Any]:
    """Return the counts of tools: all, compared, and those that agree in each respect.

    `faithful_but_for_prose` also holds those whose real answers are prose and of which nothing else
    differs.
    """
    every = list(tools)
    compared = [tool for tool in every if tool.verdict is not Verdict.UNVERIFIED]
    faithful = sum(tool.verdict is Verdict.FAITHFUL for tool in compared)
    in_prose = sum(tool.differs_only_in_prose for tool in compared)
    return {
        "tools": len(every),
        "compared": len(compared),
        "errors": _agreeing([tool.errors for tool in compared]),
        "shape": _agreeing([tool.shape for tool in compared]),
        "read_after_write": _agreeing([tool.writes for tool in compared]),
        "faithful": faithful,
        "faithful_share": round(faithful / len(compared), 4) if compared else None,
        "faithful_but_for_prose": faithful + in_prose,
    }


def _agreeing(counts: Iterable[Count]) -> dict[str, int]:
    """Tools whose every call agrees, of those where the count applies."""
    applied = [count for count in counts if count.of]
    return {"agree": sum(count.agreed == count.of for count in applied), "of": len(applied)}


def _page(report: FidelityReport) -> Page:
    page = Page()
    if report.taught:
        page.heading("Services made of the specification alone")
    _add_table(page, report.services, report.failed)
    for name, service in report.services.items():
        _add_disagreements(page, name, service)
    if report.taught:
        page.heading("Services that recordings have taught, compared in other sequences")
        _add_table(page, report.taught, report.failed)
        for name, service in report.taught.items():
            _add_disagreements(page, name, service)
    return page


def _add_table(
    page: Page, services: Mapping[str, ServiceFidelity], failed: Mapping[str, str]
) -> None:
    head = ("server", "tools", "compared", "errors", "shape", "read after write", "all three", "")
    rows: list[tuple[str, ...]] = [head]
    for name, service in services.items():
        rows.append((name, *_row(service.tools.values()), ""))
    rows += [(name, *("-" for _ in range(6)), why) for name, why in failed.items()]
    if len(services) > 1:
        rows.append(("all", *_row(_tools_of(services)), ""))
    page.table(rows)


def _row(tools: Iterable[ToolFidelity]) -> tuple[str, ...]:
    figures = figures_of(tools)
    counts = (figures[key] for key in ("errors", "shape", "read_after_write"))
    return (
        str(figures["tools"]),
        str(figures["compared"]),
        *(f"{count['agree']} of {count['of']}" for count in counts),
        f"{figures['faithful']} of {figures['compared']}",
    )


def _add_disagreements(page: Page, name: str, service: ServiceFidelity) -> None:
    for tool, item in service.tools.items():
        if item.verdict is Verdict.UNFAITHFUL:
            for kind, count in (
                ("errors", item.errors),
                ("shape", item.shape),
                ("read after write", item.writes),
            ):
                if count.example is not None:
                    agreed = f"{count.agreed} of {count.of}"
                    page.line(f"{name}.{tool}: {kind} ({agreed}): {count.example.problem}")
        elif item.verdict is Verdict.UNVERIFIED:
            page.line(f"{name}.{tool}: unverified: {item.why}")
    for remark in service.remarks:
        page.line(f"{name}: {remark}")
