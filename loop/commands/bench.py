"""Measure one part against its bar, in one run.

    python -m loop bench attribution
    python -m loop bench world
    python -m loop bench specs path=specs.jsonl
    python -m loop bench fidelity path=fidelity.yaml
    python -m loop bench tasks tasks=FOLDER

`attribution` plants known faults and counts what verdicts and repairs make of them. `world`
measures the tool environments: calls, forks, hashes, memory, beside other programs. `specs`
compiles every server of a file and counts what became of each tool. `fidelity` makes the same calls
to disposable servers and to the services compiled of them, and counts where they agree. `tasks`
plays right and wrong solutions of every task of a set, and plants faults in them, apart from what
admission played.
"""

from __future__ import annotations

from typing import Any

from loop.bench_attribution.page import show
from loop.bench_attribution.run import run_bench_attribution
from loop.bench_fidelity import run_bench_fidelity
from loop.bench_specs import run_bench_specs
from loop.bench_tasks.page import page_of
from loop.bench_tasks.run import run_bench_tasks
from loop.bench_world import run_bench_world, settings_of
from loop.result_file import check_result_file, write_result
from loop.verb_configs import BenchConfig


def main(config: BenchConfig) -> None:
    """Run the benchmark, print its figures, and write them to `out` where one is named."""
    check_result_file(config.out)
    result: dict[str, Any]
    match config.benchmark:
        case "attribution":
            result = run_bench_attribution(config)
            show(result)
        case "world":
            result = run_bench_world(settings_of(config.scale, config.seed))
        case "specs":
            result = run_bench_specs(config)
        case "fidelity":
            result = run_bench_fidelity(config)
        case "tasks":
            result = run_bench_tasks(config)
            page_of(result).show()
    if config.out is not None:
        write_result(config.out, result)
        print(config.out)
