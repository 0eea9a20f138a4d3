"""Run or resume one round of the loop.

    python -m loop evolve +round=1

Builds the seed system when it is missing, rolls the policy out on every task, scores each
criterion, finds for every failure which component is to blame, repairs that component, proves each
repair by replay, and writes a report. Issued again, it resumes at the first unfinished rollout; a
finished round is not run again.
"""

from __future__ import annotations

from pathlib import Path

from components.durable import write_atomic
from loop.config import RunConfig
from loop.console import Console
from loop.round import evolve


def main(config: RunConfig) -> None:
    """Run the round; the last line printed is the path of its report."""
    console = Console()
    result = evolve(config, console)
    if result.was_finished:
        console.line(f"round {result.number} of run '{config.run}' is finished; nothing to do")
    console.close()
    if config.out is not None:
        summary = (result.folder / "summary.json").read_bytes()
        write_atomic(Path(config.out), summary, point="evolve.out")
    print(result.report_path)
