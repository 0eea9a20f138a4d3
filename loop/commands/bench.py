"""Measure one part against its bar, side by side with what it is compared to, in one run.

    python -m loop bench world

`world` measures the tool environments: calls, forks, hashes, memory.
"""

from __future__ import annotations

import json
from pathlib import Path

from components.durable import write_atomic
from loop.bench_world import run_bench_world, settings_of
from loop.config import BenchConfig


def main(config: BenchConfig) -> None:
    """Run the benchmark, print its figures, and write them to `out` where one is named."""
    match config.benchmark:
        case "world":
            result = run_bench_world(settings_of(config.scale, config.seed))
    if config.out is not None:
        body = json.dumps(result, indent=2, sort_keys=True) + "\n"
        write_atomic(Path(config.out), body.encode(), point="bench.out")
        print(config.out)
