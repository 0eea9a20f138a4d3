"""Runs side by side: settings that differ, outcomes, and how sure the differences are.

    python -m loop compare runs/mine runs/default
    python -m loop compare runs/sweep-*/round-0002 out=sweep.json

A run counts with its last finished round; a round's folder can be named too. The first path is what
the others are compared to. Where tasks are the same the difference is paired, and the table says
how its interval comes about. What is unfinished or damaged is named and left out; nothing is
written but `out`.
"""

from __future__ import annotations

from loop.compare.page import compared, comparison_page
from loop.compare.rounds import find_rounds
from loop.result_file import check_result_file, write_result
from loop.verb_configs import CompareConfig


def main(config: CompareConfig) -> None:
    """Print the comparison, and write it to `out` where one is named."""
    check_result_file(config.out)
    found = find_rounds(config.paths)
    comparison_page(found).show()
    if config.out is not None:
        write_result(config.out, compared(found))
        print(config.out)
