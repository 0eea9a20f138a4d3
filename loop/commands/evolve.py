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
from loop.round import evolve


def main(config: RunConfig) -> None:
    """Run the round; the last line printed is the path of its report."""
    result = evolve(config, Console())
    print(result.report_path)
