"""What comes of many specs: how much of them becomes an environment, why not, and how right it is.

Owns the counting. Every tool of the file is in exactly one of deterministic, simulated and
quarantined, counted over all tools before any service is filtered. With labels, what each tool was
taken for is held against what a reader said of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.environment.reading.records import Role, ToolReading
from components.environment.sources.config import JsonlSource, ToolsListSource
from components.environment.sources.read import read_sources
from components.environment.wrapped import arguments_schema, wrapper_of
from components.errors import ConfigError
from components.records.blueprint import Operation
from components.records.spec import ToolSpec
from loop.compute.pool import open_pool
from loop.console import Console
from loop.synthesis.cache import open_compilations
from loop.synthesis.compiled import CompiledSpec
from loop.synthesis.run import synthesize
from loop.verb_configs import BenchConfig

_NO_DATE = "1970-01-01"
"""Cards are not kept here."""
_OUTSIDE_STORE = frozenset({Operation.COMPUTE.value, Operation.EXTERNAL.value})


def run_bench_specs(config: BenchConfig) -> dict[str, Any]:
    """Compile every spec of a file, count, print and return the figures.

    Raises:
        ConfigError: no file is named, or the labels cannot be read.
        SpecError: the file cannot be read.
    """
    if config.path is None:
        raise ConfigError("bench specs needs a file; set path=specs.jsonl")
    labels = None if config.labels is None else _read_labels(Path(config.labels))
    console = Console(sys.stderr)
    started, cpu = time.perf_counter(), _cpu_seconds()
    listed = asyncio.run(read_sources([_source_of(config.path)], 1.0, date=_NO_DATE))
    specs = [server.spec for server in listed if server.spec is not None]
    cache = open_compilations(config.runs_dir)
    with open_pool(config.compute, console.line) as pool:
        made = synthesize(specs, cache, pool, lambda n, of: console.progress("services", n, of))
    lost = Counter(item.reason.value for server in listed for item in server.quarantined)
    figures = {
        **count_services(made.services, lost),
        "servers_total": len(listed),
        "servers_unreadable": len(listed) - len(specs),
        "from_cache": made.cached,
        "seconds": round(time.perf_counter() - started, 2),
        "cpu_seconds": round(_cpu_seconds() - cpu, 2),
    }
    if labels is not None:
        figures["labels"] = hold_against_labels(made.services, labels)
    for name, value in figures.items():
        print(f"{name}: {value}")
    return figures


def _cpu_seconds() -> float:
    """Return what this process and those that it has started and ended have taken so far."""
    return sum(os.times()[:4])


def _source_of(path: str) -> JsonlSource | ToolsListSource:
    is_lines = path.endswith((".jsonl", ".jsonl.gz"))
    return JsonlSource(path=path) if is_lines else ToolsListSource(path=path)


def count_services(services: Sequence[CompiledSpec], lost: Mapping[str, int]) -> dict[str, Any]:
    """Return the counts of compiled services.

    Args:
        services: after their gates.
        lost: reason -> tools that never came into a spec.
    """
    reasons = Counter(lost)
    operations: Counter[str] = Counter()
    functional: Counter[str] = Counter()
    difficulty: Counter[int] = Counter()
    total = deterministic = simulated = 0
    shares: list[float] = []
    read_only = 0
    for service in services:
        tools = service.blueprint.tools
        plain = [name for name, tool in tools.items() if not tool.simulated]
        total += len(service.spec.tools)
        deterministic += len(plain)
        simulated += len(tools) - len(plain)
        shares.append(len(plain) / len(service.spec.tools))
        reasons.update(item.reason.value for item in service.blueprint.quarantined.values())
        operations.update(tools[name].operation.value for name in plain)
        functional.update(tools[name].functional.value for name in plain)
        difficulty.update(tools[name].difficulty for name in plain)
        read_only += bool(plain) and all(tools[n].functional.value != "write" for n in plain)
    filtered = Counter(_kind_of(service.reason) for service in services if not service.admitted)
    return {
        "servers_admitted": sum(service.admitted for service in services),
        "servers_filtered": sum(filtered.values()),
        "servers_filtered_for": dict(sorted(filtered.items())),
        "servers_that_only_read": read_only,
        "tools_total": total + sum(lost.values()),
        "tools_deterministic": deterministic,
        "tools_simulated": simulated,
        "tools_quarantined": sum(reasons.values()),
        "quarantined_for": dict(sorted(reasons.items())),
        "deterministic_share": _share(deterministic, total + sum(lost.values())),
        "deterministic_share_by_server": _share(sum(shares), len(shares)),
        "operations": dict(sorted(operations.items())),
        "functional": dict(sorted(functional.items())),
        "difficulty": {str(level): count for level, count in sorted(difficulty.items())},
        "gate_tests": sum(service.gate_tests for service in services),
    }


def _kind_of(reason: str) -> str:
    """Return why a service is filtered without its own numbers."""
    if " writes, ids and reads " in reason:
        return "in_doubt"
    if reason.startswith("only "):
        return "too_few_tools"
    return "too_easy" if reason.startswith("its hardest") else "broken"


def hold_against_labels(
    services: Iterable[CompiledSpec], labels: Mapping[tuple[str, str], Mapping[str, Any]]
) -> dict[str, Any]:
    """Return how often readings say what a reader said.

    Args:
        services: compiled, with the server's own name as their title.
        labels: (server, tool) -> label.
    """
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for service in services:
        for name, reading in service.readings.items():
            label = labels.get((service.spec.title, name))
            if label is None:
                continue
            tool = service.blueprint.tools.get(name)
            is_made = tool is not None and not tool.simulated
            _score(reading, label, is_made, service.spec.tools[name], right, asked)
    return {
        name: {"right": right[name], "of": count, "share": _share(right[name], count)}
        for name, count in sorted(asked.items())
    }


def _score(
    reading: ToolReading,
    label: Mapping[str, Any],
    is_made: bool,
    spec: ToolSpec,
    right: Counter[str],
    asked: Counter[str],
) -> None:
    def count(name: str, is_right: bool) -> None:
        asked[name] += 1
        right[name] += is_right

    operation_right = reading.operation.value == label["operation"]
    count("functional", reading.functional.value == label["functional"])
    count("operation", operation_right)
    count("deterministic_and_operation_right", is_made and operation_right)
    if is_made:
        count("precision_of_deterministic", bool(label["deterministic"]))
    if label["operation"] not in _OUTSIDE_STORE:
        needed = set(arguments_schema(spec).get("required") or ())
        found = {
            name
            for name, role in reading.roles.items()
            if role in (Role.IDENTIFIER, Role.PARENT) and name in needed
        }
        required = set(spec.input_schema.get("required") or ())
        if wrapper_of(spec) is not None and found:
            found = required  # A label names what lies at the top.
        count("identifiers", found == set(label["identifier"]) & required)


def _read_labels(path: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
        return {(row["server"], row["name"]): row["label"] for row in rows}
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise ConfigError(
            f"labels: {os.fspath(path)} is no JSONL of labelled tools ({error}); each line needs "
            "server, name and label"
        ) from error


def _share(part: float, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
