"""Measure a policy on tasks that no policy is trained on.

    python -m loop evaluate policy=local policy.adapter=builtin run=measured

Plays held-out tasks (new entities, new tool sequences, new sets of services, and familiar ones) and
gives the share that succeeded with its interval, criteria met, calls without an error, and how the
rollouts ended. Issued again, it goes on at the first rollout that is missing.
"""

from __future__ import annotations

from components.records.base import to_json
from loop.config import EvaluateConfig
from loop.console import Console
from loop.result_file import check_result_file, write_result
from loop.train.evaluation import outcome
from loop.train.warm_start import measure_policy


def main(config: EvaluateConfig) -> None:
    """Measure and print the figures."""
    check_result_file(config.out)
    console = Console()
    found = measure_policy(config, console)
    console.close()
    if config.out is not None:
        write_result(config.out, to_json(found))
    for line in outcome(found):
        print(line)
