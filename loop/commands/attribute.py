"""Judge the rollouts of a finished round again, or traces that were made elsewhere.

    python -m loop attribute run=default +round=1
    python -m loop attribute traces=chats.jsonl out=judged
    python -m loop attribute traces=results.json tasks=tau2:retail out=judged

Of a round, everything is read from the ledger, judged anew, grouped as failure modes with the
smallest example and its evidence, and held against what the round has recorded; nothing is written
into the round. Exit status 1 where something comes out otherwise. Of traces, each gets the verdict
that its own text permits, and each failure a drafted task; with `tasks` it is played again in its
benchmark, and what would have to be otherwise for it to pass is found.
"""

from __future__ import annotations

from pathlib import Path

from loop.compute.pool import open_pool
from loop.console import Console
from loop.judged_traces import (
    TASKS,
    VERDICTS,
    check_result_folder,
    judge_file,
    judged_page,
    write_judged,
)
from loop.looking import played_round_of, refuse_unknown
from loop.reattribute import attribute_again
from loop.reattribute_page import again_json, again_page
from loop.result_file import check_result_file, write_result
from loop.show.seen import Seen
from loop.verb_configs import AttributeConfig


def main(config: AttributeConfig) -> int:
    """Print the verdicts, and return the exit status."""
    if config.traces is not None:
        return _attribute_traces(config, config.traces)
    check_result_file(config.out)
    ledger, number = played_round_of(config.runs_dir, config.run, config.round)
    console = Console()
    with (
        ledger.read_round(number) as folder,
        open_pool(config.compute, console.line) as pool,
    ):
        seen = Seen(run=config.run, number=number, folder=folder)
        if config.rollout is not None:
            refuse_unknown(ledger, seen, "rollout", config.rollout)
        again = attribute_again(
            seen,
            pool,
            config.rollout,
            lambda done, total: console.progress("attribute", done, total),
        )
        console.close()
        if config.out is not None:
            write_result(config.out, again_json(seen, again))
        again_page(seen, again).show()
    if config.out is not None:
        print(config.out)
    return 0 if again.is_equal else 1


def _attribute_traces(config: AttributeConfig, traces: str) -> int:
    check_result_folder(config.out)
    console = Console()
    judged = judge_file(config, console)
    console.close()
    drafts = 0 if config.out is None else write_judged(Path(config.out), judged)
    judged_page(traces, judged).show()
    if config.out is not None:
        print(f"{drafts} drafted tasks in {Path(config.out) / TASKS}")
        print(Path(config.out) / VERDICTS)
    return 0
