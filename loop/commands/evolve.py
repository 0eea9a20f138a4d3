"""Run or resume one round of the loop.

    python -m loop evolve +round=1

Builds the seed system when it is missing, rolls the policy out on every task, scores each
criterion, finds for every failure which component is to blame, repairs that component, proves each
repair by replay, and writes a report. Issued again, it resumes at the first unfinished rollout; a
finished round is not run again.
"""

from __future__ import annotations

from loop.config import RunConfig
from loop.console import Console
from loop.ledger_files import read_object
from loop.result_file import check_result_file, write_result
from loop.round import evolve


def main(config: RunConfig) -> None:
    """Run the round; the last line printed is the path of its report."""
    check_result_file(config.out)
    console = Console()
    result = evolve(config, console)
    if result.was_finished:
        console.line(f"round {result.number} of run '{config.run}' is finished; nothing to do")
    console.close()
    if config.out is not None:
        mend = "remove it and run the same command again: it is written anew"
        write_result(config.out, read_object(result.summary_path, mend))
    print(result.report_path)
