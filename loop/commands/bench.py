"""Measure one part against its bar, side by side with what it is compared to, in one run.

    python -m loop bench world

`world` measures the tool environments: calls, forks, hashes, memory.
"""

from __future__ import annotations

from loop.bench_world import run_bench_world, settings_of
from loop.config import BenchConfig
from loop.result_file import check_result_file, write_result


def main(config: BenchConfig) -> None:
    """Run the benchmark, print its figures, and write them to `out` where one is named."""
    check_result_file(config.out)
    match config.benchmark:
        case "world":
            result = run_bench_world(settings_of(config.scale, config.seed))
    if config.out is not None:
        write_result(config.out, result)
        print(config.out)
