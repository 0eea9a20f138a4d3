"""Measure one part against its bar, side by side with what it is compared to, in one run.

    python -m loop bench world

`world` measures the tool environments: calls, forks, hashes, memory, whole scripted episodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from components.durable import write_atomic
from loop.bench_world import run_bench_world
from loop.config import BenchConfig


def main(config: BenchConfig) -> None:
    """Run the benchmark, print its figures, and write them to `out` where one is named."""
    match config.benchmark:
        case "world":
            result = run_bench_world(config)
    for name, value in rows_of(result):
        print(f"{name:<56}{value:>18}")
    if config.out is not None:
        body = json.dumps(result, indent=2, sort_keys=True) + "\n"
        write_atomic(Path(config.out), body.encode(), point="bench.out")
        print(config.out)


def rows_of(result: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Return the figures of a result as lines of a table, nested names joined by dots."""
    for name, value in result.items():
        if isinstance(value, Mapping):
            yield from rows_of(value, f"{prefix}{name}.")
        else:
            yield prefix + name, f"{value:,.4g}" if isinstance(value, float) else str(value)
